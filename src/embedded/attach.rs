//! Looks for a private server that another keyrack runs, and touches nothing.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;

use crate::error::EmbeddedError;
use crate::keeper::pid_file;
use crate::server::{blocking, options};
use crate::settings::Settings;
use crate::state::State;

/// How to connect to the private server of a running keyrack; `None` when nobody runs it.
///
/// While the other keyrack is still starting its server, it is waited for. The options name the
/// maintenance database; set the one that is wanted.
pub async fn attach(settings: &Settings) -> Result<Option<PgConnectOptions>, EmbeddedError> {
    let state = State::at(&settings.state_dir)?;
    blocking(move || look(&state)).await
}

/// Whether a cluster was ever made there. Looks and touches nothing; where it may not look, the
/// answer is yes.
pub fn is_made(settings: &Settings) -> Result<bool, EmbeddedError> {
    let state = State::at(&settings.state_dir)?;
    Ok(state.data.try_exists().unwrap_or(true))
}

fn look(state: &State) -> Result<Option<PgConnectOptions>, EmbeddedError> {
    let started = Instant::now();
    loop {
        if !state.is_held()? {
            return Ok(None);
        }
        if let Some(file) = pid_file(&state.data).filter(|file| file.ready) {
            let socket = PathBuf::from(file.socket);
            return Ok(Some(options(&socket, &state.read_password()?)));
        }
        if started.elapsed() > READY_LIMIT {
            let what = "the PostgreSQL of the other keyrack is not ready";
            return Err(EmbeddedError::failed(what, None, &state.log));
        }
        std::thread::sleep(POLL);
    }
}

const READY_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
