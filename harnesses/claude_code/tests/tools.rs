//! Write, NotebookEdit, the list of tasks, names and arguments of the newest version.
use pretty_assertions::assert_eq;

use super::*;

const CURRENT_STATE: &str = " (file state is current in your context — no need to Read it back)";

#[test]
fn writes() {
    let mut stage = claude(&[("a.txt", A), ("b.txt", "one\ntwo\nthree\n"), ("empty.txt", ""), ("sub/x", "")]);
    let mut write = |path: &str, content: &str, expected: Result<&str, &str>| {
        let answer = stage.call("Write", &json!({"file_path": path, "content": content}).to_string());
        let expected = match expected {
            Ok(start) => Answer::plain(format!("{start}{CURRENT_STATE}")),
            Err(text) => Answer::failed(wrong(text)),
        };
        assert_eq!(answer, expected, "{path}");
    };
    let unread = Err("File has not been read yet. Read it first before writing to it.");
    write("/w/w/new/f.txt", "hello\n", Ok("File created successfully at: /w/w/new/f.txt"));
    write("/w/w/new/f.txt", "again\n", Ok("The file /w/w/new/f.txt has been updated successfully."));
    write("/w/a.txt", "x", unread);
    write("/w/empty.txt", "now", unread);
    write(
        "/w/sub",
        "x",
        Err("/w/sub is a directory, not a file. To create a file inside it, include the file name in file_path."),
    );
    write("rel.txt", "x", Ok("File created successfully at: rel.txt"));
    write("/w/trail.txt", "a  \nb\t\n", Ok("File created successfully at: /w/trail.txt"));
    assert_eq!(stage.text("trail.txt"), "a\nb\n");
    stage.call("Read", r#"{"file_path":"/w/empty.txt"}"#);
    stage.check(
        "Write",
        json!({"file_path": "/w/empty.txt", "content": "now"}),
        None,
        &format!("File created successfully at: /w/empty.txt{CURRENT_STATE}"),
    );
    // Written whole, a file that was read in part is known whole.
    stage.call("Read", r#"{"file_path":"/w/b.txt","offset":2,"limit":1}"#);
    stage.check(
        "Write",
        json!({"file_path": "/w/b.txt", "content": "all new\n"}),
        None,
        &format!("The file /w/b.txt has been updated successfully.{CURRENT_STATE}"),
    );
    stage.edit(
        "/w/b.txt",
        "all",
        "ALL",
        None,
        &format!("The file /w/b.txt has been updated successfully.{CURRENT_STATE}"),
    );
    stage.write("b.txt", "theirs\n");
    stage.check("Write", json!({"file_path": "/w/b.txt", "content": "q\n"}), Some(true), &wrong("File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."));
}

#[test]
fn models_of_the_current_profile_may_write_unread() {
    let mut stage = stage(&CURRENT, &[("a.txt", A)]);
    stage.check(
        "Write",
        json!({"file_path": "/w/a.txt", "content": "x"}),
        None,
        &format!("The file /w/a.txt has been updated successfully.{CURRENT_STATE}"),
    );
    stage.write("o.txt", "alpha\n");
    stage.edit("/w/o.txt", "alpha", "A", None, "The file /w/o.txt has been updated successfully.");
}

const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"markdown","id":"c1","metadata":{},"source":["T"]},{"cell_type":"code","id":"c2","metadata":{},"execution_count":3,"source":["print(1)"],"outputs":[{"output_type":"stream","text":["1\n"]}]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;

#[test]
fn notebooks() {
    let old = NOTEBOOK.replace("\"nbformat_minor\":5", "\"nbformat_minor\":2");
    let mut stage = claude(&[("n.ipynb", NOTEBOOK), ("m.ipynb", &old), ("a.txt", A)]);
    let mut edit = |args: Value, expected: Result<&str, &str>| {
        let answer = stage.call("NotebookEdit", &args.to_string());
        assert_eq!(answer, expected.map_or_else(|text| Answer::failed(wrong(text)), Answer::plain), "{args}");
    };
    let n = "/w/n.ipynb";
    edit(
        json!({"notebook_path": n, "cell_id": "c2", "new_source": "x"}),
        Err("File has not been read yet. Read it first before writing to it."),
    );
    edit(
        json!({"notebook_path": "/w/zz.ipynb", "cell_id": "c2", "new_source": "x"}),
        Err("File has not been read yet. Read it first before writing to it."),
    );
    edit(
        json!({"notebook_path": "/w/a.txt", "cell_id": "c2", "new_source": "x"}),
        Err("File must be a Jupyter notebook (.ipynb file). For editing other file types, use the FileEdit tool."),
    );
    stage.call("Read", r#"{"file_path":"/w/n.ipynb"}"#);
    stage.call("Read", r#"{"file_path":"/w/m.ipynb"}"#);
    let mut edit = |args: Value, expected: Result<&str, &str>| {
        let answer = stage.call("NotebookEdit", &args.to_string());
        assert_eq!(answer, expected.map_or_else(|text| Answer::failed(wrong(text)), Answer::plain), "{args}");
    };
    edit(json!({"notebook_path": n, "cell_id": "c2", "new_source": "print(3)"}), Ok("Updated cell c2 with print(3)"));
    edit(
        json!({"notebook_path": n, "cell_id": "nope", "new_source": ""}),
        Err("Cell with ID \"nope\" not found in notebook."),
    );
    edit(
        json!({"notebook_path": n, "cell_id": "cell-7", "new_source": ""}),
        Err("Cell with index 7 does not exist in notebook."),
    );
    edit(
        json!({"notebook_path": n, "new_source": "z"}),
        Err("Cell ID must be specified when not inserting a new cell."),
    );
    edit(
        json!({"notebook_path": n, "new_source": "z", "edit_mode": "insert"}),
        Err("Cell type is required when using edit_mode=insert."),
    );
    edit(
        json!({"notebook_path": n, "cell_id": "c1", "new_source": "new", "cell_type": "markdown", "edit_mode": "insert"}),
        Ok("Inserted cell 00000007 with new"),
    );
    edit(json!({"notebook_path": n, "cell_id": "c1", "new_source": "", "edit_mode": "delete"}), Ok("Deleted cell c1"));
    edit(
        json!({"notebook_path": n, "cell_id": "cell-1", "new_source": "# md", "cell_type": "markdown"}),
        Ok("Updated cell cell-1 with # md"),
    );
    edit(
        json!({"notebook_path": "/w/m.ipynb", "new_source": "first", "cell_type": "code", "edit_mode": "insert"}),
        Ok("Inserted a new cell with first"),
    );
    assert_eq!(
        stage.text("n.ipynb"),
        "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"00000007\",\n   \"source\": \"new\",\n   \"metadata\": {}\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"c2\",\n   \"metadata\": {},\n   \"source\": \"# md\"\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}"
    );
}

#[test]
fn tasks() {
    let mut stage = claude(&[]);
    let mut check = |name: &str, args: Value, expected: &str| {
        stage.others = vec![Outcome::Ok];
        assert_eq!(stage.call(name, &args.to_string()), Answer::plain(expected), "{name} {args}");
    };
    check(
        "TaskCreate",
        json!({"subject": "Do A", "description": "desc A", "activeForm": "Doing A"}),
        "Task #1 created successfully: Do A",
    );
    check("TaskCreate", json!({"subject": "Do B", "description": "desc B"}), "Task #2 created successfully: Do B");
    check("TaskList", json!({}), "#1 [pending] Do A\n#2 [pending] Do B");
    check("TaskUpdate", json!({"taskId": "1", "status": "in_progress"}), "Updated task #1 status");
    check(
        "TaskUpdate",
        json!({"taskId": "2", "addBlockedBy": ["1"], "owner": "me", "subject": "Do BB"}),
        "Updated task #2 subject, owner, blockedBy",
    );
    check("TaskList", json!({}), "#1 [in_progress] Do A\n#2 [pending] Do BB (me) [blocked by #1]");
    check("TaskGet", json!({"taskId": "2"}), "Task #2: Do BB\nStatus: pending\nDescription: desc B\nBlocked by: #1");
    check("TaskGet", json!({"taskId": "1"}), "Task #1: Do A\nStatus: in_progress\nDescription: desc A\nBlocks: #2");
    check("TaskGet", json!({"taskId": "99"}), "Task not found");
    check("TaskUpdate", json!({"taskId": "99", "status": "completed"}), "Task not found");
    check("TaskUpdate", json!({"taskId": "1"}), "Updated task #1");
    check(
        "TaskCreate",
        json!({"subject": "C", "description": "desc C", "metadata": {"k": 1}}),
        "Task #3 created successfully: C",
    );
    check(
        "TaskUpdate",
        json!({"taskId": "3", "addBlocks": ["2"], "description": "new", "activeForm": "Cing", "metadata": {"k": null}}),
        "Updated task #3 description, activeForm, metadata, blocks",
    );
    check("TaskList", json!({}), "#1 [in_progress] Do A\n#2 [pending] Do BB (me) [blocked by #1, #3]\n#3 [pending] C");
    check("TaskUpdate", json!({"taskId": "1", "status": "completed"}), "Updated task #1 status");
    check("TaskList", json!({}), "#1 [completed] Do A\n#2 [pending] Do BB (me) [blocked by #3]\n#3 [pending] C");
    check("TaskUpdate", json!({"taskId": "3", "status": "deleted", "subject": "never"}), "Updated task #3 deleted");
    check("TaskUpdate", json!({"taskId": "2", "status": "pending", "subject": "Do BB"}), "Updated task #2");
    check("TaskList", json!({}), "#1 [completed] Do A\n#2 [pending] Do BB (me)");
    let answer = stage.call("TaskUpdate", r#"{"taskId":"2","status":"done"}"#);
    assert!(answer.content.text().contains("\"code\": \"invalid_union\""), "{answer:?}");
    // The clients see the list.
    stage.others = vec![Outcome::Ok];
    stage.call("TaskUpdate", r#"{"taskId":"2","status":"in_progress"}"#);
    let [Action::Session(Session::Plan { steps, .. })] = stage.did.as_slice() else { panic!() };
    let steps: Vec<(&str, protocol::PlanStatus)> = steps.iter().map(|step| (step.step.as_str(), step.status)).collect();
    assert_eq!(steps, [("Do A", protocol::PlanStatus::Completed), ("Do BB", protocol::PlanStatus::InProgress)]);
}

/// Ours: the original keeps its list in a file.
#[test]
fn tasks_outlive_a_summary() {
    let mut stage = claude(&[]);
    stage.others = vec![Outcome::Ok];
    stage.call("TaskCreate", r#"{"subject":"Do A","description":"d"}"#);
    let (_, entries) = CLASSIC.compacted(&stage.cx(), "<summary>s</summary>");
    stage.items.clear();
    stage.said = entries;
    assert_eq!(stage.call("TaskList", "{}"), Answer::plain("#1 [pending] Do A"));
    stage.others = vec![Outcome::Ok];
    assert_eq!(
        stage.call("TaskCreate", r#"{"subject":"B","description":"d"}"#),
        Answer::plain("Task #2 created successfully: B")
    );
}

#[test]
fn todos_are_for_models_of_other_makers() {
    let mut stage = stage(&CLASSIC, &[]);
    stage.others = vec![Outcome::Ok];
    let todos = r#"{"todos":[{"content":"a","status":"pending","activeForm":"x"}]}"#;
    assert_eq!(
        stage.call("TodoWrite", todos),
        Answer::plain(
            "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable"
        )
    );
    assert_eq!(
        stage.call("TodoWrite", r#"{"todos":[{"content":"a"}]}"#),
        Answer::failed(wrong(
            "InputValidationError: TodoWrite failed due to the following issues:\nThe required parameter `todos[0].activeForm` is missing\nThe parameter `todos[0].status` is invalid: Invalid option: expected one of \"pending\"|\"in_progress\"|\"completed\""
        ))
    );
    assert_eq!(stage.call("TaskList", "{}"), Answer::failed(wrong("Error: No such tool available: TaskList")));
}

#[test]
fn parameters_by_other_names() {
    let mut stage = claude(&[("a.txt", A)]);
    let note = "\n\nNote: Write's parameters are named `file_path` and `content`. `path` was read as `file_path`. `file_text` was read as `content`.";
    let new =
        "File created successfully at: /w/n.txt (file state is current in your context — no need to Read it back)";
    stage.check("Write", json!({"path": "/w/n.txt", "file_text": "x\n"}), None, &format!("{new}{note}"));
    let changed = "The file /w/n.txt has been updated successfully. (file state is current in your context — no need to Read it back)";
    stage.check("Edit", json!({"path": "/w/n.txt", "old_str": "x", "new_str": "y"}), None, changed);
    stage.others = vec![Outcome::Ok, Outcome::Ok];
    stage.check("TaskCreate", json!({"title": "T", "description": "d"}), None, "Task #1 created successfully: T");
    stage.check("TaskUpdate", json!({"id": "1", "status": "in_progress"}), None, "Updated task #1 status");
    stage.check("TaskList", json!({}), None, "#1 [in_progress] T");
    // It goes back to the model as it was sent.
    let sent = r#"{"path":"/w/n.txt","old_str":"y","new_str":"z"}"#;
    let echoed = super::super::args::echo(Generation::Classic, &stage.cx(), &call("c1", "Edit", sent));
    assert_eq!(echoed.args, sent);
}

#[test]
fn names_and_arguments() {
    let mut stage = claude(&[("a.txt", A)]);
    let mut check = |name: &str, args: &str, expected: &str| {
        assert_eq!(stage.call(name, args), Answer::failed(wrong(expected)), "{name} {args}");
    };
    check("FooTool", "{}", "Error: No such tool available: FooTool");
    check("read", "{}", "Error: No such tool available: read. Tool names are case-sensitive: call Read instead.");
    check(
        "ExitPlanMode",
        "{}",
        "Error: No such tool available: ExitPlanMode. ExitPlanMode is disabled for this session, in subagents as well as here.",
    );
    check(
        "CronList",
        "{}",
        "Error: No such tool available: CronList. CronList is disabled for this session, in subagents as well as here.",
    );
    check("ToolSearch", "{}", "Error: No such tool available: ToolSearch");
    check(
        "Task",
        "{}",
        "InputValidationError: Agent failed due to the following issues:\nThe required parameter `description` is missing\nThe required parameter `prompt` is missing",
    );
    check(
        "Agent",
        r#"{"description":"d","prompt":"p","model":"gpt"}"#,
        "InputValidationError: [\n  {\n    \"code\": \"invalid_value\",\n    \"values\": [\n      \"sonnet\",\n      \"opus\",\n      \"haiku\",\n      \"fable\"\n    ],\n    \"path\": [\n      \"model\"\n    ],\n    \"message\": \"Invalid option: expected one of \\\"sonnet\\\"|\\\"opus\\\"|\\\"haiku\\\"|\\\"fable\\\"\"\n  }\n]",
    );
    check(
        "NotebookEdit",
        r#"{"notebook_path":1,"cell_type":"x"}"#,
        "InputValidationError: NotebookEdit failed due to the following issues:\nThe required parameter `new_source` is missing\nThe parameter `notebook_path` type is expected as `string` but provided as `number`\nThe parameter `cell_type` is invalid: Invalid option: expected one of \"code\"|\"markdown\"",
    );
    check(
        "WebFetch",
        r#"{"url":"notaurl","prompt":"x"}"#,
        "InputValidationError: [\n  {\n    \"code\": \"invalid_format\",\n    \"format\": \"url\",\n    \"path\": [\n      \"url\"\n    ],\n    \"message\": \"Invalid URL\"\n  }\n]",
    );
    check(
        "TaskList",
        r#"{"x":1}"#,
        "InputValidationError: TaskList failed due to the following issue:\nAn unexpected parameter `x` was provided",
    );
    check("TaskStop", "{}", "Missing required parameter: task_id");
    check("KillShell", r#"{"shell_id":"nope"}"#, "No task found with ID: nope");
}

#[test]
fn calls_go_back_as_the_original_writes_them() {
    let stage = claude(&[]);
    let check = |name: &str, args: &str, expected: (&str, &str)| {
        let echoed = super::super::args::echo(Generation::Classic, &stage.cx(), &call("c", name, args));
        assert_eq!((echoed.name.as_str(), echoed.args.as_str()), expected);
    };
    check("Task", r#"{"description":"d","prompt":"p"}"#, ("Agent", r#"{"description":"d","prompt":"p"}"#));
    check("KillShell", r#"{"shell_id":"x"}"#, ("TaskStop", r#"{"shell_id":"x"}"#));
    check(
        "Bash",
        r#"{"run_in_background":"true","command":"x"}"#,
        ("Bash", r#"{"command":"x","run_in_background":true}"#),
    );
    check(
        "Edit",
        r#"{"file_path":"a","old_string":"b","new_string":"c"}"#,
        ("Edit", r#"{"replace_all":false,"file_path":"a","old_string":"b","new_string":"c"}"#),
    );
    check("Skill", "not json", ("Skill", r#"{"__unparsedToolInput":{"raw":"not json","len":8}}"#));
}
