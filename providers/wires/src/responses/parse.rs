use crate::Asked;
use protocol::ProviderError;
pub(super) fn request(_body: &[u8]) -> Result<Asked, ProviderError> {
    Err(ProviderError::new(protocol::ErrorKind::BadRequest, ""))
}
