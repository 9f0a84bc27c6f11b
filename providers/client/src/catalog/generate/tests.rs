//! What is made of the data.
use pretty_assertions::assert_eq;

use super::*;

const MODEL: &str = r#""name": "M", "reasoning": true, "tool_call": true, "modalities": {"input": ["text", "image"], "output": ["text"]},
    "limit": {"context": 100, "output": 10}"#;

fn provider(npm: &str, api: &str, env: &str, models: &str) -> String {
    format!(r#"{{"name": "P", "npm": "{npm}", "api": {api}, "env": [{env}], "models": {{{models}}}}}"#)
}

fn made(data: &str, only: &[String], old: Option<&str>) -> Made {
    let order = Order { data, date: "2026-11-30", only, old: old.map(str::as_bytes) };
    generate(&order).expect("a catalog")
}

#[test]
fn rules() {
    let compatible = "@ai-sdk/openai-compatible";
    let chat = |api: &str, models: &str| provider(compatible, api, "\"K\"", models);
    let m = format!("\"m\": {{{MODEL}}}");
    let data = format!(
        r#"{{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}, "f": {}}}"#,
        chat(
            "\"https://a.example.com/v1/chat/completions/\"",
            &format!(
                r#""gpt-5.2": {{{MODEL}}}, "x/unheard-of": {{{MODEL}, "temperature": false, "interleaved": {{"field": "reasoning_content"}}}},
                "mute": {{"tool_call": true}}, "toolless": {{{}}},
                "claude-opus-5": {{{MODEL}, "provider": {{"npm": "@ai-sdk/anthropic", "api": "https://a.example.com/anthropic/v1"}}}},
                "r": {{{MODEL}, "provider": {{"shape": "responses"}}}}, "g": {{{MODEL}, "provider": {{"npm": "@ai-sdk/google"}}}}"#,
                MODEL.replace("\"tool_call\": true", "\"tool_call\": false"),
            ),
        ),
        chat("null", &m),
        chat("\"http://127.0.0.1:1/v1\"", &m),
        provider("left-pad", "\"https://d\"", "", &m),
        chat("\"https://e\"", "\"m\": {\"name\": \"M\"}"),
        provider(compatible, "\"https://${ACCOUNT}.example.com/v1\"", "\"ACCOUNT\", \"K\"", &m),
    );
    let made = made(&data, &[], None);
    lines(
        &made.text,
        &[
            r#"#catalog	{"version":1,"date":"2026-11-30","providers":2,"models":5}"#,
            r#"$K	["a","f"]"#,
            r#"%*.example.com	["f"]"#,
            r#"%a.example.com	["a"]"#,
            r#"a	{"name":"P","wire":"chat","urls":{"responses":"https://a.example.com/v1","chat":"https://a.example.com/v1","messages":"https://a.example.com/anthropic"},"keys":["K"]}"#,
            r#"a/claude-opus-5	{"name":"M","context":100,"output":10,"takes":["image"],"reasoning":"effort","levels":["none","low","medium","high","xhigh","max"],"wire":"messages"}"#,
            r#"a/gpt-5.2	{"name":"M","context":100,"output":10,"takes":["image"],"reasoning":"effort","levels":["none","low","medium","high","xhigh"]}"#,
            r#"a/r	{"name":"M","context":100,"output":10,"takes":["image"],"reasoning":"unstated","wire":"responses"}"#,
            r#"a/x/unheard-of	{"name":"M","context":100,"output":10,"takes":["image"],"reasoning":"unstated","interleaved":"reasoning_content","temperature":false}"#,
            r#"f	{"name":"P","wire":"chat","urls":{"chat":"https://${ACCOUNT}.example.com/v1"},"keys":["K"]}"#,
            r#"f/m	{"name":"M","context":100,"output":10,"takes":["image"],"reasoning":"unstated"}"#,
        ],
    );
    assert_eq!(
        made.summary.to_string(),
        "kept 2 providers, 5 models\n\
         dropped 4 providers:\n  \
           b  no address: neither the data nor overrides.toml has one\n  \
           c  local only: its address is on this machine\n  \
           d  its package left-pad is not known to us\n  \
           e  no model is left (calls no tools)\n\
         dropped 3 models of the kept ones:\n      \
               1  calls no tools\n      \
               1  does not answer in text\n      \
               1  speaks Google's own API, for which we have no wire\n"
    );
}

#[track_caller]
fn lines(text: &str, expected: &[&str]) {
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

/// Renewing one provider leaves the others' lines; the date changes with what is said only.
#[test]
fn renewals() {
    let with = |name: &str| {
        provider(
            "@ai-sdk/openai-compatible",
            "\"https://h\"",
            "",
            &format!("\"m\": {{{}}}", MODEL.replace("\"M\"", &format!("\"{name}\""))),
        )
    };
    let first = made(&format!(r#"{{"a": {}, "b": {}}}"#, with("one"), with("one")), &[], None).text;
    let second = format!(r#"{{"a": {}, "b": {}}}"#, with("two"), with("two"));
    let part = made(&second, &["b".to_owned()], Some(&first));
    assert_eq!(part.text, first.replacen("b/m\t{\"name\":\"one\"", "b/m\t{\"name\":\"two\"", 1));
    assert_eq!((part.summary.providers, part.summary.models), (2, 2));
    let later = Order { data: &second, date: "2026-12-01", only: &[], old: Some(part.text.as_bytes()) };
    let all = generate(&later).expect("a catalog").text;
    assert!(all.contains("2026-12-01"), "{all}");
    let again = Order { date: "2026-12-24", old: Some(all.as_bytes()), ..later };
    assert_eq!(generate(&again).expect("a catalog").text, all);

    let fails = |order: Order| generate(&order).map(|_| ()).expect_err("a failure").to_string();
    let (a, c) = (["a".to_owned()], ["c".to_owned()]);
    let order = |only, old| Order { data: &second, date: "2026-12-01", only, old };
    assert_eq!(fails(order(&c, None)), "The data has no provider `c`.");
    assert!(fails(order(&a, None)).starts_with("Renewing some providers needs"));
    assert!(fails(Order { date: "today", ..order(&[], None) }).starts_with("A date is written"));
    assert!(fails(Order { data: "[]", ..order(&[], None) }).starts_with("The data is not in the form"));
}
