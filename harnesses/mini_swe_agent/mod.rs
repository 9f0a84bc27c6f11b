//! `mini-swe-agent`: to be written.
use protocol::{Answer, Call, Done, Entry, Item, Millis, Opening, Reply, Tune, Want};

use crate::{Compaction, Context, End, Harness, Moment, Next, Reading};

pub(crate) struct MiniSweAgent;

impl Harness for MiniSweAgent {
    fn id(&self) -> &'static str {
        "mini-swe-agent"
    }
    fn wants(&self, _cx: &Context, _moment: Moment) -> Vec<Want> {
        Vec::new()
    }
    fn open(&self, _cx: &Context) -> Opening {
        Opening::default()
    }
    fn say(&self, _cx: &Context, _new: &[Item]) -> Vec<Entry> {
        Vec::new()
    }
    fn tune(&self, _cx: &Context) -> Tune {
        Tune::default()
    }
    fn read(&self, _cx: &Context, _reply: &Reply) -> Reading {
        Reading::Stop(End::Done)
    }
    fn next(&self, _cx: &Context, _call: &Call, _did: &[Done]) -> Next {
        Next::Answer(Answer::plain(""))
    }
    fn cut_short(&self, _cx: &Context, _call: &Call, _did: &[Done], _ran: Option<Millis>) -> Answer {
        Answer::plain("")
    }
    fn compact(&self, _cx: &Context, _hint: Option<&str>) -> Compaction {
        Compaction { ask: Vec::new(), tools: false, tune: Tune::default() }
    }
    fn compacted(&self, _cx: &Context, _summary: &str) -> (Opening, Vec<Entry>) {
        (Opening::default(), Vec::new())
    }
}
