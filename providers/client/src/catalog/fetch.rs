//! Brings the data that catalogs are made of.
use std::time::Duration;

use reqwest::Url;
use tokio::time::timeout;

use crate::page_client;

/// For all of it.
const PATIENCE: Duration = Duration::from_secs(60);
/// models.dev's file has about 3 MB.
const MOST_BYTES: usize = 64 << 20;

/// Why there is no data.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0} is not an address: {1}")]
    Address(String, String),
    #[error("{host} cannot be reached: {why}")]
    Connection { host: String, why: String },
    #[error("{host} answered {status}")]
    Status { host: String, status: u16 },
    #[error("{0} sent nothing to the end within a minute")]
    Slow(String),
    #[error("{0} sent more than 64 MB, or what is not text")]
    NotText(String),
}

/// The text at this address, models.dev's `api.json` for instance. Redirects are not followed.
pub async fn fetch(address: &str) -> Result<String, FetchError> {
    let url = Url::parse(address).map_err(|why| FetchError::Address(address.to_owned(), why.to_string()))?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let broken = |why: String| FetchError::Connection { host: host.clone(), why };
    let client = page_client(&url, &[]).map_err(broken)?;
    let work = async {
        let mut response = client.get(url).send().await.map_err(|e| broken(e.without_url().to_string()))?;
        if !response.status().is_success() {
            return Err(FetchError::Status { host: host.clone(), status: response.status().as_u16() });
        }
        let mut bytes = Vec::new();
        while let Some(more) = response.chunk().await.map_err(|e| broken(e.without_url().to_string()))? {
            bytes.extend_from_slice(&more);
            if bytes.len() > MOST_BYTES {
                return Err(FetchError::NotText(host.clone()));
            }
        }
        String::from_utf8(bytes).map_err(|_| FetchError::NotText(host.clone()))
    };
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(FetchError::Slow(host.clone())))
}
