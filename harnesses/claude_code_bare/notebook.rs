//! A Jupyter notebook as Read shows it: cells in tags of their own, outputs behind each cell.
use base64::Engine as _;
use protocol::{Answer, Blob, Content, Part};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Characters of a cell's outputs that are shown.
const OUTPUTS: usize = 10_000;

pub(crate) fn answer(text: &str) -> Answer {
    let notebook: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            return Answer::failed(format!(
                "Notebook file is not valid JSON (it may be truncated, corrupted, or still being written): JSON Parse error: {}",
                json_problem(text, &error)
            ));
        }
    };
    let sound = |cell: &Value| match &cell["source"] {
        Value::String(_) => true,
        Value::Array(lines) => lines.iter().all(Value::is_string),
        _ => false,
    };
    let Some(cells) = notebook["cells"].as_array().filter(|cells| cells.iter().all(sound)) else {
        return Answer::failed(
            "Notebook file is not a valid Jupyter notebook (top-level \"cells\" must be an array of cell objects, each with a string or string-array \"source\").",
        );
    };
    let language = notebook["metadata"]["language_info"]["name"].as_str().unwrap_or("python");
    let parts: Vec<Part> = cells.iter().enumerate().flat_map(|(at, cell)| self::cell(at, cell, language)).collect();
    if parts.is_empty() {
        return Answer::plain("(Read completed with no output)");
    }
    Answer { content: Content::Parts(joined(parts)), error: None, after: Vec::new() }
}

/// Neighbouring texts become one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::new();
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => {
                before.push('\n');
                before.push_str(&text);
            }
            (_, part) => out.push(part),
        }
    }
    out
}

fn cell(at: usize, cell: &Value, language: &str) -> Vec<Part> {
    let id = cell["id"].as_str().map_or_else(|| format!("cell-{at}"), str::to_owned);
    let kind = cell["cell_type"].as_str().unwrap_or("code");
    let tag = match kind {
        "code" if language == "python" => String::new(),
        "code" => format!("<language>{language}</language>"),
        kind => format!("<cell_type>{kind}</cell_type>"),
    };
    let mut parts = vec![Part::Text(format!("<cell id=\"{id}\">{tag}{}</cell id=\"{id}\">", text_of(&cell["source"])))];
    let outputs: Vec<(String, Option<Blob>)> =
        cell["outputs"].as_array().map(Vec::as_slice).unwrap_or_default().iter().map(output).collect();
    if outputs.iter().map(|(text, _)| text.chars().count()).sum::<usize>() > OUTPUTS {
        parts.push(Part::Text(format!(
            "\nOutputs are too large to include. Use Bash with: cat <notebook_path> | jq '.cells[{at}].outputs'"
        )));
        return parts;
    }
    for (text, image) in outputs {
        parts.extend((!text.is_empty()).then(|| Part::Text(format!("\n{text}"))));
        parts.extend(image.map(|blob| Part::Image { blob, detail: None }));
    }
    parts
}

