//! Aligned columns for people.

/// Columns as wide as their widest cell, two spaces between them; numbers (columns in `right`) stand at the right.
pub(crate) fn table<const N: usize>(head: [&str; N], right: &[usize], rows: &[[String; N]]) -> String {
    let mut widths = head.map(|cell| cell.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let mut line = |cells: [&str; N]| {
        let begin = text.len();
        for (at, (cell, width)) in cells.into_iter().zip(widths).enumerate() {
            let gap = " ".repeat(width - cell.chars().count());
            match right.contains(&at) {
                true => text.extend([&gap, cell, "  "]),
                false => text.extend([cell, &gap, "  "]),
            }
        }
        text.truncate(begin + text[begin..].trim_end().len());
        text.push('\n');
    };
    line(head);
    rows.iter().for_each(|row| line(std::array::from_fn(|at| row[at].as_str())));
    text
}

/// A count of tokens in three digits: `1.05M`, `262k`, `512`; `-` for 0, which means that it is not known.
pub(crate) fn tokens(n: u64) -> String {
    let short = |unit: f64, name: &str| {
        let count = n as f64 / unit;
        let digits = format!("{count:.*}", if count < 10.0 { 2 } else { usize::from(count < 100.0) });
        let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
        format!("{digits}{name}")
    };
    match n {
        0 => "-".to_owned(),
        // From here on thousands would be shown as 1000k.
        999_500.. => short(1e6, "M"),
        1_000.. => short(1e3, "k"),
        _ => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn columns() {
        let rows =
            [["a".to_owned(), "1".to_owned(), "x".to_owned()], ["äöü".to_owned(), "22".to_owned(), String::new()]];
        assert_eq!(table(["ID", "N", "END"], &[1], &rows), "ID    N  END\na     1  x\näöü  22\n");
        assert_eq!(table(["ID"], &[], &[]), "ID\n");
    }

    #[test]
    fn counts() {
        let check = |n: u64, expected: &str| assert_eq!(tokens(n), expected, "{n}");
        check(0, "-");
        check(999, "999");
        check(8_192, "8.19k");
        check(32_000, "32k");
        check(65_536, "65.5k");
        check(262_144, "262k");
        check(1_000_000, "1M");
        check(1_050_000, "1.05M");
        check(1_048_576, "1.05M");
        check(999_999, "1M");
        check(65_499, "65.5k");
        check(10_000_000, "10M");
        check(10_040_000, "10M");
    }
}
