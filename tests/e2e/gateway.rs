//! `interpreter gateway`: every wire in, every wire out, as clients of each wire see it.
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Stdio},
    time::Duration,
};

use demo::scripted::{End, Server, Step, Turn};
use pretty_assertions::assert_eq;
use protocol::WireId;
use serde_json::{Value, json};

use crate::place::Place;

const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway in front of a scripted provider.
struct Gateway {
    place: Place,
    child: Child,
    address: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {}", self.body))
    }
    /// The data of each event of a stream.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }
}

impl Gateway {
    fn new(provider: WireId, steps: Vec<Step>) -> Gateway {
        Gateway::with(Place::new(provider, steps), &[])
    }

    fn with(place: Place, args: &[&str]) -> Gateway {
        let mut command = place.command(&[&["gateway", "--listen", "127.0.0.1:0"][..], args].concat());
        command.env("GATEWAY_TOKEN", "let-me-in").env("STUB_KEY", "sk-of-the-provider");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("stdout")).read_line(&mut line).expect("a line");
        let address =
            line.split("http://").nth(1).and_then(|rest| rest.split(' ').next()).expect("an address").to_owned();
        Gateway { place, child, address }
    }

    fn open(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the gateway");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n",
            self.address
        );
        stream.write_all((head + body).as_bytes()).expect("the request");
        stream
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut bytes = Vec::new();
        self.open(method, path, headers, body).read_to_end(&mut bytes).expect("an answer");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
        Answer { status, head: head.to_lowercase(), body }
    }

    fn ask(&self, wire: WireId, body: &Value) -> Answer {
        self.send("POST", path(wire), "authorization: Bearer sk-of-the-client\r\n", &body.to_string())
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        whole.push_str(&rest[..size]);
        body = &rest[(size + 2).min(rest.len())..];
    }
    whole
}

fn path(wire: WireId) -> &'static str {
    match wire {
        WireId::Chat => "/v1/chat/completions",
        WireId::Messages => "/v1/messages",
        WireId::Responses => "/v1/responses",
    }
}

/// A client's request: one tool, and what was said so far.
fn request(wire: WireId, stream: bool, said: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    match wire {
        WireId::Chat => json!({
            "model": "gpt-x", "stream": stream, "stream_options": {"include_usage": true}, "messages": said,
            "tools": [{"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": schema}}],
        }),
        WireId::Messages => json!({
            "model": "claude-x", "stream": stream, "max_tokens": 99, "system": "Be brief.", "messages": said,
            "tools": [{"name": "weather", "description": "The weather", "input_schema": schema}],
        }),
        WireId::Responses => json!({
            "model": "gpt-x", "stream": stream, "instructions": "Be brief.", "input": said,
            "tools": [{"type": "function", "name": "weather", "description": "The weather", "parameters": schema}],
        }),
    }
}

fn user(wire: WireId, text: &str) -> Value {
    match wire {
        WireId::Responses => {
            json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}])
        }
        _ => json!([{"role": "user", "content": text}]),
    }
}

/// Reasoning, text, calls (id, name, arguments) and usage (input, output) of an answer, streamed or whole.
type Heard = (String, String, Vec<(String, String, String)>, (u64, u64));

fn heard(wire: WireId, answer: &Answer, stream: bool) -> Heard {
    assert_eq!(answer.status, 200, "{}", answer.body);
    // What was streamed is read by our own side of the wire; `provider` quirks aside it is what an SDK does.
    let source = protocol::Source { provider: "client".into(), wire, model: "m".into() };
    let fit = protocol::Fit { source: source.clone(), caps: protocol::Caps::plain(), quirks: Default::default() };
    let mut reply = wires::Collector::new(source, "own");
    let mut deltas = Vec::new();
    let mut decoder = wires::wire(wire).decoder(&fit);
    assert_eq!(answer.head.contains("text/event-stream"), stream, "{}", answer.head);
    decoder.push(answer.body.as_bytes(), &mut deltas);
    decoder.end(&mut deltas);
    deltas.iter().for_each(|delta| reply.feed(delta));
    assert_eq!(reply.error(), None, "{}", answer.body);
    let reply = reply.finish();
    let thought = reply.blocks.iter().filter_map(|block| match &block.kind {
        protocol::BlockKind::Reasoning(text) => Some(text.as_str()),
        _ => None,
    });
    let calls = reply.calls().map(|call| (call.id.0.clone(), call.name.clone(), call.args.clone())).collect();
    (thought.collect(), reply.text(), calls, (reply.usage.input, reply.usage.output))
}

