//! Addresses with variables of the environment in them: `https://${NAME}.example.com/${OTHER:-default}`.
use std::collections::BTreeMap;

/// Values of the variables that a provider's addresses name.
pub(crate) type Values = BTreeMap<String, String>;

/// Names in an address, each with whether it must be set.
pub fn variables(url: &str) -> Vec<(&str, bool)> {
    let parts = parts(url).into_iter();
    parts
        .filter_map(
            |part| if let Part::Variable { name, default } = part { Some((name, default.is_none())) } else { None },
        )
        .collect()
}

/// The address with its values; the names that have none, where some are missing. A value may be a whole address where only
/// the host is wanted (`DATABRICKS_HOST=https://...`).
pub(crate) fn fill(url: &str, values: &Values) -> Result<String, Vec<String>> {
    let mut filled = String::new();
    let mut missing = Vec::new();
    for part in parts(url) {
        match part {
            Part::Text(text) => filled.push_str(text),
            Part::Variable { name, default } => match values.get(name).map(String::as_str).or(default) {
                Some(value) => {
                    let value = value.trim_end_matches('/');
                    let bare =
                        if filled.is_empty() { value } else { value.split_once("://").map_or(value, |(_, rest)| rest) };
                    filled.push_str(bare);
                }
                None => missing.push(name.to_owned()),
            },
        }
    }
    if missing.is_empty() { Ok(filled) } else { Err(missing) }
}

enum Part<'a> {
    Text(&'a str),
    Variable { name: &'a str, default: Option<&'a str> },
}

fn parts(url: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = url;
    while let Some((text, behind)) = rest.split_once("${") {
        let Some((inside, behind)) = behind.split_once('}') else { break };
        parts.push(Part::Text(text));
        let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, default)| (name, Some(default)));
        parts.push(Part::Variable { name, default });
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn variables_are_put_in() {
        let values: Values = [("A", "one"), ("HOST", "https://h.example.com/"), ("BASE", "https://b/x/")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let check = |url: &str, expected: Result<&str, &[&str]>| {
            let expected = expected.map(str::to_owned).map_err(|names| names.iter().map(|n| (*n).to_owned()).collect());
            assert_eq!(fill(url, &values), expected, "{url}");
        };
        check("https://h/v1", Ok("https://h/v1"));
        check("https://${A}.h/${B:-two}/v1", Ok("https://one.h/two/v1"));
        check("https://${HOST}/v1", Ok("https://h.example.com/v1"));
        check("${BASE}/v1", Ok("https://b/x/v1"));
        check("https://${B}/${C}", Err(&["B", "C"]));
        check("https://h/${A", Ok("https://h/${A"));
        assert_eq!(variables("https://${A}.h/${B:-two}"), vec![("A", true), ("B", false)]);
    }
}
