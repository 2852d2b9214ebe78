//! The whole configuration: joins the floors' own settings and refuses what nobody knows.
//!
//! Order: compiled-in `config/default.toml`, then a file, then `KEYRACK__SECTION__KEY` of the
//! environment. Beside these only `DATABASE_URL` and `KEYRACK_BOOTSTRAP_KEY` are read.

mod layers;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use keyrack_api::settings::Settings as ApiSettings;
use keyrack_distribution::settings::Settings as DistributionSettings;
use keyrack_ledger::settings::Settings as LedgerSettings;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use toml::Table;

use layers::Environment;

/// Everything that an operator can set. `Debug` shows no secret.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port of the daemon; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Folder of the private PostgreSQL and the seal key; empty is the default place.
    pub data_dir: PathBuf,
    /// Folder of PostgreSQL's programs; empty looks for them.
    pub postgres_bin: PathBuf,
    /// A PostgreSQL of the operator's own.
    pub database: DatabaseConfig,
    /// Keys.
    pub secrets: SecretsConfig,
    /// What is logged, and how.
    pub log: LogConfig,
    /// The ledger's own.
    pub ledger: LedgerSettings,
    /// The engine's own.
    pub distribution: DistributionSettings,
    /// The contract's own.
    pub api: ApiSettings,
}

/// `[database]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseConfig {
    /// `postgres://…`; empty is a private one.
    pub url: SecretString,
}

/// `[secrets]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretsConfig {
    /// Seals secrets at rest; empty takes the file in the data folder.
    pub seal_key: SecretString,
    /// A first admin key; empty is none.
    pub bootstrap_key: SecretString,
}

/// `[log]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Directives of `tracing`.
    pub filter: String,
    /// For whom.
    pub format: LogFormat,
}

/// For whom the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For a person at a terminal.
    Human,
    /// One object a line.
    Json,
}

impl Config {
    /// Reads file and environment of this process over the compiled-in defaults.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        // What is not UTF-8 is none of ours.
        let pairs = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::of(file, &pairs.collect())
    }

    /// The compiled-in defaults, whatever the environment says.
    pub fn compiled_in() -> Result<Self> {
        Self::of(None, &Environment::new())
    }

    fn of(file: Option<&Path>, environment: &Environment) -> Result<Self> {
        let manual = layers::read(MANUAL, "config/default.toml")?;
        let mut overlays = Vec::new();
        if let Some(path) = file {
            let from = path.display().to_string();
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {from}"))?;
            overlays.push((layers::read(&text, &from)?, from));
        }
        let named = "the environment".to_owned();
        overlays.push((aliases(environment), named.clone()));
        overlays.push((layers::of_environment(&manual, environment, PREFIX)?, named));
        let mut whole = manual.clone();
        for (over, from) in &overlays {
            layers::lay(&mut whole, over.clone(), from, environment)?;
        }
        Self::deserialize(whole)
            .map_err(|error| culprit(&manual, &overlays, environment).unwrap_or(error.into()))
    }

    /// The data folder: the given one, or the default place.
    pub fn data_folder(&self) -> PathBuf {
        if !self.data_dir.as_os_str().is_empty() {
            return self.data_dir.clone();
        }
        let state = keyrack_embedded::default_state_dir(None);
        state.parent().map_or(state.clone(), Path::to_path_buf)
    }

    /// The given database's address, where there is one.
    pub fn database_url(&self) -> Option<&SecretString> {
        given(&self.database.url)
    }

    /// The first admin key, where there is one.
    pub fn bootstrap_key(&self) -> Option<&SecretString> {
        given(&self.secrets.bootstrap_key)
    }

    /// What is legal and unwise together, in sentences.
    pub fn unwise(&self) -> Vec<String> {
        let mail = &self.distribution.mail;
        let mut found = Vec::new();
        if mail.smtp_host.is_empty() && mail.folder.is_empty() {
            found.push(
                "no mail is set up: nobody is told when a person must act; set \
                 distribution.mail.smtp_host and distribution.mail.to"
                    .to_owned(),
            );
        } else if mail.to.is_empty() {
            found.push("distribution.mail.to is empty: mails have no receiver".to_owned());
        }
        if !self.listen.ip().is_loopback() {
            found.push(format!(
                "listening on {} without TLS: keys and guests' data are readable on the way; \
                 put a proxy with TLS before it and listen on 127.0.0.1",
                self.listen
            ));
        }
        if self.distribution.stop_seconds > STOP_SECONDS_WISE {
            found.push(format!(
                "distribution.stop_seconds is {}, but the daemon ends within 15 s of a signal",
                self.distribution.stop_seconds
            ));
        }
        if self.distribution.private_webhook_targets {
            found.push(
                "distribution.private_webhook_targets is on: whoever may set a webhook can reach \
                 machines inside your network"
                    .to_owned(),
            );
        }
        if self.distribution.verify_seconds == 0 {
            found.push(
                "distribution.verify_seconds is 0: nobody verifies the ledger but `keyrack \
                 verify`"
                    .to_owned(),
            );
        }
        found
    }
}