/// What a client says next: the answer as it came, and the results of its calls.
fn goes_on(wire: WireId, said: &Value, answer: &Answer, results: &[(&str, &str)]) -> Value {
    let mut said = said.as_array().expect("a list").clone();
    let whole = answer.json();
    match wire {
        WireId::Chat => {
            said.push(whole["choices"][0]["message"].clone());
            said.extend(results.iter().map(|(id, text)| json!({"role": "tool", "tool_call_id": id, "content": text})));
        }
        WireId::Messages => {
            said.push(json!({"role": "assistant", "content": whole["content"]}));
            let blocks =
                results.iter().map(|(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}));
            said.push(json!({"role": "user", "content": blocks.collect::<Vec<_>>()}));
        }
        WireId::Responses => {
            said.extend(whole["output"].as_array().expect("items").iter().cloned());
            said.extend(
                results.iter().map(|(id, text)| json!({"type": "function_call_output", "call_id": id, "output": text})),
            );
        }
    }
    said.into()
}

/// The prompt that the provider got.
fn got(gateway: &Gateway, n: usize) -> protocol::OwnedPrompt {
    let requests = gateway.place.requests();
    wires::wire(requests[n].wire).parse_request(&requests[n].body).expect("a request").prompt
}

fn pairs() -> impl Iterator<Item = (WireId, WireId)> {
    WireId::ALL.into_iter().flat_map(|from| WireId::ALL.map(|to| (from, to)))
}

