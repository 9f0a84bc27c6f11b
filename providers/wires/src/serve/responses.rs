//! A whole response: what the last event of its stream holds.
use protocol::Reply;

use super::Manner;
use crate::{deltas_of, responses};

pub(super) fn whole(reply: &Reply, manner: &Manner) -> Vec<u8> {
    responses::whole(&deltas_of(reply), manner).into_bytes()
}
