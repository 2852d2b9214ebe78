//! Who asks: connections that stay open, with as little work between two questions as there can
//! be, so that the servers are measured and not their guest.

use std::net::SocketAddr;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use keyrack_model::stay::plus_days;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use uuid::Uuid;

use super::super::contender::{Ask, Contender, NIGHTS, Said, Taken};
use super::super::ground::FIRST;

/// A server as its callers see it.
pub struct Client {
    table: &'static str,
    address: SocketAddr,
    key: String,
    /// Connections that nobody uses at the moment.
    idle: Mutex<Vec<Connection>>,
}

impl Client {
    /// Connects when it is asked; so many connections as callers.
    pub fn open(table: &'static str, address: SocketAddr, key: String) -> Self {
        Self {
            table,
            address,
            key,
            idle: Mutex::default(),
        }
    }

    async fn held(&self, ask: Ask) -> Result<Option<Taken>> {
        let idle = self.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.address).await?,
        };
        let answer = connection.ask(&self.question(ask)).await?;
        ensure!(answer.status == 201, "{answer:?}");
        self.lock().push(connection);
        Ok(Some(Taken {
            ask,
            id: Uuid::nil(),
            version: 1,
            is_confirmed: false,
        }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn question(&self, ask: Ask) -> String {
        let arrival = plus_days(FIRST, ask.from);
        let departure = plus_days(arrival, NIGHTS);
        let body = format!(
            "{{\"status\":\"held\",\"source\":\"web\",\"rooms\":[{{\"room_type\":\"type-{}\",\
             \"arrival\":\"{arrival}\",\"departure\":\"{departure}\",\"adults\":2}}],\
             \"guest\":{{\"name\":\"Ada Example\"}}}}",
            ask.room_type + 1
        );
        format!(
            "POST /v1/properties/hotel-{}/reservations HTTP/1.1\r\nhost: localhost\r\n\
             authorization: Bearer {}\r\nidempotency-key: {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            ask.property + 1,
            self.key,
            Uuid::now_v7(),
            body.len()
        )
    }
}

impl Contender for Client {
    fn name(&self) -> &'static str {
        match self.table {
            "reservation" => "keyrack",
            _ => "plain",
        }
    }

    fn table(&self) -> &'static str {
        self.table
    }

    fn hold(&self, ask: Ask) -> Said<'_, Option<Taken>> {
        Box::pin(self.held(ask))
    }
}

/// One connection of HTTP/1.1.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    #[expect(dead_code, reason = "shown where the answer is not the expected one")]
    text: String,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("connecting")?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            read: Vec::with_capacity(4096),
        })
    }

    async fn ask(&mut self, question: &str) -> Result<Answer> {
        self.stream.write_all(question.as_bytes()).await?;
        self.read.clear();
        loop {
            let length = self.stream.read_buf(&mut self.read).await?;
            ensure!(length > 0, "the server hung up");
            if let Some(answer) = self.whole()? {
                return Ok(answer);
            }
        }
    }

    /// The answer, where all of it is there.
    fn whole(&self) -> Result<Option<Answer>> {
        let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = std::str::from_utf8(&self.read[..end])?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let status: u16 = status.context("a status")?.parse()?;
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>())
        });
        let Some(length) = length else {
            bail!("an answer without its length: {head}");
        };
        let text = &self.read[end + 4..];
        if text.len() < length? {
            return Ok(None);
        }
        // What is as expected is not looked at any more.
        let text = match status {
            201 => String::new(),
            _ => String::from_utf8_lossy(text).into_owned(),
        };
        Ok(Some(Answer { status, text }))
    }
}
