//! Bodies of answers: one piece, or a stream that is made while the client reads it.
use std::{
    cell::RefCell,
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use protocol::{Delta, ProviderError};
use tokio::time::{Instant, Sleep, sleep};
use wires::{Encoder, serve::Outgoing};

pub(crate) enum Payload {
    Whole(Option<Bytes>),
    Stream(Stream),
}

/// A client hears something at least this often, so that neither it nor a proxy takes a long thought for a dead line.
const BEAT: Duration = Duration::from_secs(15);
/// A comment, which every reader of event streams passes over.
const COMMENT: &[u8] = b": keep-alive\n\n";

type Asking = Pin<Box<dyn Future<Output = Result<(), ProviderError>>>>;

/// A provider's reply on its way to a client. Nothing is asked for before the client has taken what came, and dropping it closes
/// the line to the provider.
pub(crate) struct Stream {
    asking: Option<Asking>,
    pipe: Rc<RefCell<Pipe>>,
    beat: Pin<Box<Sleep>>,
}

/// Deltas in, events out.
pub(crate) struct Pipe {
    outgoing: Outgoing,
    encoder: Box<dyn Encoder>,
    deltas: Vec<Delta>,
    bytes: Vec<u8>,
}

impl Pipe {
    pub(crate) fn new(outgoing: Outgoing, encoder: Box<dyn Encoder>) -> Pipe {
        Pipe { outgoing, encoder, deltas: Vec::new(), bytes: Vec::new() }
    }

    pub(crate) fn push(&mut self, delta: &Delta) {
        self.outgoing.pass(delta, &mut self.deltas);
        for delta in self.deltas.drain(..) {
            self.encoder.push(&delta, &mut self.bytes);
        }
    }
}

impl Stream {
    /// `asking` fills the pipe.
    pub(crate) fn new(
        pipe: Rc<RefCell<Pipe>>,
        asking: impl Future<Output = Result<(), ProviderError>> + 'static,
    ) -> Stream {
        Stream { asking: Some(Box::pin(asking)), pipe, beat: Box::pin(sleep(BEAT)) }
    }

    /// Waits for the first bytes, and no longer than for a beat. Err: it failed before there were any.
    pub(crate) async fn begun(&mut self) -> Result<(), ProviderError> {
        poll_fn(|cx| match self.ask(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Pending => self.beat.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// As a failure within the stream, for clients that know it there only.
    pub(crate) fn fail(&mut self, error: &ProviderError) {
        self.pipe.borrow_mut().push(&Delta::Error(error.clone()));
    }

    /// Ready when there are bytes, or nothing more to come.
    fn ask(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ProviderError>> {
        while self.pipe.borrow().bytes.is_empty() {
            let Some(asking) = &mut self.asking else { break };
            let Poll::Ready(outcome) = asking.as_mut().poll(cx) else {
                return if self.pipe.borrow().bytes.is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) };
            };
            self.asking = None;
            outcome?;
        }
        Poll::Ready(Ok(()))
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self.ask(cx) {
            Poll::Ready(outcome) => {
                if let Err(error) = outcome {
                    self.fail(&error);
                }
                let bytes = std::mem::take(&mut self.pipe.borrow_mut().bytes);
                self.beat.as_mut().reset(Instant::now() + BEAT);
                Poll::Ready(Some(Bytes::from(bytes)).filter(|bytes| !bytes.is_empty()))
            }
            Poll::Pending => match self.beat.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    self.beat.as_mut().reset(Instant::now() + BEAT);
                    Poll::Ready(Some(Bytes::from_static(COMMENT)))
                }
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Payload::Whole(bytes) => Poll::Ready(bytes.take()),
            Payload::Stream(stream) => stream.next(cx),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Payload::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Payload::Stream(_) => SizeHint::default(),
        }
    }
}
