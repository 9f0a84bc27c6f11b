//! Calls that a server left in the text of a reply, in the forms that models' templates have: run as if they had come the
//! proper way, in every harness; and nothing is run of what was cut off.
use demo::scripted::Turn;
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::{
    matrix::{DIALECTS, Dialect},
    pairs::assert_paired,
    place::Place,
};

/// What the command says when it was run; the words of the call do not hold it.
const COMMAND: &str = "echo in-$((40+2))-text";
const SAID: &str = "in-42-text";

/// A call as templates write it: how each parameter is said, and what stands around them.
struct Tags(&'static str, fn(&str, &str) -> String, &'static str);

const TAGS: [(&str, Tags); 5] = [
    (
        "qwen coder",
        Tags(
            "<tool_call>\n<function={T}>\n",
            |key, value| format!("<parameter={key}>\n{value}\n</parameter>\n"),
            "</function>\n</tool_call>",
        ),
    ),
    (
        "qwen coder without its opening tag",
        Tags(
            "<function={T}>\n",
            |key, value| format!("<parameter={key}>\n{value}\n</parameter>\n"),
            "</function>\n</tool_call>",
        ),
    ),
    (
        "glm",
        Tags(
            "<tool_call>{T}\n",
            |key, value| format!("<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n"),
            "</tool_call>",
        ),
    ),
    (
        "deepseek's tags",
        Tags(
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"{T}\">\n",
            |key, value| format!("<｜DSML｜parameter name=\"{key}\" string=\"true\">{value}</｜DSML｜parameter>\n"),
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
    ),
    (
        "minimax",
        Tags(
            "<minimax:tool_call>\n<invoke name=\"{T}\">\n",
            |key, value| format!("<parameter name=\"{key}\">{value}</parameter>\n"),
            "</invoke>\n</minimax:tool_call>",
        ),
    ),
];

/// The same with JSON: {A} stands for the arguments alone, {C} for name and arguments.
const OBJECTS: [(&str, &str); 8] = [
    ("hermes", "<tool_call>\n{C}\n</tool_call>"),
    ("hermes without its opening tag", "{C}\n</tool_call>"),
    (
        "kimi",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.{T}:0<|tool_call_argument_begin|>{A}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "deepseek",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{T}<｜tool▁sep｜>{A}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    ("mistral", "[TOOL_CALLS]{T}[ARGS]{A}"),
    ("mistral's list", "[TOOL_CALLS][{C}]"),
    ("harmony", "<|channel|>commentary to=functions.{T} <|constrain|>json<|message|>{A}<|call|>"),
    ("an object alone", "```json\n{C}\n```"),
];

fn forms(dialect: &Dialect) -> Vec<(&'static str, String)> {
    let args = dialect.args(COMMAND);
    let call = json!({"name": dialect.tool, "arguments": args}).to_string();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let tagged = TAGS.iter().map(|(form, Tags(open, parameter, close))| {
        let pairs = args.as_object().into_iter().flatten();
        let inside: String = pairs.map(|(key, value)| parameter(key, &plain(value))).collect();
        (*form, format!("{}{inside}{close}", open.replace("{T}", dialect.tool)))
    });
    let objects = OBJECTS.iter().map(|(form, text)| {
        (*form, text.replace("{T}", dialect.tool).replace("{A}", &args.to_string()).replace("{C}", &call))
    });
    tagged.chain(objects).collect()
}

/// Whether the command in `text` was run.
fn ran(dialect: &Dialect, text: &str) -> bool {
    let mut turns = vec![Turn::text(format!("I look.\n{text}"))];
    turns.extend((dialect.end)());
    // For harnesses that ask again about what they cannot read.
    turns.extend((0..4).map(|_| Turn::text("over")));
    let place = Place::new(WireId::Chat, turns.into_iter().map(Into::into).collect());
    let harness = format!("harness=\"{}\"", dialect.id);
    let _ = place.run(&["exec", "--json", "-s", "workspace-write", "-c", &harness, "do it"]);
    let requests: Vec<Value> = place.requests().iter().map(|request| request.json()).collect();
    requests.iter().for_each(|request| assert_paired(WireId::Chat, request));
    requests.iter().any(|request| request.to_string().contains(SAID))
}

fn native() -> &'static Dialect {
    &DIALECTS[0]
}

#[test]
fn every_form_is_run() {
    for (form, text) in forms(native()) {
        // An object is one alone only where nothing stands before it.
        let expected = form != "an object alone";
        assert_eq!(ran(native(), &text), expected, "{form}: {text}");
    }
}

#[test]
fn what_was_cut_off_is_not_run() {
    for (form, text) in forms(native()) {
        // In the middle of the command.
        let at = text.find("+2").expect("the command");
        assert!(!ran(native(), &text[..at]), "{form}");
    }
}

#[test]
fn every_harness_runs_them() {
    // mini-swe-agent has a form of its own, and complains of any other, as the original does.
    for dialect in DIALECTS.iter().filter(|dialect| dialect.id != "mini-swe-agent") {
        for (form, text) in forms(dialect) {
            if ["qwen coder without its opening tag", "mistral", "harmony"].contains(&form) {
                assert!(ran(dialect, &text), "{} {form}: {text}", dialect.id);
            }
        }
    }
}
