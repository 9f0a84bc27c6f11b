//! A wire of lines, so that these tests are about requests and retries and not about any API: `t:TEXT` is a text block,
//! `c:ID` a call, `e:KIND:WORDS` an error, `stop` the end.
use std::sync::atomic::{AtomicU32, Ordering};

use protocol::*;
use wires::{Asked, Decoder, Encoder, Wire};

pub(crate) struct LineWire;

impl Wire for LineWire {
    fn id(&self) -> WireId {
        WireId::Responses
    }
    fn path(&self) -> &'static str {
        "/responses"
    }
    fn head(&self, _: &Prompt, _: &Fit) -> Vec<u8> {
        Vec::new()
    }
    fn freeze(&self, _: &Entry, _: &Fit) -> Vec<u8> {
        Vec::new()
    }
    fn newest(&self, _: &Entry, _: &Tune, _: &Fit) -> Option<Vec<u8>> {
        None
    }
    fn tail(&self, _: &Tune, _: &Fit) -> Vec<u8> {
        Vec::new()
    }
    fn decoder(&self, _: &Fit) -> Box<dyn Decoder> {
        Box::new(Lines { rest: Vec::new(), at: AtomicU32::new(0), over: false })
    }
    fn refusal(&self, status: u16, headers: &[(String, String)], body: &[u8]) -> ProviderError {
        let text = String::from_utf8_lossy(body).into_owned();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let field = |name: &str| json["error"][name].as_str().map(str::to_owned);
        let code = field("code").or(field("type"));
        let kind = match (status, code.as_deref()) {
            (_, Some("context_length_exceeded")) => ErrorKind::ContextLength,
            (_, Some("insufficient_quota" | "usage_limit_reached")) => ErrorKind::Quota,
            (401 | 403, _) => ErrorKind::Auth,
            (404, _) => ErrorKind::NotFound,
            (429, _) => ErrorKind::RateLimit,
            (500.., _) => ErrorKind::Server,
            _ => ErrorKind::BadRequest,
        };
        let delay = headers.iter().find(|(name, _)| name == "retry-after").and_then(|(_, v)| v.parse::<u64>().ok());
        let message = field("message").unwrap_or(text.clone());
        ProviderError { code, retry_after: delay.map(|s| s * 1_000), ..ProviderError::new(kind, message) }
    }
    fn parse_request(&self, _: &[u8]) -> Result<Asked, ProviderError> {
        Err(ProviderError::new(ErrorKind::BadRequest, "no server here"))
    }
    fn encoder(&self, _: &str) -> Box<dyn Encoder> {
        struct None;
        impl Encoder for None {
            fn push(&mut self, _: &Delta, _: &mut Vec<u8>) {}
        }
        Box::new(None)
    }
}

struct Lines {
    rest: Vec<u8>,
    at: AtomicU32,
    over: bool,
}

impl Decoder for Lines {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|&b| b == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let mut words = line.trim_end_matches('\n').splitn(3, ':');
            let at = self.at.fetch_add(1, Ordering::Relaxed);
            match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
                ("t", text) => {
                    out.push(Delta::BlockStart { at, kind: BlockKind::Text(String::new(), Phase::Final) });
                    out.push(Delta::Text { at, text: text.into() });
                    out.push(Delta::BlockEnd { at, opaque: Vec::new() });
                }
                ("e", kind) => {
                    let kind = serde_json::from_value(kind.into()).expect("a kind");
                    out.push(Delta::Error(ProviderError::new(kind, words.next().unwrap_or_default())));
                    self.over = true;
                }
                ("stop", _) => {
                    out.push(Delta::Stop(Stop::End));
                    self.over = true;
                }
                _ => {}
            }
        }
    }
    fn end(&mut self, out: &mut Vec<Delta>) {
        if !self.over {
            out.push(Delta::Error(ProviderError::new(ErrorKind::Stream, "stream closed before response.completed")));
        }
    }
}
