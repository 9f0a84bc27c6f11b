//! Milliseconds since the epoch as a date, in UTC: what is said must not depend on where it is computed.
use protocol::Millis;

/// `2026-03-01 12:30:05`
pub(super) fn plain(at: Millis) -> String {
    let (year, month, day) = date(at / 86_400_000);
    let seconds = at / 1000 % 86_400;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// ISO, with microseconds and zone.
pub(super) fn iso(at: Millis) -> String {
    format!("{}.{:03}000+00:00", plain(at).replacen(' ', "T", 1), at % 1000)
}

/// Civil date of a day since 1970-01-01, by counting years from March (Howard Hinnant's method).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    #[test]
    fn dates() {
        assert_eq!(super::iso(0), "1970-01-01T00:00:00.000000+00:00");
        assert_eq!(super::iso(951_782_399_999), "2000-02-28T23:59:59.999000+00:00");
        assert_eq!(super::plain(951_782_400_000), "2000-02-29 00:00:00");
        assert_eq!(super::plain(1_772_368_205_000), "2026-03-01 12:30:05");
    }
}