/// Thinking, text, two calls at once and their results, on all nine pairs, streamed and whole.
#[test]
fn a_task_with_tools_on_every_pair_of_wires() {
    for (from, to) in pairs() {
        let turn = || {
            let paris = Turn::call("weather", &json!({"city": "Paris"}));
            paris.and_call("weather", &json!({"city": "Rome"})).saying("Looking.").thinking("Two cities.").using(50, 7)
        };
        let steps = vec![turn().into(), turn().into(), Turn::text("Sunny.").into()];
        let gateway = Gateway::new(to, steps);
        let said = user(from, "Weather?");
        let streamed = gateway.ask(from, &request(from, true, said.clone()));
        let whole = gateway.ask(from, &request(from, false, said.clone()));
        let calls = |n: usize| {
            let call = |k: usize, city: &str| {
                (format!("call_{n}_{k}"), "weather".to_owned(), json!({ "city": city }).to_string())
            };
            vec![call(0, "Paris"), call(1, "Rome")]
        };
        let expected = |n| ("Two cities.".to_owned(), "Looking.".to_owned(), calls(n), (50, 7));
        assert_eq!(heard(from, &streamed, true), expected(0), "{from:?} to {to:?}");
        assert_eq!(heard(from, &whole, false), expected(1), "{from:?} to {to:?}");
        let next = goes_on(from, &said, &whole, &[("call_1_0", "sun"), ("call_1_1", "rain")]);
        let last = gateway.ask(from, &request(from, false, next));
        assert_eq!(heard(from, &last, false).1, "Sunny.", "{from:?} to {to:?}");

        // The provider gets the client's own words and tools, the calls as it made them, and its payloads.
        let prompt = got(&gateway, 2);
        assert_eq!(prompt.opening.tools[0].name, "weather");
        if from != WireId::Chat {
            assert_eq!(prompt.opening.instructions[0].1.text(), "Be brief.");
        }
        let protocol::Entry::Assistant(blocks) = &prompt.said[1] else { panic!("{:?}", prompt.said) };
        let echoed: Vec<_> = blocks
            .iter()
            .filter_map(|block| match &block.kind {
                protocol::BlockKind::Call(call) => Some((call.id.0.clone(), call.name.clone(), call.args.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(echoed, calls(1), "{from:?} to {to:?}");
        assert!(
            matches!(&blocks[0].kind, protocol::BlockKind::Reasoning(text) if text == "Two cities."),
            "{from:?} to {to:?}: {blocks:?}"
        );
        let protocol::Entry::Results { results, .. } = &prompt.said[2] else { panic!("{:?}", prompt.said) };
        let results: Vec<_> = results.iter().map(|it| (it.call.as_str(), it.answer.content.text())).collect();
        assert_eq!(results, [("call_1_0", "sun".to_owned()), ("call_1_1", "rain".to_owned())], "{from:?} to {to:?}");
        // Whatever key the client has stays here, and ours is none of its business.
        for request in gateway.place.requests() {
            assert_eq!(request.header("authorization"), None);
            assert!(!String::from_utf8_lossy(&request.body).contains("sk-of-the-client"));
        }
    }
}

/// Codex's free-form tools and its namespaces exist on Responses only; elsewhere they are functions, and Codex never sees it.
#[test]
fn codexs_own_tools_on_every_wire() {
    for to in [WireId::Chat, WireId::Messages] {
        let patch = "*** Begin Patch\n*** End Patch";
        let turn =
            Turn::call("apply_patch", &json!({ "input": patch })).and_call("mcp__files__read", &json!({"path": "a"}));
        let gateway = Gateway::new(to, vec![turn.clone().into(), turn.into(), Turn::text("Done.").into()]);
        let ask = |stream: bool, input: Value| {
            let schema = json!({"type": "object", "properties": {}});
            let read = json!({"type": "function", "name": "read", "description": "", "parameters": schema});
            let tools = json!([
                {"type": "custom", "name": "apply_patch", "description": "Patches", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a/"}},
                {"type": "namespace", "name": "mcp__files", "description": "", "tools": [read]},
                {"type": "web_search"},
            ]);
            gateway.ask(WireId::Responses, &json!({"model": "gpt-x", "stream": stream, "input": input, "tools": tools}))
        };
        let whole = ask(false, user(WireId::Responses, "Patch"));
        let output = whole.json()["output"].clone();
        let picked =
            |item: &Value, names: &[&str]| -> Vec<Value> { names.iter().map(|name| item[name].clone()).collect() };
        let names = ["type", "call_id", "name", "input"];
        assert_eq!(
            picked(&output[0], &names),
            [json!("custom_tool_call"), json!("call_0_0"), json!("apply_patch"), json!(patch)]
        );
        let names = ["type", "call_id", "namespace", "name", "arguments"];
        let expected =
            [json!("function_call"), json!("call_0_1"), json!("mcp__files"), json!("read"), json!("{\"path\":\"a\"}")];
        assert_eq!(picked(&output[1], &names), expected);
        let streamed = ask(true, user(WireId::Responses, "Patch")).events();
        let done =
            streamed.iter().find(|event| event["type"] == "response.custom_tool_call_input.done").expect("an event");
        assert_eq!(done["input"], patch);
        // The echo goes back in function form, with its result.
        let mut said = user(WireId::Responses, "Patch").as_array().expect("a list").clone();
        said.extend(output.as_array().expect("items").iter().cloned());
        said.push(json!({"type": "custom_tool_call_output", "call_id": "call_0_0", "output": "patched"}));
        said.push(json!({"type": "function_call_output", "call_id": "call_0_1", "output": "text"}));
        assert_eq!(ask(false, said.into()).status, 200);
        let prompt = got(&gateway, 2);
        let protocol::Entry::Assistant(blocks) = &prompt.said[1] else { panic!("{:?}", prompt.said) };
        let calls: Vec<_> = blocks
            .iter()
            .filter_map(|block| match &block.kind {
                protocol::BlockKind::Call(call) => Some((call.name.as_str(), call.args.as_str())),
                _ => None,
            })
            .collect();
        let input = json!({ "input": patch }).to_string();
        assert_eq!(calls, [("apply_patch", input.as_str()), ("mcp__files__read", "{\"path\":\"a\"}")]);
        let tools: Vec<&str> = prompt.opening.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(tools, ["apply_patch", "mcp__files__read"]);
    }
}

#[test]
fn images_come_through() {
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for (from, to) in pairs() {
        let gateway = Gateway::new(to, vec![Turn::text("A pixel.").into()]);
        let url = format!("data:image/png;base64,{PIXEL}");
        let content = match from {
            WireId::Chat => {
                json!([{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": url}}])
            }
            WireId::Messages => {
                json!([{"type": "text", "text": "What?"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}])
            }
            WireId::Responses => {
                json!([{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": url}])
            }
        };
        let answer = gateway.ask(from, &request(from, false, json!([{"role": "user", "content": content}])));
        assert_eq!(heard(from, &answer, false).1, "A pixel.");
        let prompt = got(&gateway, 0);
        let protocol::Entry::User(protocol::Content::Parts(parts)) = &prompt.said[0] else {
            panic!("{:?}", prompt.said)
        };
        let protocol::Part::Image { blob, .. } = &parts[1] else { panic!("{parts:?}") };
        assert_eq!((blob.mime.as_str(), blob.base64().as_deref()), ("image/png", Some(PIXEL)), "{from:?} to {to:?}");
    }
}

#[test]
fn refusals_have_the_clients_form_and_no_key() {
    for (from, to) in pairs() {
        let refuse = |status, kind: &str, code: &str, words: &str| {
            let error = match to {
                WireId::Messages => json!({"type": "error", "error": {"type": kind, "message": words}}),
                _ => json!({"error": {"message": words, "type": kind, "code": code}}),
            };
            Step::refuse(status, &error)
        };
        let place = Place::new(
            to,
            vec![
                refuse(401, "authentication_error", "invalid_api_key", "bad key sk-of-the-provider"),
                refuse(429, "rate_limit_error", "rate_limit_exceeded", "slower"),
                refuse(
                    400,
                    "invalid_request_error",
                    "context_length_exceeded",
                    "prompt is too long: 9 tokens > 8 maximum",
                ),
            ],
        );
        let home = place.home().join(".openinterpreter/config.toml");
        let config = std::fs::read_to_string(&home).expect("config") + "env_key = \"STUB_KEY\"\n";
        std::fs::write(home, config).expect("config");
        let gateway = Gateway::with(place, &[]);
        let mut said = Vec::new();
        for stream in [true, true, false] {
            let answer = gateway.ask(from, &request(from, stream, user(from, "Hi")));
            assert!(!answer.body.contains("sk-of-the-provider"), "{}", answer.body);
            let error = answer.json();
            assert_eq!(error["type"] == "error", from == WireId::Messages, "{error}");
            said.push((answer.status, error["error"]["type"].as_str().unwrap_or_default().to_owned()));
        }
        let expected = [(401, "authentication_error"), (429, "rate_limit_error"), (400, "invalid_request_error")];
        assert_eq!(said, expected.map(|(status, kind)| (status, kind.to_owned())), "{from:?} to {to:?}");
        let key = if to == WireId::Messages { "x-api-key" } else { "authorization" };
        assert!(gateway.place.requests()[0].header(key).is_some_and(|value| value.ends_with("sk-of-the-provider")));
    }
}

/// Codex knows a full context by an event, Claude Code by Anthropic's words.
#[test]
fn a_full_context_is_told_as_each_client_knows_it() {
    let full = || Step::refuse(400, &json!({"error": {"message": "too much", "code": "context_length_exceeded"}}));
    let gateway = Gateway::new(WireId::Chat, vec![full(), full()]);
    let codex = gateway.ask(WireId::Responses, &request(WireId::Responses, true, user(WireId::Responses, "Hi")));
    let last = codex.events().pop().expect("an event");
    assert_eq!((codex.status, &last["type"]), (200, &json!("response.failed")));
    assert_eq!(last["response"]["error"]["code"], "context_length_exceeded");
    let claude = gateway.ask(WireId::Messages, &request(WireId::Messages, true, user(WireId::Messages, "Hi")));
    assert_eq!((claude.status, &claude.json()["error"]["message"]), (400, &json!("prompt is too long: too much")));
}

#[test]
fn a_stream_that_breaks_ends_in_an_error() {
    for (from, to) in pairs() {
        let whole = demo::scripted::encode(to, 0, "m", &Turn::text("Half of a long answer"));
        let half = whole[..whole.len() / 2].to_vec();
        let gateway =
            Gateway::new(to, vec![Step::stream(vec![half.clone()], End::Cut), Step::stream(vec![half], End::Cut)]);
        let streamed = gateway.ask(from, &request(from, true, user(from, "Hi")));
        assert_eq!(streamed.status, 200);
        let last = streamed.events().pop().expect("an event");
        let error = if from == WireId::Responses { &last["response"]["error"] } else { &last["error"] };
        assert!(error["message"].as_str().is_some_and(|words| !words.is_empty()), "{from:?} to {to:?}: {last}");
        assert_eq!(gateway.ask(from, &request(from, false, user(from, "Hi"))).status, 502, "{from:?} to {to:?}");
    }
}

/// A client that goes away, before the first word or behind it, takes its request with it.
#[test]
fn going_away_cancels() {
    for (from, to) in pairs() {
        let begun = demo::scripted::encode(to, 0, "m", &Turn::text("One"));
        let cut = begun.windows(2).position(|two| two == b"\n\n").expect("an event") + 2;
        let (tell, told) = std::sync::mpsc::channel();
        let pieces = vec![begun[..cut].to_vec()];
        let mut steps = vec![Step::stream(vec![], End::Stall), Step::stream(pieces, End::Stall)].into_iter();
        let server = Server::start(move |n, _| {
            let _ = tell.send(n);
            steps.next().unwrap_or_else(|| Turn::text("Still here.").into())
        });
        let gateway = Gateway::with(Place::with(to, server.expect("a port")), &[]);
        let body = request(from, true, user(from, "Hi")).to_string();
        for stalled in 0..2 {
            let mut client = gateway.open("POST", path(from), "", &body);
            assert_eq!(told.recv_timeout(PATIENCE), Ok(stalled));
            if stalled == 1 {
                client.read_exact(&mut [0; 20]).expect("the beginning");
            }
            drop(client);
        }
        // The scripted server ends a stalled answer when its client is gone; both must be, and the gateway lives.
        assert!(gateway.place.server.gone(2, PATIENCE), "{from:?} to {to:?}");
        let answer = gateway.ask(from, &request(from, false, user(from, "Hi")));
        assert_eq!(heard(from, &answer, false).1, "Still here.", "{from:?} to {to:?}");
    }
}

#[test]
fn names_lead_to_models() {
    let place = Place::new(WireId::Chat, vec![]);
    place.write_config("[gateway.models]\n\"gpt-5\" = \"stub/other-model\"\n");
    let gateway = Gateway::with(place, &[]);
    let ask = |model: &str| {
        let mut body = request(WireId::Chat, false, user(WireId::Chat, "Hi"));
        body["model"] = model.into();
        let answer = gateway.ask(WireId::Chat, &body).json();
        let asked = gateway.place.requests().last().expect("a request").json();
        (
            answer["model"].as_str().unwrap_or_default().to_owned(),
            asked["model"].as_str().unwrap_or_default().to_owned(),
        )
    };
    assert_eq!(ask("gpt-5"), ("gpt-5".into(), "other-model".into()));
    assert_eq!(ask("whatever"), ("whatever".into(), "stub-model".into()));
    let models = gateway.send("GET", "/v1/models", "", "").json();
    let ids: Vec<&str> = models["data"].as_array().expect("a list").iter().filter_map(|it| it["id"].as_str()).collect();
    assert_eq!(ids, ["gpt-5", "stub-model"]);
    assert_eq!(gateway.send("GET", "/v1/models/gpt-5", "", "").json()["owned_by"], "stub");
    assert_eq!(gateway.send("GET", "/v1/models/none", "", "").status, 404);
}

#[test]
fn tokens_are_counted_or_estimated() {
    let body = json!({"model": "x", "messages": [{"role": "user", "content": "x".repeat(400)}]}).to_string();
    let gateway = Gateway::new(WireId::Chat, vec![]);
    let answer = gateway.send("POST", "/v1/messages/count_tokens", "", &body);
    assert_eq!((answer.status, answer.json()), (200, json!({"input_tokens": 100})));
    assert_eq!(gateway.place.requests().len(), 0);
}

#[test]
fn who_may_ask() {
    let hello = |wire| request(wire, false, user(wire, "Hi")).to_string();
    let gateway = Gateway::with(Place::new(WireId::Chat, vec![]), &["--token-env", "GATEWAY_TOKEN"]);
    let ask = |headers: &str| gateway.send("POST", "/v1/messages", headers, &hello(WireId::Messages)).status;
    assert_eq!(ask(""), 401);
    assert_eq!(ask("authorization: Bearer let-me-i\r\n"), 401);
    assert_eq!(ask("authorization: Bearer let-me-in\r\n"), 200);
    assert_eq!(ask("x-api-key: let-me-in\r\n"), 200);
    let gateway = Gateway::new(WireId::Chat, vec![]);
    let page = gateway.send("POST", "/v1/chat/completions", "origin: https://evil.example\r\n", &hello(WireId::Chat));
    assert_eq!(page.status, 403);
    // Beyond this machine nobody is served without a token.
    let refused = gateway.place.run(&["gateway", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--token-env"), "{refused:?}");
}

#[test]
fn what_is_no_request_is_told() {
    let gateway = Gateway::new(WireId::Chat, vec![]);
    let status = |method: &str, path: &str, body: &str| gateway.send(method, path, "", body).status;
    assert_eq!(status("POST", "/v1/responses", "{"), 400);
    assert_eq!(status("POST", "/v1/messages", "{}"), 400);
    assert_eq!(status("GET", "/v1/messages", ""), 405);
    assert_eq!(status("POST", "/v1/embeddings", "{}"), 404);
    assert_eq!(status("HEAD", "/", ""), 200);
    let mut long = TcpStream::connect(&gateway.address).expect("the gateway");
    long.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    long.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n")
        .expect("a head");
    let mut line = String::new();
    BufReader::new(long).read_line(&mut line).expect("an answer");
    assert_eq!(line, "HTTP/1.1 413 Payload Too Large\r\n");
    let said = gateway.send("POST", "/v1/responses", "", r#"{"model":"m","input":"x","previous_response_id":"r"}"#);
    assert_eq!(said.status, 400);
    assert!(said.body.contains("previous_response_id"), "{}", said.body);
    assert_eq!(gateway.place.requests().len(), 0);
}
