//! A request body in pieces that are shared, not copied, and whose length is known.
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Sends `pieces` one after the other. The exact size hint makes the client send `Content-Length`: not every server
/// takes a chunked request.
pub(crate) struct Pieces {
    rest: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl Pieces {
    pub(crate) fn new(pieces: Vec<Bytes>) -> Pieces {
        Pieces { left: pieces.iter().map(|piece| piece.len() as u64).sum(), rest: pieces.into_iter() }
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.rest.find(|piece| !piece.is_empty());
        self.left -= next.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
