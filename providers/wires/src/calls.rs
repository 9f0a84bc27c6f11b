//! Calls as a wire can carry them: flattened names, arguments that are valid JSON, ids in the form that a server takes.
use std::borrow::Cow;

use protocol::{Block, Call, CallForm, Fit, Opaque, Tool, ToolKind};

/// The payload of this field, if it may go back to where the request goes.
pub(crate) fn own<'a>(block: &'a Block, field: &str, fit: &Fit) -> Option<&'a Opaque> {
    block.opaque.iter().find(|opaque| opaque.field == field && opaque.scope == fit.source)
}

/// `ns__name`, for wires and servers without namespaces.
pub(crate) fn flat_name<'a>(namespace: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match namespace {
        Some(namespace) => Cow::Owned(format!("{namespace}__{name}")),
        None => Cow::Borrowed(name),
    }
}

/// The longest name that servers take back (OpenAI's bound; Anthropic's is 128).
const MOST_NAME: usize = 64;

/// The name of a call as every server takes it back: 1 to 64 of `A-Za-z0-9_-`. Models call what is not there
/// (`functions.exec`, nothing at all), and a strict server would refuse the thread for ever after.
pub(crate) fn safe_name(name: &str) -> Cow<'_, str> {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() {
        return Cow::Borrowed("unknown_tool");
    }
    if name.len() <= MOST_NAME && name.chars().all(safe) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().take(MOST_NAME).map(|c| if safe(c) { c } else { '_' }).collect())
}

/// The name of a call on wires and servers without namespaces.
pub(crate) fn called(call: &Call) -> String {
    let name = flat_name(call.namespace.as_deref().filter(|namespace| !namespace.is_empty()), &call.name);
    safe_name(&name).into_owned()
}

/// Arguments as JSON text of an object. Servers that parse their history answer 400 or 500 for ever after to anything
/// else; text that is none goes under one name, as a free-form tool's function form has it.
pub(crate) fn object_args(call: &Call) -> Cow<'_, str> {
    let args = call.args.trim();
    if call.form == CallForm::Function && (args.is_empty() || args == "null") {
        return Cow::Borrowed("{}");
    }
    let is_object = args.starts_with('{') && serde_json::from_str::<&serde_json::value::RawValue>(args).is_ok();
    if is_object {
        return Cow::Borrowed(&call.args);
    }
    Cow::Owned(serde_json::json!({ "input": call.args }).to_string())
}

/// The id of a call in the form that the server takes: as received, but for the quirks.
pub(crate) fn id<'a>(id: &'a str, fit: &Fit) -> Cow<'a, str> {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if fit.quirks.short_ids && !(id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())) {
        return Cow::Owned(short(id));
    }
    if fit.quirks.safe_ids && !id.chars().all(safe) {
        return Cow::Owned(id.chars().map(|c| if safe(c) { c } else { '_' }).collect());
    }
    Cow::Borrowed(id)
}

/// Nine characters made of the whole id, so that `call_1` and `call_10` stay two.
fn short(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // FNV-1a: the same on every machine and in every version, which the standard hasher does not promise.
    let mut rest = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (0..9)
        .map(|_| {
            let digit = DIGITS[(rest % 62) as usize];
            rest /= 62;
            char::from(digit)
        })
        .collect()
}

pub(crate) fn description(tool: &Tool) -> Option<&str> {
    Some(tool.description.as_str()).filter(|text| !text.is_empty())
}

/// The schema of a tool in function form; None for tools of the server.
pub(crate) fn schema(tool: &Tool) -> Option<&str> {
    match &tool.kind {
        ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => Some(schema.text()),
        ToolKind::Server { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn short_ids_are_nine_characters_and_distinct() {
        assert_eq!(short("call_1").len(), 9);
        assert!(short("call_1") != short("call_10"));
        assert_eq!(short("functions.Shell:0"), short("functions.Shell:0"));
    }

    #[test]
    fn names_become_what_every_server_takes() {
        let check = |name: &str, expected: &str| assert_eq!(safe_name(name), expected);
        check("Read", "Read");
        check("mcp__a-b__c_1", "mcp__a-b__c_1");
        check("", "unknown_tool");
        check("functions.exec_command", "functions_exec_command");
        check("Read File!", "Read_File_");
        check("läs", "l_s");
        check(&"x".repeat(5_000), &"x".repeat(64));
        let call = |namespace: Option<&str>, name: &str| {
            let namespace = namespace.map(str::to_owned);
            called(&Call {
                id: "a".into(),
                namespace,
                name: name.into(),
                args: String::new(),
                form: CallForm::Function,
            })
        };
        assert_eq!(call(Some("mcp a"), "b"), "mcp_a__b");
        assert_eq!(call(Some(""), ""), "unknown_tool");
    }

    #[test]
    fn arguments_become_objects() {
        let check = |form, args: &str, expected: &str| {
            let call = Call { id: "a".into(), namespace: None, name: "f".into(), args: args.into(), form };
            assert_eq!(object_args(&call), expected);
        };
        check(CallForm::Function, "", "{}");
        check(CallForm::Function, " ", "{}");
        check(CallForm::Function, "null", "{}");
        check(CallForm::Function, r#"{"b":1, "a":2}"#, r#"{"b":1, "a":2}"#);
        check(CallForm::Function, r#"{"b":"#, r#"{"input":"{\"b\":"}"#);
        check(CallForm::Custom, "*** Begin", r#"{"input":"*** Begin"}"#);
    }
}
