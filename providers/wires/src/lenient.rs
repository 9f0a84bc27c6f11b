//! Types that read what servers really send: a string that is null, missing, or a number; an id that is empty; a list
//! of which only the first counts. They borrow from the event where they can.
use std::{borrow::Cow, fmt, marker::PhantomData};

use protocol::{Delta, ErrorKind, Raw};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// A string; null, missing and of another type are the empty string, a number is its digits.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl Str<'_> {
    pub(crate) fn some(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }
}

impl std::ops::Deref for Str<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// The parts of a visitor that drain what has no meaning here.
macro_rules! drained {
    () => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}
macro_rules! drained_map {
    () => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Str<'a>, D::Error> {
        struct Reads<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reads<'a> {
            type Value = Str<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(text)))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(number.to_string())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Str<'a>, E> {
                Ok(Str(Cow::Owned(number.to_string())))
            }
            drained!();
            drained_map!();
        }
        deserializer.deserialize_any(Reads(PhantomData))
    }
}

/// A count or place; of another type, negative or missing: none. Digits in a string count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Num(pub(crate) Option<u64>);

impl Num {
    pub(crate) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Num, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Num;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Num, E> {
                Ok(Num(Some(number)))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Num, E> {
                Ok(Num(number.try_into().ok()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Num, E> {
                Ok(Num((number >= 0.0).then_some(number as u64)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Num, E> {
                Ok(Num(text.trim().parse().ok()))
            }
            drained!();
            drained_map!();
        }
        deserializer.deserialize_any(Reads)
    }
}

/// The first element of a list, or the object itself where a server sends one; null and an empty list are none.
#[derive(Debug)]
pub(crate) struct First<T>(pub(crate) Option<T>);

impl<T> Default for First<T> {
    fn default() -> First<T> {
        First(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<First<T>, D::Error> {
        struct Reads<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reads<T> {
            type Value = First<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_unit<E>(self) -> Result<First<T>, E> {
                Ok(First(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<First<T>, A::Error> {
                let first = seq.next_element()?;
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<First<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| First(Some(one)))
            }
        }
        deserializer.deserialize_any(Reads(PhantomData))
    }
}

/// Arguments of a call: a string, or (Ollama) the object itself, which becomes its JSON text.
#[derive(Debug, Default)]
pub(crate) struct Args<'a>(pub(crate) Str<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Args<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Args<'a>, D::Error> {
        struct Reads<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reads<'a> {
            type Value = Args<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("arguments")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Args<'a>, E> {
                Ok(Args(Str(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Args<'a>, E> {
                Ok(Args(Str(Cow::Owned(text.to_owned()))))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Args<'a>, E> {
                Ok(Args::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Args<'a>, E> {
                Ok(Args::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Args<'a>, E> {
                Ok(Args::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Args<'a>, A::Error> {
                let object = serde_json::Value::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Args(Str(Cow::Owned(object.to_string()))))
            }
            drained!();
        }
        deserializer.deserialize_any(Reads(PhantomData))
    }
}

/// Any JSON value as its bytes, or none; an explicit null is none.
pub(crate) type RawRef<'a> = Option<&'a RawValue>;

/// Reads an event. What the types refuse (bytes that are not UTF-8, a key given twice, half of a surrogate pair) is
/// mended in `spare` and read again: a server's slip in one event must not end a reply.
pub(crate) fn event<'d, T: Deserialize<'d>>(data: &'d [u8], spare: &'d mut Vec<u8>) -> Option<T> {
    // A list would fill a struct field by field.
    if data.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    // Checked once as a whole, serde need not check each string.
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(it) = serde_json::from_str(text)
    {
        return Some(it);
    }
    let text = String::from_utf8_lossy(data);
    let value: serde_json::Value = serde_json::from_str(&whole_escapes(&text)).ok()?;
    *spare = value.to_string().into_bytes();
    serde_json::from_slice(spare).ok()
}

/// What to say of data that is no event of the wire.
pub(crate) fn odd(event: &crate::sse::Event) -> Delta {
    const MOST: usize = 200;
    let text = String::from_utf8_lossy(event.data);
    let start: String = text.trim().chars().take(MOST).collect();
    if event.data.trim_ascii_start().starts_with(b"[") || event.whole {
        let mut error = crate::refusal::refusal(200, &[], event.data);
        error.status = None;
        if error.message.is_empty() || event.data.trim_ascii_start().starts_with(b"<") {
            error.message = format!("the server answered with a page, not with an event stream: {}", error.message);
            error.kind = ErrorKind::Stream;
        }
        return Delta::Error(error);
    }
    Delta::Warning(format!("the server sent an event that is not JSON: {start}"))
}

/// Replaces `\uD8xx` without its other half by U+FFFD, which serde refuses.
fn whole_escapes(text: &str) -> String {
    let unit = |at: usize| -> Option<u32> {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(hex, 16).ok()
    };
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(slash) = text[at..].find('\\').map(|found| at + found) {
        out.push_str(&text[at..slash]);
        let len = match (unit(slash), unit(slash + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                at = slash + 6;
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + text[slash + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&text[slash..slash + len]);
        at = slash + len;
    }
    out.push_str(&text[at..]);
    out
}

/// Reads a part that may be missing or of another shape.
pub(crate) fn part<'d, T: Deserialize<'d> + Default>(raw: RawRef<'d>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// JSON as it came.
pub(crate) fn raw(json: &RawValue) -> Raw {
    Raw::parse(json.get()).unwrap_or_else(|_| Raw::null())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn halves_of_surrogate_pairs() {
        assert_eq!(
            whole_escapes(r#"{"a":"\ud83d\ude42 \ud83d x\\ud83d\""}"#),
            r#"{"a":"\ud83d\ude42 \ufffd x\\ud83d\""}"#
        );
    }
}
