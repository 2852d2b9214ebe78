//! The connections: accepted, served, given up where a caller is too slow, ended in order.
//!
//! # Why
//!
//! `axum::serve` sets no timer, and without one the limit for a request's header does not count: a
//! caller who sends a byte now and then would hold his connection for ever, and enough of them hold
//! all. So the connections are driven here, in HTTP/1, which is all that is spoken.

use std::future::Future;
use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

/// Serves until `stop` resolves, then ends when every request that was begun is answered.
///
/// `header_timeout` is how long a request's header may take to arrive, the pause after the answer
/// before it included: whoever is slower is hung up on.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    header_timeout: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(header_timeout);
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            stream = accepted(&listener) => stream,
            () = &mut stop => break,
        };
        let router = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), router));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke");
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// The next caller. One who is gone already is none; where nothing can be opened any more, a pause
/// lets others close.
async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_his(error.kind()) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_his(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset
    )
}

/// After a failure of our own.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);
