//! The raw log: what came is written, card data masked, before anything else is done with it.
//!
//! # The rule for bodies
//!
//! A body is kept whole, packed with gzip from 4 KiB on. What the transport cut off for its size is
//! kept as its beginning only, marked as cut. Of the headers those are kept that say how to read
//! the body; credentials and cookies never.

use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use keyrack_model::adapter::{ChannelAdapter, Inbound, Outbound};
use keyrack_model::id::{AccountId, ConnectionId, MessageId};
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use uuid::Uuid;

use crate::error::DistributionError;
use crate::store::message::{self, Kept, Written};

/// Masks and writes what came in.
pub(crate) async fn keep(
    pool: &PgPool,
    adapter: &Arc<dyn ChannelAdapter>,
    connection: ConnectionId,
    span: Uuid,
    inbound: &Arc<Inbound>,
    is_cut: bool,
) -> Result<Written, DistributionError> {
    let packed = {
        let (adapter, inbound) = (Arc::clone(adapter), Arc::clone(inbound));
        off_the_loop(move || Packed::of(&*adapter, &inbound.bytes, &inbound.headers)).await?
    };
    let kept = packed.kept(connection, &inbound.topic, span, is_cut);
    let kept = Kept {
        time_zone: inbound.time_zone.as_deref(),
        ..kept
    };
    message::insert_in(pool, &kept).await
}

/// Masks and writes what we answer.
pub(crate) async fn keep_out(
    pool: &PgPool,
    adapter: &Arc<dyn ChannelAdapter>,
    connection: ConnectionId,
    span: Uuid,
    outbound: &Outbound,
    accounts: &[AccountId],
    named: &[String],
) -> Result<MessageId, DistributionError> {
    let packed = {
        let (adapter, body) = (Arc::clone(adapter), outbound.body.clone());
        off_the_loop(move || Packed::of(&*adapter, &body, &[])).await?
    };
    let kept = packed.kept(connection, &outbound.topic, span, false);
    message::insert_out(pool, &kept, accounts, named).await
}

/// Runs what may take long on large bodies, or panic on hostile ones, beside the loop.
pub(crate) async fn off_the_loop<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DistributionError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| DistributionError::Unreadable("an adapter broke off".into()))
}

/// A body, masked and packed.
struct Packed {
    headers: Vec<(String, String)>,
    encoding: &'static str,
    body: Vec<u8>,
    body_bytes: i64,
    digest: [u8; 32],
}

impl Packed {
    fn of(adapter: &dyn ChannelAdapter, bytes: &[u8], headers: &[(String, String)]) -> Self {
        let masked = adapter.redact(bytes);
        let headers = headers
            .iter()
            .filter(|(name, _)| KEPT_HEADERS.contains(&name.as_str()))
            .cloned()
            .collect();
        let digest = Sha256::digest(&masked).into();
        let body_bytes = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let (encoding, body) = pack(masked);
        Self {
            headers,
            encoding,
            body,
            body_bytes,
            digest,
        }
    }

    fn kept<'a>(
        &'a self,
        connection: ConnectionId,
        topic: &'a str,
        span: Uuid,
        is_cut: bool,
    ) -> Kept<'a> {
        Kept {
            connection,
            topic,
            span,
            time_zone: None,
            headers: &self.headers,
            encoding: self.encoding,
            body: &self.body,
            body_bytes: self.body_bytes,
            is_cut,
            digest: &self.digest,
        }
    }
}

fn pack(body: Vec<u8>) -> (&'static str, Vec<u8>) {
    if body.len() < PACKED_FROM_BYTES {
        return (PLAIN, body);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    match encoder.write_all(&body).and_then(|()| encoder.finish()) {
        Ok(packed) => (GZIP, packed),
        Err(_) => (PLAIN, body),
    }
}

/// A body as it came, card data masked.
///
/// # Errors
///
/// [`DistributionError::Unreadable`] where the row is damaged.
pub(crate) fn unpack(encoding: &str, body: Vec<u8>) -> Result<Vec<u8>, DistributionError> {
    if encoding != GZIP {
        return Ok(body);
    }
    let mut whole = Vec::new();
    GzDecoder::new(body.as_slice())
        .read_to_end(&mut whole)
        .map_err(|error| DistributionError::Unreadable(format!("a packed body: {error}")))?;
    Ok(whole)
}

const PLAIN: &str = "plain";
const GZIP: &str = "gzip";
/// Below, packing saves nothing worth its name.
const PACKED_FROM_BYTES: usize = 4 * 1024;
/// What says how a body is to be read.
const KEPT_HEADERS: [&str; 3] = ["content-type", "date", "retry-after"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_body_is_packed_and_comes_back_whole() {
        let body = b"<reservation/>".repeat(1_000);
        let (encoding, packed) = pack(body.clone());
        assert_eq!(encoding, GZIP);
        assert!(packed.len() < body.len() / 10);
        assert_eq!(unpack(encoding, packed).expect("packed by us"), body);
        assert_eq!(pack(b"small".to_vec()), (PLAIN, b"small".to_vec()));
    }
}