/// The two variables that have names of their own.
fn aliases(environment: &Environment) -> Table {
    let mut table = Table::new();
    for (variable, section, key) in [
        ("DATABASE_URL", "database", "url"),
        ("KEYRACK_BOOTSTRAP_KEY", "secrets", "bootstrap_key"),
    ] {
        if let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) {
            let below = Table::from_iter([(key.to_owned(), value.clone().into())]);
            table.insert(section.to_owned(), below.into());
        }
    }
    table
}

/// Which single key makes the whole unusable: the floors say what is wrong, but not where.
fn culprit(
    manual: &Table,
    overlays: &[(Table, String)],
    environment: &Environment,
) -> Option<anyhow::Error> {
    overlays.iter().find_map(|(over, from)| {
        single_keys(over).into_iter().find_map(|(name, alone)| {
            let mut tried = manual.clone();
            layers::lay(&mut tried, alone, from, environment).ok()?;
            let error = Config::deserialize(tried).err()?;
            Some(anyhow::anyhow!(
                "{from}: {name} cannot be used: {}",
                error.message()
            ))
        })
    })
}

/// Every key of a table in a table of its own, with its full name.
fn single_keys(table: &Table) -> Vec<(String, Table)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let alone = |value: toml::Value| Table::from_iter([(key.clone(), value)]);
        match value {
            toml::Value::Table(below) => found.extend(
                single_keys(below)
                    .into_iter()
                    .map(|(name, below)| (format!("{key}.{name}"), alone(below.into()))),
            ),
            value => found.push((key.clone(), alone(value.clone()))),
        }
    }
    found
}

fn given(secret: &SecretString) -> Option<&SecretString> {
    (!secret.expose_secret().is_empty()).then_some(secret)
}

