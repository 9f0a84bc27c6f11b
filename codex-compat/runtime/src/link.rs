//! The line to the model: provider, wire and what both must know of each other; replies in the making.
use std::cell::RefCell;

use bytes::Bytes;
use protocol::{
    Event, Fit, ModelInfo, OwnedPrompt, Reply, ReplyId, ThreadId, Tune, TurnCause, TurnError, Usage, WireId,
};
use providers::{Client, Provider, Request, Signal};
use wires::{Collector, Wire};

use crate::{hub::Hub, thread::Stopped};

/// The Codex version that we hold ourselves to; servers that sort clients by it see it in `user-agent`.
pub(crate) const UPSTREAM: &str = "0.171.0";

/// Bytes of text of a reply that did not come to its end, beyond which it is not kept.
const MOST_PARTIAL: usize = 1 << 20;

pub(crate) struct Link {
    client: Client,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) fit: Fit,
    pub(crate) model: ModelInfo,
    headers: Vec<(String, String)>,
    /// The reply that is being made, so that an interrupt can keep what was said so far.
    making: RefCell<Option<Collector>>,
}

impl Link {
    pub(crate) fn new(
        provider: Provider,
        model: ModelInfo,
        originator: &str,
        version: &str,
        thread: &ThreadId,
    ) -> Link {
        let fit = provider.fit(&model.slug);
        let headers = headers(provider.wire, originator, version, thread);
        let wire = wires::wire(provider.wire);
        Link { client: Client::new(provider), wire, fit, model, headers, making: RefCell::new(None) }
    }

    /// The line of a sub-agent: the same provider, perhaps another model.
    pub(crate) fn child(
        &self,
        model: &str,
        overrides: &providers::ModelOverrides,
        originator: &str,
        version: &str,
        thread: &ThreadId,
    ) -> Link {
        let provider = self.client.provider().clone().for_model(model);
        let model = match model == self.model.slug {
            true => self.model.clone(),
            false => providers::model_info(&provider, model, overrides),
        };
        Link::new(provider, model, originator, version, thread)
    }

    /// One request with its retries. Deltas and retries are told to the hub as they come.
    pub(crate) async fn ask(&self, body: Vec<Bytes>, tune: &Tune, hub: &Hub) -> Result<Reply, Stopped> {
        let fresh = || Collector::new(self.fit.source.clone(), ReplyId(format!("reply_{:016x}", crate::tag())));
        *self.making.borrow_mut() = Some(fresh());
        let outcome = self
            .client
            .ask(&self.request(body, tune), |signal| match signal {
                Signal::Deltas(deltas) => {
                    if let Some(making) = self.making.borrow_mut().as_mut() {
                        deltas.iter().for_each(|delta| making.feed(delta));
                    }
                    hub.deltas(deltas);
                }
                Signal::Restart => *self.making.borrow_mut() = Some(fresh()),
                Signal::Retrying { k, n, cause, wait } => hub.emit(Event::Retrying { k, n, cause, wait }),
            })
            .await;
        if outcome.is_ok() {
            self.making.borrow_mut().take();
        }
        outcome.map_err(|failure| {
            let cause = TurnCause::Provider(failure.kind());
            hub.hint(&failure.hint);
            Stopped::Failed(TurnError { message: failure.message, cause })
        })
    }

    /// Tokens of a text as the provider counts them. None: it does not count, or did not answer.
    pub(crate) async fn count(&self, text: &str) -> Option<u64> {
        if !self.fit.caps.counts_tokens {
            return None;
        }
        let body = serde_json::json!({
            "model": self.model.slug, "messages": [{"role": "user", "content": text}], "tools": [],
        });
        self.client.count(&format!("{}/count_tokens", self.wire.path()), &self.headers, body.to_string().into()).await
    }

    /// What came of a request that was dropped. None: nothing worth keeping.
    pub(crate) fn partial(&self) -> Option<Reply> {
        let reply = self.making.borrow_mut().take()?.finish();
        // A stream without end leaves nothing that a person or a later request could use.
        (!reply.blocks.is_empty() && reply.text().len() <= MOST_PARTIAL).then_some(reply)
    }

    /// A request beside the conversation, without tools.
    pub(crate) async fn side(&self, prompt: &OwnedPrompt) -> Result<(String, Usage), TurnError> {
        let frozen: Vec<Bytes> = prompt.said.iter().map(|e| Bytes::from(self.wire.freeze(e, &self.fit))).collect();
        let body = wires::assemble(self.wire, &prompt.borrow(), &frozen, &self.fit);
        match self.client.ask(&self.request(body, &prompt.tune), |_| {}).await {
            Ok(reply) => Ok((reply.text(), reply.usage)),
            Err(failure) => {
                let cause = TurnCause::Provider(failure.kind());
                Err(TurnError { message: failure.message, cause })
            }
        }
    }

    fn request<'a>(&'a self, body: Vec<Bytes>, tune: &Tune) -> Request<'a> {
        let of_harness = tune.headers.iter().filter(|(wire, ..)| *wire == self.fit.source.wire);
        let mut headers: Vec<(String, String)> = self.headers.clone();
        for (_, name, value) in of_harness {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.clone(), value.clone()));
        }
        Request { wire: self.wire, fit: &self.fit, body, headers }
    }
}

/// Who asks. On Responses also what Codex sends, so that servers made for it can tell threads apart.
fn headers(wire: WireId, originator: &str, version: &str, thread: &ThreadId) -> Vec<(String, String)> {
    let system = format!("{}; {}", std::env::consts::OS, std::env::consts::ARCH);
    let agent = format!("{originator}/{UPSTREAM} ({system}) unknown (interpreter; {version})");
    let mut headers = vec![("user-agent".to_owned(), agent), ("originator".to_owned(), originator.to_owned())];
    if wire == WireId::Responses {
        for name in ["session-id", "thread-id", "x-client-request-id"] {
            headers.push((name.to_owned(), thread.to_string()));
        }
    }
    headers
}
