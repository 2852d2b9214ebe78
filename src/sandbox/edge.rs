//! Where messages come in: faults strike here, answers are lost here, the journal begins here.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::connect_info::Connected;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::channel::Channel;
use crate::faults::{Instead, Struck};
use crate::hotel::Applied;
use crate::journal::Message;

/// What a channel answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// An answer, and what it was given for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) answer: Answer,
    /// Whether everything in the message was taken.
    pub(crate) accepted: bool,
    pub(crate) hotel: Option<String>,
    pub(crate) applied: Vec<Applied>,
    pub(crate) refused: Vec<String>,
    pub(crate) references: Vec<String>,
    pub(crate) remark: Option<String>,
}

impl Answer {
    pub(crate) fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer {
            status,
            content_type,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }
}

impl Heard {
    /// A message of which everything was taken.
    pub(crate) fn accepted(answer: Answer) -> Heard {
        Heard {
            answer,
            accepted: true,
            ..Heard::default()
        }
    }

    /// A message of which nothing was taken, and why.
    pub(crate) fn refused(answer: Answer, why: impl Into<String>) -> Heard {
        Heard {
            answer,
            refused: vec![why.into()],
            ..Heard::default()
        }
    }
}

/// The words in which a channel speaks of failures that are none of the message's.
pub(crate) trait Tongue {
    /// The answer to a message that a fault kept from being dealt with.
    fn failure(&self, instead: Instead) -> Answer;
}

/// Lets a message through: waits as long as the faults say, deals with it by `work` unless one
/// strikes it, writes it down, and answers unless the answer is to be lost.
pub(crate) async fn hear(
    channel: &Channel,
    tongue: &impl Tongue,
    line: &Line,
    endpoint: &str,
    work: impl FnOnce(&Struck) -> Heard,
) -> Response<Body> {
    let struck = channel.strike(endpoint);
    line.wait(struck.latency_ms).await;
    while channel.holds(endpoint) && !line.closing.is_cancelled() {
        line.wait(HELD_LOOK_MS).await;
    }
    let heard = match struck.instead {
        Some(Instead::Hang { ms }) => {
            note(channel, endpoint, &struck, &Heard::default());
            line.wait(ms).await;
            line.cut();
            return respond(Answer::new(500, "text/plain", ""));
        }
        Some(instead) => Heard::refused(tongue.failure(instead), "a fault was switched on"),
        None => work(&struck),
    };
    note(channel, endpoint, &struck, &heard);
    line.wait(struck.answer_latency_ms).await;
    if struck.lose_answer {
        line.cut();
    }
    respond(heard.answer)
}

fn note(channel: &Channel, endpoint: &str, struck: &Struck, heard: &Heard) {
    let at = channel.now();
    let mut state = channel.state();
    let message = Message {
        sequence: state.log.next_sequence(),
        at,
        endpoint: endpoint.to_owned(),
        hotel: heard.hotel.clone(),
        status: heard.answer.status,
        accepted: heard.accepted,
        answer_lost: struck.lose_answer || matches!(struck.instead, Some(Instead::Hang { .. })),
        fault: struck.name(),
        applied: heard.applied.clone(),
        refused: heard.refused.clone(),
        references: heard.references.clone(),
        remark: heard.remark.clone(),
    };
    state.log.message(message);
}

/// The answer as HTTP.
pub(crate) fn respond(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = HeaderValue::from_static(answer.content_type);
    response.headers_mut().insert("content-type", content_type);
    for (name, value) in answer.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// What is held is looked at again so soon.
const HELD_LOOK_MS: u32 = 5;

/// The connection a message came on: it can be cut, so that no byte of the answer arrives.
#[derive(Clone)]
pub(crate) struct Line {
    cut: Arc<AtomicBool>,
    closing: CancellationToken,
}

impl Line {
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// Waits, but not longer than the sandbox lives.
    async fn wait(&self, ms: u32) {
        if ms > 0 {
            let sleep = tokio::time::sleep(Duration::from_millis(u64::from(ms)));
            tokio::select! {
                () = sleep => {}
                () = self.closing.cancelled() => {}
            }
        }
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Line {
        Line {
            cut: Arc::clone(&stream.io().cut),
            closing: stream.io().closing.clone(),
        }
    }
}

/// A listener whose connections can be cut by whoever answers on them.
pub(crate) struct Lines {
    pub(crate) listener: TcpListener,
    pub(crate) closing: CancellationToken,
}

impl Listener for Lines {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let wire = Wire {
            stream,
            cut: Arc::default(),
            closing: self.closing.clone(),
        };
        (wire, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection; writes nothing more once it is cut.
pub(crate) struct Wire {
    stream: TcpStream,
    cut: Arc<AtomicBool>,
    closing: CancellationToken,
}

impl Wire {
    fn unless_cut(&self) -> io::Result<()> {
        if self.cut.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.unless_cut()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_cut()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
