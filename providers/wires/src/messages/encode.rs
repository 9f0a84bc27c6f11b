use protocol::Delta;
pub(super) struct Encode;
impl Encode {
    pub(super) fn new(_model: &str) -> Encode {
        Encode
    }
}
impl crate::Encoder for Encode {
    fn push(&mut self, _delta: &Delta, _out: &mut Vec<u8>) {}
}
