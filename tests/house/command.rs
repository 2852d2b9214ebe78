//! The program on its command line, as an operator, an integrator or a script calls it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// What a call of the program said.
pub struct Called {
    /// Its exit status.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Called {
    /// The output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("JSON")
    }
}

/// Calls the program with an environment of its own.
pub async fn keyrack(arguments: &[&str], environment: &[(&str, &str)]) -> Called {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyrack"));
    command.args(arguments).env_remove("DATABASE_URL");
    command.envs(environment.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap();
    let Output {
        status,
        stdout,
        stderr,
    } = output.expect("the program runs");
    Called {
        status: status.code().expect("it was not killed"),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// A file for one story, removed with it.
pub struct Paper(PathBuf);

impl Paper {
    /// Writes it.
    pub fn of(name: &str, text: &str) -> Self {
        let name = format!("keyrack-story-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Self(path)
    }

    /// Where it lies.
    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    folder.join(name).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn inspect_shows_the_good_beside_the_bad_and_fails_only_where_nothing_can_be_read() {
    let file = fixture("booking_com/fixtures/new-one-of-two-broken.in.xml");
    let broken = keyrack(&["inspect", "booking_com", &file], &[]).await;
    assert_eq!(broken.status, 0, "{}", broken.err);
    let said = broken.json();
    assert_eq!(said["reservations"].as_array().unwrap().len(), 1);
    assert_eq!(said["faults"].as_array().unwrap().len(), 1);
    for key in ["at", "why", "raw"] {
        assert!(said["faults"][0][key].is_string(), "{said:#}");
    }
    assert!(said["ari"].as_array().unwrap().is_empty());

    let nonsense = Paper::of("nonsense.xml", "<<<");
    let unread = keyrack(&["inspect", "booking_com", nonsense.path()], &[]).await;
    assert_eq!(unread.status, 1);
    assert_eq!(unread.json()["faults"].as_array().unwrap().len(), 1);
    let unknown = keyrack(&["inspect", "carrier_pigeon", &file], &[]).await;
    assert_eq!(unknown.status, 1);
    assert!(
        unknown.err.contains("booking_com"),
        "it names those that it knows: {}",
        unknown.err
    );
}

#[tokio::test]
async fn inspect_tells_the_nights_that_each_state_takes_and_frees() {
    let new = fixture("booking_com/fixtures/new-two-rooms.in.xml");
    let later = fixture("booking_com/fixtures/modified-and-cancelled.in.xml");
    let called = keyrack(&["inspect", "booking_com", &new, &later], &[]).await;
    let states = called.json();
    assert_eq!(states[0]["changes"][0]["change"], "added");
    let freed = &states[1]["changes"][0]["freed"];
    assert!(!freed.as_array().unwrap().is_empty(), "{states:#}");
    assert!(states[1]["changes"].to_string().contains("cancelled"));
}

#[tokio::test]
async fn the_fake_channel_says_what_it_would_answer() {
    let nonsense = Paper::of("check.xml", "<nonsense/>");
    let arguments = ["sandbox", "check", "alpinebits", nonsense.path()];
    let called = keyrack(&arguments, &[]).await;
    assert_eq!(called.status, 0, "{}", called.err);
    let said = called.json();
    assert_eq!(said["verdict"], "reject");
    assert!(said["status"].is_number() && said["reason"].is_string() && said["body"].is_string());
}

#[tokio::test]
async fn the_contract_prints_itself() {
    let called = keyrack(&["openapi"], &[]).await;
    assert!(called.json()["paths"]["/v1/properties/{property}"].is_object());
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_its_password() {
    let url = "postgres://desk:open-sesame@127.0.0.1:1/nowhere";
    for command in ["verify", "doctor", "serve"] {
        let called = keyrack(&[command], &[("DATABASE_URL", url)]).await;
        assert_eq!(called.status, 1, "{command}");
        let said = format!("{}{}", called.out, called.err);
        assert!(said.contains("nowhere at 127.0.0.1:1"), "{command}: {said}");
        assert!(!said.contains("open-sesame"), "{command}: {said}");
    }
}

#[tokio::test]
async fn an_unknown_key_of_the_configuration_is_refused_by_name() {
    let file = Paper::of("config.toml", "[ledger]\nlanes = 3\n");
    let called = keyrack(&["verify", "--config", file.path()], &[]).await;
    assert_eq!(called.status, 1);
    assert!(called.err.contains("ledger.lanes"), "{}", called.err);
}

#[tokio::test]
async fn who_only_looks_makes_no_database() {
    let folder = std::env::temp_dir().join(format!("keyrack-nowhere-{}", std::process::id()));
    let data_dir = folder.to_str().unwrap();
    let sold = Paper::of("sold.csv", "account,reference\n");
    for command in [
        &["verify"][..],
        &["doctor"],
        &["key", "list"],
        &["key", "revoke", "1"],
        &["key", "create", "--role", "admin"],
        &["pools", "show"],
        &["queue", "list"],
    ] {
        let called = keyrack(&[command, &["--data-dir", data_dir]].concat(), &[]).await;
        let said = format!("{}{}", called.out, called.err);
        assert_eq!(called.status, 1, "{command:?}: {said}");
        let why = format!("there is no database in {data_dir}");
        assert!(said.contains(&why), "{command:?}: {said}");
        assert!(!folder.exists(), "{command:?} made it");
    }
    let import = ["import", sold.path(), "--data-dir", data_dir];
    assert_eq!(keyrack(&import, &[]).await.status, 1);
    assert!(!folder.exists(), "import made it");
}
