//! What leaves the house for people and their programs: a mail server and a receiver of webhooks,
//! on sockets of their own, that write down what comes and may take nothing for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keyrack_commands::config::Config;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A mail as it was taken.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    /// The receivers on its envelope.
    pub to: Vec<String>,
    /// Its headers and its text, the lines joined again that were broken on the way.
    pub text: String,
}

/// A mail server and a receiver of webhooks.
pub struct Post {
    /// Where the receiver is called.
    pub hook: String,
    smtp_port: u16,
    tray: Arc<Tray>,
}

#[derive(Default)]
struct Tray {
    mails: Mutex<Vec<Mail>>,
    events: Mutex<Vec<Value>>,
    is_closed: AtomicBool,
}

impl Post {
    /// Opens both.
    pub async fn open() -> Self {
        let tray = Arc::new(Tray::default());
        let (smtp, smtp_port) = listen().await;
        let (http, http_port) = listen().await;
        let kept = Arc::clone(&tray);
        tokio::spawn(async move {
            while let Ok((stream, _)) = smtp.accept().await {
                tokio::spawn(take_mail(stream, Arc::clone(&kept)));
            }
        });
        let kept = Arc::clone(&tray);
        tokio::spawn(async move {
            while let Ok((stream, _)) = http.accept().await {
                tokio::spawn(take_event(stream, Arc::clone(&kept)));
            }
        });
        Self {
            hook: format!("http://127.0.0.1:{http_port}/hook"),
            smtp_port,
            tray,
        }
    }

    /// Has a daemon send its mails here, to the desk, and call webhooks on this machine.
    pub fn address(&self, config: &mut Config) {
        let mail = &mut config.distribution.mail;
        mail.smtp_host = "127.0.0.1".to_owned();
        mail.smtp_port = self.smtp_port;
        mail.smtp_tls = false;
        mail.to = vec!["desk@linde.example".to_owned()];
        config.distribution.private_webhook_targets = true;
    }

    /// Takes nothing any more, or takes it again.
    pub fn close(&self, is_closed: bool) {
        self.tray.is_closed.store(is_closed, Ordering::Relaxed);
    }

    /// The mails that were taken and say something.
    pub fn mails(&self, says: &str) -> Vec<Mail> {
        let mails = lock(&self.tray.mails);
        let mails = mails.iter().filter(|mail| mail.text.contains(says));
        mails.cloned().collect()
    }

    /// The events of a type that were taken, in order.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let events = lock(&self.tray.events);
        let events = events.iter().filter(|event| event["type"] == name);
        events.cloned().collect()
    }
}

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

/// SMTP, as far as a client needs it (RFC 5321).
async fn take_mail(mut stream: TcpStream, tray: Arc<Tray>) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 post\r\n").await?;
    let mut mail = Mail::default();
    while let Some(line) = lines.next_line().await? {
        let answer: &[u8] = match line.to_uppercase() {
            word if word.starts_with("RCPT TO:") => {
                mail.to.push(line[8..].trim_matches(['<', '>']).to_owned());
                b"250 ok\r\n"
            }
            word if word == "DATA" && tray.is_closed.load(Ordering::Relaxed) => {
                b"451 the post is closed\r\n"
            }
            word if word == "DATA" => {
                write.write_all(b"354 go on\r\n").await?;
                let mut text = String::new();
                while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                    text.push_str(&line);
                    text.push('\n');
                }
                mail.text = text.replace("=\n", "");
                lock(&tray.mails).push(std::mem::take(&mut mail));
                b"250 ok\r\n"
            }
            word if word == "QUIT" => return write.write_all(b"221 bye\r\n").await,
            _ => b"250 ok\r\n",
        };
        write.write_all(answer).await?;
    }
    Ok(())
}

/// One call of HTTP, as a webhook makes it.
async fn take_event(mut stream: TcpStream, tray: Arc<Tray>) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).await? == 0 || line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(told) = line.strip_prefix("content-length:") {
            length = told.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    read.read_exact(&mut body).await?;
    let status = match tray.is_closed.load(Ordering::Relaxed) {
        true => "503 Service Unavailable",
        false => "200 OK",
    };
    if let Some(event) = serde_json::from_slice(&body)
        .ok()
        .filter(|_| status == "200 OK")
    {
        lock(&tray.events).push(event);
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    write.write_all(answer.as_bytes()).await
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}
