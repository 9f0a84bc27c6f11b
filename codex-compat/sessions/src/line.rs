//! One line of a rollout. Our own lines begin with the same fields in the same order, so that place and type are told
//! from the first bytes and the payload stays unread until it is wanted; any other order is read the slow way.
use std::borrow::Cow;

use jiff::Timestamp;
use protocol::{Body, Item, ItemId, Millis, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) const SESSION_META: &str = "session_meta";

/// A line with its payload unread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line<'a> {
    pub(crate) timestamp: Cow<'a, str>,
    /// Absent in rollouts of older Codex versions.
    pub(crate) ordinal: Option<u64>,
    pub(crate) kind: Cow<'a, str>,
    /// JSON text, not checked.
    pub(crate) payload: &'a [u8],
}

impl<'a> Line<'a> {
    /// None where the bytes are no such line.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Line<'a>> {
        Line::quick(bytes).or_else(|| Line::slow(bytes))
    }

    fn quick(bytes: &'a [u8]) -> Option<Line<'a>> {
        let rest = bytes.strip_prefix(b"{\"timestamp\":\"")?;
        let (timestamp, rest) = plain(rest)?;
        let rest = rest.strip_prefix(b",\"ordinal\":")?;
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let ordinal = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let rest = rest[digits..].strip_prefix(b",\"type\":\"")?;
        let (kind, rest) = plain(rest)?;
        let payload = rest.strip_prefix(b",\"payload\":")?.strip_suffix(b"}")?;
        Some(Line { timestamp: timestamp.into(), ordinal: Some(ordinal), kind: kind.into(), payload })
    }

    /// Any order of fields, and others beside them.
    pub(crate) fn slow(bytes: &'a [u8]) -> Option<Line<'a>> {
        #[derive(Deserialize)]
        struct Any<'a> {
            #[serde(borrow, default)]
            timestamp: Cow<'a, str>,
            #[serde(default)]
            ordinal: Option<u64>,
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            payload: &'a RawValue,
        }
        let any: Any<'a> = serde_json::from_slice(bytes).ok()?;
        let payload = any.payload.get().as_bytes();
        Some(Line { timestamp: any.timestamp, ordinal: any.ordinal, kind: any.kind, payload })
    }

    /// None where the payload is damaged, or of a kind that we do not know.
    pub(crate) fn item(&self) -> Option<Item> {
        #[derive(Deserialize)]
        struct Payload {
            turn: TurnId,
            body: Body,
        }
        let payload: Payload = serde_json::from_slice(self.payload).ok()?;
        Some(Item { id: ItemId(self.ordinal?), turn: payload.turn, at: millis(&self.timestamp), body: payload.body })
    }
}

/// A line without blanks and NULs around it (a crash of the system can leave NULs behind), and how many stood before it.
pub(crate) fn trim(bytes: &[u8]) -> (usize, &[u8]) {
    let blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
    let lead = bytes.iter().take_while(|b| blank(b)).count();
    let rest = &bytes[lead..];
    (lead, &rest[..rest.len() - rest.iter().rev().take_while(|b| blank(b)).count()])
}

/// A short string without escapes, and what follows its quote.
fn plain(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(64).position(|b| *b == b'"' || *b == b'\\' || !b.is_ascii())?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((text, bytes[end..].strip_prefix(b"\"")?))
}

/// The tag of a body: how `protocol` names the variant in JSON.
pub(crate) fn tag(body: &Body) -> &'static str {
    match body {
        Body::User { .. } => "user",
        Body::Reply { .. } => "reply",
        Body::Read { .. } => "read",
        Body::Called { .. } => "called",
        Body::Rejected { .. } => "rejected",
        Body::Fact(_) => "fact",
        Body::Notice(_) => "notice",
        Body::Settings(_) => "settings",
        Body::Said { .. } => "said",
        Body::Compacted { .. } => "compacted",
        Body::Reverted { .. } => "reverted",
        Body::Foreign(_) => "foreign",
    }
}

/// Appends the item's line with its line feed.
pub(crate) fn write_item(item: &Item, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    #[derive(Serialize)]
    struct Payload<'a> {
        turn: &'a TurnId,
        body: &'a Body,
    }
    write(&timestamp(item.at), item.id.0, tag(&item.body), &Payload { turn: &item.turn, body: &item.body }, out)
}

/// Appends a line with its line feed; on an error `out` is as before.
pub(crate) fn write(
    timestamp: &str,
    ordinal: u64,
    kind: &str,
    payload: &impl Serialize,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let before = out.len();
    out.extend_from_slice(
        format!("{{\"timestamp\":\"{timestamp}\",\"ordinal\":{ordinal},\"type\":\"{kind}\",\"payload\":").as_bytes(),
    );
    if let Err(error) = serde_json::to_writer(&mut *out, payload) {
        out.truncate(before);
        return Err(error);
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// RFC 3339 in UTC with milliseconds. Times beyond the year 9999 count as its end.
pub(crate) fn timestamp(at: Millis) -> String {
    let time = i64::try_from(at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

/// Milliseconds since the epoch; 0 where the text is no time.
pub(crate) fn millis(timestamp: &str) -> Millis {
    timestamp.parse::<Timestamp>().map_or(0, |time| u64::try_from(time.as_millisecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::Origin;

    use super::*;

    #[test]
    fn a_line_has_codexs_envelope_and_our_payload() {
        let item = Item {
            id: ItemId(7),
            turn: "t".into(),
            at: 1_767_322_984_005,
            body: Body::User { origin: Origin::User, parts: vec![protocol::Part::text("hi")] },
        };
        let mut out = Vec::new();
        write_item(&item, &mut out).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&out),
            "{\"timestamp\":\"2026-01-02T03:03:04.005Z\",\"ordinal\":7,\"type\":\"user\",\"payload\":{\"turn\":\"t\",\
             \"body\":{\"user\":{\"origin\":\"user\",\"parts\":[{\"text\":\"hi\"}]}}}}\n"
        );
        assert_eq!(Line::read(out.trim_ascii_end()).unwrap().item(), Some(item));
    }

    #[test]
    fn lines_of_other_writers() {
        #[track_caller]
        fn check(text: &str, expected: Option<(Option<u64>, &str, &str)>) {
            let line = Line::read(text.as_bytes());
            let got = line.as_ref().map(|l| (l.ordinal, l.kind.as_ref(), std::str::from_utf8(l.payload).unwrap()));
            assert_eq!(got, expected, "{text}");
        }
        check(r#"{"timestamp":"x","ordinal":3,"type":"a","payload":{}}"#, Some((Some(3), "a", "{}")));
        check(r#"{"type":"a","payload":[1],"ordinal":3}"#, Some((Some(3), "a", "[1]")));
        check(r#"{"timestamp":"x","type":"a","payload":{"b":1}}"#, Some((None, "a", r#"{"b":1}"#)));
        check(r#"{ "type": "a\u0062", "payload": 1, "more": 2 }"#, Some((None, "ab", "1")));
        check(r#"{"timestamp":"x","ordinal":3,"type":"a"}"#, None);
        check(r#"{"timestamp":"x","ordinal":99999999999999999999999,"type":"a","payload":{}}"#, None);
        check(r#"{"timestamp":"x","ordinal":3,"type":"a","payload":{"#, None);
        check("", None);
        check("\0\0\0", None);
    }
}
