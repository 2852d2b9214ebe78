//! The floor's own settings: `[distribution]` of the configuration.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// `[distribution]` of the configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Connections of the pool for this floor's own tables.
    pub database_connections: u32,
    /// Bytes of an answer or a delivery that are read at most; what is longer is cut off.
    pub reply_bytes_max: usize,
    /// Milliseconds to wait for a connection to a channel.
    pub connect_timeout_ms: u32,
    /// Seconds that the end waits for exchanges in flight.
    pub stop_seconds: u32,
    /// Reports of one message that are recorded side by side at most.
    pub intake_parallel_max: usize,
    /// Polls that run side by side at most.
    pub polls_parallel_max: usize,
    /// Exchanges of one poll at most, so that a channel that always has more cannot hold it.
    pub poll_rounds_max: u32,
    /// Seconds without a complete poll after which an account is failing.
    pub poll_failing_seconds: u32,
    /// Seconds after which a recorded message that was not acknowledged alarms.
    pub unacknowledged_seconds: u32,
    /// Days that raw messages are kept.
    pub message_retention_days: u32,
    /// Hours that idempotency keys are kept; at least 24.
    pub idempotency_key_hours: u32,
    /// Days after which ended reservations leave the hot tables; 0 is never.
    pub archive_after_days: u32,
    /// Seconds between two verifications of the ledger; 0 is never.
    pub verify_seconds: u32,
    /// Milliseconds between two looks of the feed at the ledger's tail.
    pub feed_poll_ms: u32,
    /// Entries that the feed reads at once at most.
    pub feed_entries_max: u32,
    /// Seconds that a transaction may write before it alarms: what is newer is not told.
    pub oldest_writer_alarm_seconds: u32,
    /// Accounts that are pushed to side by side at most.
    pub pushes_parallel_max: usize,
    /// Of these, accounts of one connection at most, so that one quota holds up nobody else.
    pub pushes_per_connection_max: usize,
    /// Milliseconds from the end of an account's turn to its next at least: what changes meanwhile
    /// is told together. A change of an account that was told nothing lately goes at once; 0 leaves
    /// no pause.
    pub push_spacing_ms: u32,
    /// Marks that are looked at at once at most.
    pub push_marks_max: u32,
    /// Seconds that a turn lasts unless it is lengthened; a dead daemon's turns are free after it.
    pub push_lease_seconds: u32,
    /// Failures in a row after which an account is failing.
    pub push_failures_max: u32,
    /// Seconds after which what went out without an answer, and was repeated, is repeated once
    /// more: the lost message may have arrived late.
    pub push_echo_seconds: u32,
    /// Seconds between two looks for resyncs, removals and evidence.
    pub resync_poll_seconds: u32,
    /// Days after a night that what was told of it is kept.
    pub told_retention_days: u32,
    /// Days that the list of messages to channels and of webhook deliveries is kept.
    pub attempt_retention_days: u32,
    /// Webhook deliveries that run side by side at most.
    pub webhooks_parallel_max: u32,
    /// Seconds to wait for a webhook's answer.
    pub webhook_timeout_seconds: u32,
    /// Tries of a webhook delivery at most.
    pub webhook_attempts_max: u32,
    /// Webhooks may call private, loopback and link-local addresses.
    pub private_webhook_targets: bool,
    /// Mails to the hotel's staff.
    pub mail: MailSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            database_connections: 10,
            reply_bytes_max: 20_000_000,
            connect_timeout_ms: 10_000,
            stop_seconds: 12,
            intake_parallel_max: 8,
            polls_parallel_max: 32,
            poll_rounds_max: 200,
            poll_failing_seconds: 600,
            unacknowledged_seconds: 600,
            message_retention_days: 90,
            idempotency_key_hours: 48,
            archive_after_days: 90,
            verify_seconds: 3_600,
            feed_poll_ms: 50,
            feed_entries_max: 1_000,
            oldest_writer_alarm_seconds: 60,
            pushes_parallel_max: 32,
            pushes_per_connection_max: 4,
            push_spacing_ms: 100,
            push_marks_max: 5_000,
            push_lease_seconds: 15,
            push_failures_max: 3,
            push_echo_seconds: 60,
            resync_poll_seconds: 5,
            told_retention_days: 400,
            attempt_retention_days: 30,
            webhooks_parallel_max: 16,
            webhook_timeout_seconds: 15,
            webhook_attempts_max: 500,
            private_webhook_targets: false,
            mail: MailSettings::default(),
        }
    }
}

/// `[distribution.mail]`: where mails leave. With neither host nor folder there are none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailSettings {
    /// SMTP server; empty is none.
    pub smtp_host: String,
    /// Its port: 465 speaks TLS at once, any other by STARTTLS.
    pub smtp_port: u16,
    /// Without it mails leave in the clear, and no account is named: for a relay on this machine.
    pub smtp_tls: bool,
    /// Its account; empty is none.
    pub smtp_user: String,
    /// Its password.
    #[serde(serialize_with = "hidden")]
    pub smtp_password: SecretString,
    /// Folder into which mails are written instead; empty is none.
    pub folder: String,
    /// Sender.
    pub from: String,
    /// Receivers.
    pub to: Vec<String>,
}

impl Default for MailSettings {
    fn default() -> Self {
        Self {
            smtp_host: String::new(),
            smtp_port: 587,
            smtp_tls: true,
            smtp_user: String::new(),
            smtp_password: SecretString::default(),
            folder: String::new(),
            from: "keyrack@localhost".into(),
            to: Vec::new(),
        }
    }
}

/// A secret is never written back: only whether it is there.
fn hidden<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    let is_empty = secret.expose_secret().is_empty();
    serializer.serialize_str(if is_empty { "" } else { "***" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let mut settings = Settings::default();
        settings.mail.smtp_password = SecretString::from("s3cret-of-the-desk");
        let shown = serde_json::to_string(&settings).expect("plain values");
        assert!(!shown.contains("s3cret") && !format!("{settings:?}").contains("s3cret"));
    }
}
