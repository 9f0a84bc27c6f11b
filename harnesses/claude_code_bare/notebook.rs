//! A Jupyter notebook as Read shows it: cells in tags of their own, outputs behind each cell.
use protocol::{Answer, Content, Part};
use serde_json::Value;

pub(super) fn answer(text: &str) -> Answer {
    let notebook: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            return Answer::failed(format!(
                "Notebook file is not valid JSON (it may be truncated, corrupted, or still being written): {error}"
            ));
        }
    };
    let language = notebook["metadata"]["language_info"]["name"].as_str().unwrap_or("python");
    let cells = notebook["cells"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<String> = cells.iter().enumerate().map(|(at, cell)| self::cell(at, cell, language)).collect();
    if shown.is_empty() {
        return Answer::plain("(Read completed with no output)");
    }
    Answer { content: Content::Parts(vec![Part::Text(shown.join("\n"))]), error: None, after: Vec::new() }
}

fn cell(at: usize, cell: &Value, language: &str) -> String {
    let id = cell["id"].as_str().map_or_else(|| format!("cell-{at}"), str::to_owned);
    let kind = cell["cell_type"].as_str().unwrap_or("code");
    let tag = match kind {
        "code" if language == "python" => String::new(),
        "code" => format!("<language>{language}</language>"),
        kind => format!("<cell_type>{kind}</cell_type>"),
    };
    let mut text = format!("<cell id=\"{id}\">{tag}{}</cell id=\"{id}\">", joined(&cell["source"]));
    for output in cell["outputs"].as_array().map(Vec::as_slice).unwrap_or_default() {
        if let Some(shown) = self::output(output) {
            text.push_str("\n\n");
            text.push_str(&shown);
        }
    }
    text
}

fn output(output: &Value) -> Option<String> {
    match output["output_type"].as_str()? {
        "stream" => Some(joined(&output["text"])),
        "error" => {
            let name = output["ename"].as_str().unwrap_or("Error");
            let value = output["evalue"].as_str().unwrap_or_default();
            let trace = output["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let trace: Vec<&str> = trace.iter().filter_map(Value::as_str).collect();
            Some(format!("{name}: {value}\n{}", trace.join("\n")))
        }
        "execute_result" | "display_data" => {
            let data = &output["data"];
            let text = joined(&data["text/plain"]);
            let image = ["image/png", "image/jpeg"].into_iter().find(|mime| data.get(mime).is_some());
            match (text.is_empty(), image) {
                (true, None) => None,
                // Ours: the original shows the picture.
                (_, Some(mime)) => Some(format!("{text}[an output of type {mime} is not shown]")),
                (_, None) => Some(text),
            }
        }
        _ => None,
    }
}

/// Texts in notebooks are strings or lists of lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn check(notebook: &str, expected: &str) {
        assert_eq!(answer(notebook).content.text(), expected);
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
