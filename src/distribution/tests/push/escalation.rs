//! A deadline that passes: one event to webhooks and one mail to those whom the policy names,
//! however many daemons look and whenever one dies.

use std::sync::{Arc, Mutex};

use keyrack_distribution::settings::{MailSettings, Settings};
use keyrack_distribution::{Distribution, feed, notice, resync, timetable, webhooks};
use keyrack_ledger::command::Forced;
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::channel::AccountSettings;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::house::{House, assemble, settings};
use crate::webhooks::{Receiver, setup};

/// A mail as it came: its receivers and its lines.
#[derive(Clone, Debug, Default)]
struct Came {
    to: Vec<String>,
    lines: Vec<String>,
}

impl Came {
    fn header(&self, name: &str) -> String {
        let mut lines = self.lines.iter();
        let line = lines.find(|line| line.starts_with(name));
        line.cloned().unwrap_or_default()
    }
}

/// A mail server that takes everything.
struct Sink {
    port: u16,
    mails: Arc<Mutex<Vec<Came>>>,
}

impl Sink {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&mails);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept)));
            }
        });
        Self { port, mails }
    }

    fn mails(&self, subject: &str) -> Vec<Came> {
        let mails = self.mails.lock().unwrap();
        let named = |mail: &&Came| mail.header("Subject:").contains(subject);
        mails.iter().filter(named).cloned().collect()
    }
}

/// SMTP, as far as a client needs it (RFC 5321).
async fn serve(mut stream: TcpStream, mails: Arc<Mutex<Vec<Came>>>) -> std::io::Result<()> {
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 sink\r\n").await?;
    let mut mail = Came::default();
    while let Some(line) = lines.next_line().await? {
        let word = line.to_uppercase();
        if let Some(to) = line.strip_prefix("RCPT TO:") {
            mail.to.push(to.to_owned());
        }
        if word == "DATA" {
            write.write_all(b"354 go on\r\n").await?;
            while let Some(line) = lines.next_line().await? {
                if line == "." {
                    break;
                }
                mail.lines.push(line);
            }
            mails.lock().unwrap().push(std::mem::take(&mut mail));
        }
        if word == "QUIT" {
            return write.write_all(b"221 bye\r\n").await;
        }
        write.write_all(b"250 ok\r\n").await?;
    }
    Ok(())
}

fn mailing(sink: &Sink) -> Settings {
    Settings {
        mail: MailSettings {
            smtp_host: "127.0.0.1".into(),
            smtp_port: sink.port,
            smtp_tls: false,
            to: vec!["desk@seehof.example".into()],
            ..MailSettings::default()
        },
        ..settings()
    }
}

/// One double too many on the night of 3 March, by force.
async fn oversold(house: &House) {
    let policy = json!({"deadline": {"at": "12:00"},
                        "escalate_to": ["boss@seehof.example", "desk@seehof.example"]});
    sqlx::query("update property set policies = jsonb_build_object('overbooking', $1::jsonb)")
        .bind(policy)
        .execute(&house.pool)
        .await
        .unwrap();
    house.book(house.double, 3, 4, 5).await;
    let force = Forced {
        reason: "a guest of the house".into(),
        allow: vec![Force::Oversell],
    };
    let double = house.double;
    house.book_by_force(double, 3, 4, 1, Some(force)).await;
}

async fn look(daemon: &Distribution) {
    feed::drain(daemon).await.unwrap();
    resync::step(daemon).await.unwrap();
    timetable::work_overbookings(daemon).await.unwrap();
    notice::mail_due(daemon).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_passes_is_told_once_by_hook_and_mail() {
    let sink = Sink::open().await;
    let house = House::with("deltas", AccountSettings::default(), mailing(&sink)).await;
    let twin = assemble(&house.ledger, &house.pool, mailing(&sink));
    let receiver = Receiver::open().await;
    let cases = [
        "overbooking.opened",
        "overbooking.escalated",
        "overbooking.resolved",
    ];
    let hook = setup(&receiver.url, &cases);
    webhooks::put(&house.distribution, "crm", hook, None)
        .await
        .unwrap()
        .unwrap();
    oversold(&house).await;
    for _ in 0..2 {
        tokio::join!(look(&house.distribution), look(&twin));
    }
    assert_eq!(sink.mails("overbooking case").len(), 1);
    assert_eq!(sink.mails("escalated").len(), 0, "there is time");
    house.pass("12 days").await;
    for _ in 0..3 {
        tokio::join!(look(&house.distribution), look(&twin));
    }
    let told = sink.mails("overbooking escalated");
    assert_eq!(told.len(), 1);
    let to = told[0].to.join(" ");
    assert!(to.contains("<boss@seehof.example>"), "{to}");
    assert_eq!(to.matches("desk@seehof.example").count(), 1, "{to}");
    assert!(told[0].header("Message-ID:").contains("@keyrack"));
    while webhooks::step(&house.distribution).await.unwrap() > 0 {}
    assert_eq!(receiver.types(), cases[..2]);
}

/// It died after it had raised the notice, and after the mail had left.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_daemon_left_half_told_is_one_notice_and_one_mail_to_the_reader() {
    let sink = Sink::open().await;
    let house = House::with("deltas", AccountSettings::default(), mailing(&sink)).await;
    oversold(&house).await;
    house.pass("12 days").await;
    look(&house.distribution).await;
    let run = |sql: &'static str| sqlx::query(sql).execute(&house.pool);
    run("update overbooking_case set escalation_told_at = null")
        .await
        .unwrap();
    look(&house.distribution).await;
    assert_eq!(sink.mails("overbooking escalated").len(), 1);
    let events = "select count(*) from ledger_entry where kind = 'overbooking_escalated'";
    assert_eq!(house.count(events).await, 1);
    run("update notice set sent_at = null, due_at = ledger_now()")
        .await
        .unwrap();
    look(&house.distribution).await;
    let ids: Vec<String> = sink
        .mails("overbooking escalated")
        .iter()
        .map(|mail| mail.header("Message-ID:"))
        .collect();
    assert!(
        ids.len() < 2 || ids[0] == ids[1],
        "the reader sees one: {ids:?}"
    );
}
