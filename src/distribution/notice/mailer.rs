//! How mails leave: by SMTP, into a folder, or not at all.

use std::path::PathBuf;

use lettre::message::Mailbox;
use lettre::message::header::ContentType;
use lettre::transport::smtp::authentication::Credentials;
use lettre::{AsyncFileTransport, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::ExposeSecret;

use crate::error::DistributionError;
use crate::settings::MailSettings;

/// Sends plain mails to the staff.
pub(crate) struct Mailer {
    way: Way,
    from: Option<Mailbox>,
    to: Vec<Mailbox>,
}

/// A mail.
pub(crate) struct Mail<'a> {
    pub(crate) subject: &'a str,
    pub(crate) body: String,
    /// The same whenever it is sent: who gets it twice, since we died before we knew that it had
    /// left, sees one.
    pub(crate) id: String,
    /// Receivers beside those whom the settings name.
    pub(crate) also_to: &'a [String],
}

enum Way {
    Off,
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    Folder(PathBuf),
}

impl Mailer {
    /// The way that the settings say.
    pub(crate) fn new(settings: &MailSettings) -> Result<Self, DistributionError> {
        let way = match (settings.smtp_host.as_str(), settings.folder.as_str()) {
            ("", "") => return Ok(Self::off()),
            ("", folder) => Way::Folder(PathBuf::from(folder)),
            (host, _) => Way::Smtp(smtp(settings, host)?),
        };
        let to: Result<Vec<Mailbox>, _> = settings.to.iter().map(|text| mailbox(text)).collect();
        let to = to?;
        if to.is_empty() {
            let why = "mail.to names nobody, though mails have a way to leave".to_owned();
            return Err(DistributionError::Settings(why));
        }
        Ok(Self {
            way,
            from: Some(mailbox(&settings.from)?),
            to,
        })
    }

    fn off() -> Self {
        Self {
            way: Way::Off,
            from: None,
            to: Vec::new(),
        }
    }

    /// Whether mails leave at all.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self.way, Way::Off)
    }

    /// Sends one mail to all receivers.
    pub(crate) async fn send(&self, mail: Mail<'_>) -> Result<(), DistributionError> {
        let failed = |error: &dyn std::fmt::Display| DistributionError::Mail(error.to_string());
        let mut builder = Message::builder()
            .subject(mail.subject)
            .message_id(Some(format!("<{}@keyrack>", mail.id)))
            .header(ContentType::TEXT_PLAIN);
        for sender in self.from.iter().cloned() {
            builder = builder.from(sender);
        }
        let mut receivers = self.to.clone();
        for text in mail.also_to {
            match mailbox(text) {
                Ok(receiver) if receivers.iter().all(|known| known.email != receiver.email) => {
                    receivers.push(receiver);
                }
                Ok(_) => {}
                Err(_) => tracing::warn!("a policy names a mail address that is none"),
            }
        }
        for receiver in receivers {
            builder = builder.to(receiver);
        }
        let mail = builder.body(mail.body).map_err(|error| failed(&error))?;
        match &self.way {
            Way::Off => Ok(()),
            Way::Smtp(relay) => relay
                .send(mail)
                .await
                .map(drop)
                .map_err(|error| failed(&error)),
            Way::Folder(folder) => {
                let made = tokio::fs::create_dir_all(folder).await;
                made.map_err(|error| failed(&error))?;
                let sink = AsyncFileTransport::<Tokio1Executor>::new(folder);
                let sent = sink.send(mail).await;
                sent.map(drop).map_err(|error| failed(&error))
            }
        }
    }
}

fn smtp(
    settings: &MailSettings,
    host: &str,
) -> Result<AsyncSmtpTransport<Tokio1Executor>, DistributionError> {
    if !settings.smtp_tls {
        if !settings.smtp_user.is_empty() {
            let why = "mail.smtp_user: a password is not sent in the clear; set mail.smtp_tls";
            return Err(DistributionError::Settings(why.to_owned()));
        }
        let plain = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host);
        return Ok(plain.port(settings.smtp_port).build());
    }
    let relay = if settings.smtp_port == TLS_AT_ONCE_PORT {
        AsyncSmtpTransport::<Tokio1Executor>::relay(host)
    } else {
        AsyncSmtpTransport::<Tokio1Executor>::starttls_relay(host)
    };
    let mut relay = relay
        .map_err(|error| DistributionError::Settings(format!("mail.smtp_host: {error}")))?
        .port(settings.smtp_port);
    if !settings.smtp_user.is_empty() {
        let password = settings.smtp_password.expose_secret().to_owned();
        relay = relay.credentials(Credentials::new(settings.smtp_user.clone(), password));
    }
    Ok(relay.build())
}

fn mailbox(text: &str) -> Result<Mailbox, DistributionError> {
    text.parse()
        .map_err(|error| DistributionError::Settings(format!("the mail address {text}: {error}")))
}

const TLS_AT_ONCE_PORT: u16 = 465;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_host_and_folder_no_mail_leaves() {
        let mailer = Mailer::new(&MailSettings::default()).expect("nothing to configure");
        assert!(!mailer.is_on());
    }

    #[test]
    fn a_password_is_not_sent_in_the_clear() {
        let settings = MailSettings {
            smtp_host: "localhost".into(),
            smtp_tls: false,
            smtp_user: "desk".into(),
            to: vec!["desk@seehof.example".into()],
            ..MailSettings::default()
        };
        assert!(Mailer::new(&settings).is_err());
    }

    #[test]
    fn a_way_without_a_receiver_is_refused() {
        let settings = MailSettings {
            folder: "/tmp/nowhere".into(),
            ..MailSettings::default()
        };
        assert!(Mailer::new(&settings).is_err());
    }
}