const MANUAL: &str = include_str!("../../config/default.toml");
const PREFIX: &str = "KEYRACK__";
/// Leaves three seconds of the fifteen to everything else.
const STOP_SECONDS_WISE: u32 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn load(file: &str, environment: &[(&str, &str)]) -> Result<Config> {
        // Tests run side by side, and equal texts may lie in one place.
        let name = format!("keyrack-config-{}.toml", uuid::Uuid::new_v4());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, file).unwrap();
        let environment = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let config = Config::of(Some(&path), &environment);
        fs::remove_file(path).unwrap();
        config
    }

    fn refused(file: &str, environment: &[(&str, &str)]) -> String {
        format!("{:#}", load(file, environment).expect_err("refused"))
    }

    #[test]
    fn the_manual_says_what_the_floors_do_by_themselves() {
        let manual = layers::read(MANUAL, "the manual").unwrap();
        let of = |floor: &str| manual[floor].clone();
        let floor = |settings: &dyn erased::Settings| settings.to_table();
        assert_eq!(of("ledger"), floor(&LedgerSettings::default()));
        assert_eq!(of("distribution"), floor(&DistributionSettings::default()));
        assert_eq!(of("api"), floor(&ApiSettings::default()));
    }

    mod erased {
        /// Any settings, as the table that they would be read from.
        pub trait Settings {
            fn to_table(&self) -> toml::Value;
        }

        impl<T: serde::Serialize> Settings for T {
            fn to_table(&self) -> toml::Value {
                toml::Value::try_from(self).unwrap()
            }
        }
    }

    #[test]
    fn a_file_wins_over_the_manual_and_the_environment_over_both() {
        let file = "listen = \"127.0.0.1:1\"\n[ledger]\nsweep_seconds = 7\nread_connections = 3\n";
        let environment = [
            ("KEYRACK__LEDGER__SWEEP_SECONDS", "9"),
            (
                "KEYRACK__DISTRIBUTION__MAIL__TO",
                "a@example.com, b@example.com",
            ),
            ("KEYRACK__DISTRIBUTION__PRIVATE_WEBHOOK_TARGETS", "true"),
            ("HOME", "/nowhere"),
        ];
        let config = load(file, &environment).unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.ledger.sweep_seconds, 9);
        assert_eq!(config.ledger.read_connections, 3);
        assert_eq!(config.ledger.batch_connections, 2);
        assert_eq!(
            config.distribution.mail.to,
            ["a@example.com", "b@example.com"]
        );
        assert!(config.distribution.private_webhook_targets);
    }

    #[test]
    fn an_unknown_key_is_refused_by_its_name() {
        let file = refused("[ledger]\nlanes = 2\n", &[]);
        assert!(file.contains("there is no key ledger.lanes"), "{file}");
        let variable = refused("", &[("KEYRACK__LEDGER__LANES", "2")]);
        let named = "KEYRACK__LEDGER__LANES, which is ledger.lanes: there is no such key";
        assert!(variable.contains(named), "{variable}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused_with_its_place() {
        let kind = refused("[ledger]\nsweep_seconds = \"5\"\n", &[]);
        assert!(
            kind.contains("ledger.sweep_seconds is a whole number, not text"),
            "{kind}"
        );
        let negative = refused("[ledger]\nsweep_seconds = -5\n", &[]);
        assert!(
            negative.contains("ledger.sweep_seconds cannot be used"),
            "{negative}"
        );
        let address = refused("", &[("KEYRACK__LISTEN", "everywhere")]);
        assert!(
            address.contains("the environment: listen cannot be used"),
            "{address}"
        );
    }

    #[test]
    fn a_secret_comes_by_reference_and_is_never_shown() {
        let path = std::env::temp_dir().join(format!("keyrack-secret-{}", std::process::id()));
        fs::write(&path, "by-file\n").unwrap();
        let file = "[secrets]\nseal_key = { env = \"MINE\" }\n";
        let by_file = (
            "KEYRACK__DISTRIBUTION__MAIL__SMTP_PASSWORD__FILE",
            path.to_str().unwrap(),
        );
        let url = ("DATABASE_URL", "postgres://u:by-url@h/d");
        let config = load(file, &[("MINE", "by-env"), by_file, url]).unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(config.secrets.seal_key.expose_secret(), "by-env");
        assert_eq!(
            config.distribution.mail.smtp_password.expose_secret(),
            "by-file"
        );
        assert_eq!(config.database_url().unwrap().expose_secret(), url.1);
        let shown = format!("{config:?}");
        assert!(!shown.contains("by-"), "{shown}");
        let missing = refused(file, &[]);
        assert!(missing.contains("secrets.seal_key"), "{missing}");
        let broken = refused("[secrets]\nseal_key = s3cret!\n", &[]);
        assert!(
            broken.contains("line 2") && !broken.contains("s3cret"),
            "{broken}"
        );
    }

    #[test]
    fn the_files_of_the_desk_and_of_production_hold_known_keys_only() {
        let desk = include_str!("../../config/development.toml");
        load(desk, &[]).unwrap();
        let mut production = include_str!("../../config/production.example.toml").to_owned();
        let place = std::env::temp_dir().join(format!("keyrack-any-{}", std::process::id()));
        fs::write(&place, "x").unwrap();
        for secret in ["database-url", "seal-key", "smtp-password"] {
            let named = format!("/run/secrets/keyrack-{secret}");
            production = production.replace(&named, place.to_str().unwrap());
        }
        load(&production, &[]).unwrap();
        fs::remove_file(place).unwrap();
    }
}