fn output(output: &Value) -> (String, Option<Blob>) {
    match output["output_type"].as_str().unwrap_or_default() {
        "stream" => (text_of(&output["text"]), None),
        "error" => {
            let name = output["ename"].as_str().unwrap_or("Error");
            let value = output["evalue"].as_str().unwrap_or_default();
            let trace = output["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let trace: Vec<&str> = trace.iter().filter_map(Value::as_str).collect();
            (format!("{name}: {value}\n{}", trace.join("\n")), None)
        }
        "execute_result" | "display_data" => {
            let data = &output["data"];
            let image = ["image/png", "image/jpeg"].into_iter().find_map(|mime| image(mime, data[mime].as_str()?));
            (text_of(&data["text/plain"]), image)
        }
        _ => (String::new(), None),
    }
}

/// What is no image is left out, as the original does: a server would refuse the conversation for it.
fn image(mime: &str, base64: &str) -> Option<Blob> {
    let packed: String = base64.split_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(packed).ok()?;
    let known = [&b"\x89PNG"[..], b"\xff\xd8\xff", b"GIF8", b"RIFF"];
    if !known.iter().any(|magic| bytes.starts_with(magic)) {
        return None;
    }
    let id: String = Sha256::digest(&bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    Some(Blob::new(id, mime, bytes))
}

/// Texts in notebooks are strings or lists of lines.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The error as the original's JavaScript engine words it.
fn json_problem(text: &str, error: &serde_json::Error) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default().as_bytes();
    let begun = &line[..error.column().min(line.len())];
    let found = begun.last().copied().map_or(' ', char::from);
    let last = text.trim_end().chars().last().unwrap_or(' ');
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let identifier = || {
        // The column may be that of the character behind the word.
        let inside = begun.iter().rposition(is_word).map_or(0, |at| at + 1);
        let start = begun[..inside].iter().rposition(|byte| !is_word(byte)).map_or(0, |at| at + 1);
        let word = line[start..].iter().take_while(|byte| is_word(byte));
        format!("Unexpected identifier \"{}\"", word.map(|byte| char::from(*byte)).collect::<String>())
    };
    match said {
        "EOF while parsing a list" if !matches!(last, '[' | ',') => "Expected ']'".to_owned(),
        "EOF while parsing an object" => match last {
            '"' if !text.trim_end().trim_end_matches('"').ends_with(':') && begun_key(text) => {
                "Expected ':' before value in object property definition".to_owned()
            }
            _ => "Expected '}'".to_owned(),
        },
        "EOF while parsing a string" => "Unterminated string".to_owned(),
        _ if said.starts_with("EOF") => "Unexpected EOF".to_owned(),
        _ if said.starts_with("control character") => "Unterminated string".to_owned(),
        "expected ident" => identifier(),
        "expected value" => match found {
            '}' | ']' | ',' | ':' => format!("Unexpected token '{found}'"),
            c if c.is_ascii_alphabetic() || matches!(c, '_' | '$') => identifier(),
            '\'' => "Single quotes (') are not allowed in JSON".to_owned(),
            c => format!("Unrecognized token '{c}'"),
        },
        "invalid number" => "Invalid number".to_owned(),
        "invalid escape" => format!("Invalid escape character {found}"),
        "trailing comma" if found == ']' => "Unexpected comma at the end of array expression".to_owned(),
        "trailing comma" => "Property name must be a string literal".to_owned(),
        "key must be a string" if found == '\'' => "Single quotes (') are not allowed in JSON".to_owned(),
        "key must be a string" | "expected `,` or `}`" => "Expected '}'".to_owned(),
        "expected `,` or `]`" => "Expected ']'".to_owned(),
        "expected `:`" => "Expected ':' before value in object property definition".to_owned(),
        _ => "Unable to parse JSON string".to_owned(),
    }
}

/// The text ends behind a key of an object.
fn begun_key(text: &str) -> bool {
    let text = text.trim_end().strip_suffix('"').unwrap_or_default();
    let before = text.rfind('"').map_or("", |at| &text[..at]);
    matches!(before.trim_end().chars().last(), Some('{' | ','))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn check(notebook: &str, expected: &str) {
        assert_eq!(answer(notebook).content.text(), expected);
    }

    #[test]
    fn errors_are_worded_as_measured() {
        for (text, expected) in [
            (r#"{"cells":["#, "Unexpected EOF"),
            ("", "Unexpected EOF"),
            ("not json", "Unexpected identifier \"not\""),
            (r#"{"a":tru}"#, "Unexpected identifier \"tru\""),
            (r#"{"cells":[}"#, "Unexpected token '}'"),
            (r#""abc"#, "Unterminated string"),
            ("{\"a\":\"x\ny\"}", "Unterminated string"),
            (r#"{"cells":[],}"#, "Property name must be a string literal"),
            ("[1,]", "Unexpected comma at the end of array expression"),
            ("{'cells':1}", "Single quotes (') are not allowed in JSON"),
            (r#"{"cells":[]} x"#, "Unable to parse JSON string"),
            ("<html>", "Unrecognized token '<'"),
            ("{cells:1}", "Expected '}'"),
            ("{,}", "Expected '}'"),
            (r#"{"a":1 "b":2}"#, "Expected '}'"),
            (r#"{"a":1"#, "Expected '}'"),
            ("{", "Expected '}'"),
            (r#"{"cells":[1,2"#, "Expected ']'"),
            ("[1 2]", "Expected ']'"),
            (r#"{"cells" 1}"#, "Expected ':' before value in object property definition"),
            (r#"{"a" "#, "Expected ':' before value in object property definition"),
            (r#"{"a":-}"#, "Invalid number"),
            (r#"{"a":"\q"}"#, "Invalid escape character q"),
            (r#"{"a":"#, "Unexpected EOF"),
        ] {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            assert_eq!(json_problem(text, &error), expected, "{text}: {error}");
        }
    }

    #[test]
    fn images_stand_between_the_texts() {
        const PNG: &str = "iVBORw0KGgo=";
        let notebook = format!(
            r#"{{"cells":[{{"cell_type":"code","source":"a","outputs":[
                {{"output_type":"display_data","data":{{"image/png":"{PNG}","text/plain":["<Fig>"]}}}},
                {{"output_type":"stream","text":"after\n"}}]}},{{"cell_type":"markdown","source":"end"}}]}}"#
        );
        let Content::Parts(parts) = answer(&notebook).content else { panic!() };
        let [Part::Text(first), Part::Image { blob, .. }, Part::Text(last)] = parts.as_slice() else {
            panic!("{parts:?}")
        };
        assert_eq!(first, "<cell id=\"cell-0\">a</cell id=\"cell-0\">\n\n<Fig>");
        assert_eq!((blob.mime.as_str(), blob.base64().as_deref()), ("image/png", Some(PNG)));
        assert_eq!(last, "\nafter\n\n<cell id=\"cell-1\"><cell_type>markdown</cell_type>end</cell id=\"cell-1\">");
    }

    #[test]
    fn large_outputs_are_left_out() {
        let notebook = |n: usize| {
            let text = "z".repeat(n);
            format!(
                r#"{{"cells":[{{"cell_type":"code","source":"a","outputs":[{{"output_type":"stream","text":"{text}"}}]}}]}}"#
            )
        };
        check(&notebook(OUTPUTS), &format!("<cell id=\"cell-0\">a</cell id=\"cell-0\">\n\n{}", "z".repeat(OUTPUTS)));
        check(
            &notebook(OUTPUTS + 1),
            "<cell id=\"cell-0\">a</cell id=\"cell-0\">\n\nOutputs are too large to include. Use Bash with: cat <notebook_path> | jq '.cells[0].outputs'",
        );
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        for text in ["5", "[]", "null", "{}", r#"{"cells":{}}"#, r#"{"cells":["x"]}"#, r#"{"cells":[{"source":5}]}"#] {
            let answer = answer(text);
            assert!(
                answer.error == Some(true) && answer.content.text().contains("not a valid Jupyter notebook"),
                "{text}"
            );
        }
    }

    #[test]
    fn cells_and_outputs() {
        check(
            r##"{"cells":[{"cell_type":"markdown","id":"c1","source":["# T\n","text"]},
                {"cell_type":"code","id":"c2","source":"print(1)\n2","outputs":[{"output_type":"stream","text":["1\n"]},
                {"output_type":"execute_result","data":{"text/plain":["2"]}},
                {"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["tb1","tb2"]}]},
                {"cell_type":"raw","source":"r"}],"metadata":{"language_info":{"name":"python"}}}"##,
            "<cell id=\"c1\"><cell_type>markdown</cell_type># T\ntext</cell id=\"c1\">\n<cell id=\"c2\">print(1)\n2</cell id=\"c2\">\n\n1\n\n\n2\n\nValueError: bad\ntb1\ntb2\n<cell id=\"cell-2\"><cell_type>raw</cell_type>r</cell id=\"cell-2\">",
        );
        check(
            r#"{"cells":[{"cell_type":"code","source":["a=1\n"]}],"metadata":{"language_info":{"name":"R"}}}"#,
            "<cell id=\"cell-0\"><language>R</language>a=1\n</cell id=\"cell-0\">",
        );
        check(r#"{"cells":[]}"#, "(Read completed with no output)");
    }
}
