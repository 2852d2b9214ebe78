//! `keyrack demo`: a private Postgres, two fake channels, a hotel and a day of its life, told as it
//! happens, and the audit at its end.

pub mod audit;
pub mod calm;
pub mod client;
mod closes;
pub mod day;
pub mod hotel;
mod sabotage;
pub mod stage;
pub mod tell;

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use jiff::civil::Date;
use keyrack_distribution::seal::Seal;
use keyrack_embedded::temporary_state_dir;
use keyrack_ledger::handle::Ledger;
use keyrack_sandbox::{BookingComSettings, Chance, Faults, Sandbox, Settings as SandboxSettings};
use serde_json::Value;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::database::Database;
use crate::startup::Application;
use crate::{say, signal, telemetry};

use audit::{Audit, audit};
use client::Client;
use hotel::{ALPINEBITS, BOOKING_COM, Login, PROPERTY};
use sabotage::{Sabotage, spoil};
use stage::Stage;
use tell::Teller;

/// Arguments of `keyrack demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Leave after the audit: status 0 where it is clean, 1 where not.
    #[arg(long)]
    exit: bool,
    /// Where the dice of guests and desk begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Let the channels lag, lose answers, repeat and fail through the day.
    #[arg(long)]
    faults: bool,
    /// Spoil one thing on purpose: the audit must find it.
    #[arg(long, value_enum)]
    sabotage: Option<Sabotage>,
    /// What the daemon logs on standard error meanwhile.
    #[arg(long, default_value = "error")]
    log: String,
}

/// The least that must have been compared for an audit to mean something.
const NIGHTS_MIN: usize = 500;
const RESERVATIONS_MIN: usize = 60;

/// Runs the demo; says whether its audit is clean.
pub async fn demo(arguments: &DemoArguments) -> Result<bool> {
    let folder = temporary_state_dir("demo")?;
    let mut settings = keyrack_embedded::Settings::new(folder.clone());
    settings.durable = false;
    let mut config = Config::compiled_in()?;
    config.listen = ([127, 0, 0, 1], 0).into();
    config.log.filter.clone_from(&arguments.log);
    telemetry::log(&config.log)?;
    let key = format!("demo-{}", uuid::Uuid::new_v4().simple());
    config.secrets.bootstrap_key = key.clone().into();
    say::line(&format!("keyrack demo, seed {}", arguments.seed));
    let database = Database::keep(settings).await?;
    let pool = PgPool::connect_lazy_with(database.options());
    let seal = Seal::new(&Seal::fresh_key()).context("a seal for the demo")?;
    let application = Application::build(&config, database, seal, Box::new(String::new)).await?;
    let url = application.url();
    let ledger = application.ledger().clone();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(application.run_until_stopped(stop.clone()));
    let sandbox = Sandbox::start(channels(arguments.seed)).await?;
    let outcome = perform(arguments, &sandbox, &url, &key, &ledger, &pool).await;
    if !arguments.exit && outcome.is_ok() {
        say::line(&format!(
            "\nStill serving: the console at {url}/ (any user, password {key}), the contract at \
             {url}/docs, the fake channels at {}/_sandbox. Ctrl-C ends it.",
            sandbox.url()
        ));
        signal::stop()?.cancelled().await;
    }
    pool.close().await;
    stop.cancel();
    serving.await.context("serving")??;
    sandbox.stop().await;
    // The folder may be gone already; a rest of it is swept by the next demo.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

async fn perform(
    arguments: &DemoArguments,
    sandbox: &Sandbox,
    url: &str,
    key: &str,
    ledger: &Ledger,
    pool: &PgPool,
) -> Result<bool> {
    let stage = Stage {
        client: Client::new(url.to_owned(), key.to_owned(), PROPERTY)?,
        booking_com: sandbox.booking_com(),
        alpinebits: sandbox.alpinebits(),
        teller: Teller::new(day::STEPS),
        today: today(pool).await?,
    };
    open(&stage, sandbox).await?;
    stage.teller.heading("A day at the Seehof");
    if arguments.faults {
        stage.booking_com.set_faults(stormy());
        stage.alpinebits.set_faults(stormy());
    }
    day::live(&stage, arguments.seed).await?;
    stage.booking_com.set_faults(Faults::default());
    stage.alpinebits.set_faults(Faults::default());
    stage.teller.end();
    stage
        .teller
        .heading("The day is over; waiting until everything has been told");
    calm::calm(&stage).await?;
    if let Some(kind) = arguments.sabotage {
        spoil(kind, &stage, pool).await?;
        calm::calm(&stage).await?;
    }
    report(&stage, ledger).await
}

/// The fake channels as the demo has them.
pub fn channels(seed: u64) -> SandboxSettings {
    SandboxSettings {
        seed,
        booking_com: BookingComSettings {
            recovery: true,
            ..BookingComSettings::default()
        },
        ..SandboxSettings::default()
    }
}

/// Sets the hotel up, partly sold, and goes live on both channels.
pub async fn open(stage: &Stage, sandbox: &Sandbox) -> Result<()> {
    let teller = &stage.teller;
    hotel::open_channels(&stage.booking_com, &stage.alpinebits)?;
    hotel::set_up(&stage.client, stage.today).await?;
    teller.line("the Hotel Seehof stands: 8 singles, 14 doubles, 5 family rooms, 3 suites");
    let (user, secret) = stage.booking_com.credentials();
    let secret = secret.reveal().to_owned();
    let login = Login {
        endpoint: sandbox.url(),
        user,
        secret,
    };
    hotel::sell_before(&stage.client, &stage.booking_com, teller, stage.today).await?;
    hotel::connect(&stage.client, &BOOKING_COM, login).await?;
    let (user, secret) = stage.alpinebits.credentials();
    let secret = secret.reveal().to_owned();
    let endpoint = format!("{}/alpinebits", sandbox.url());
    hotel::connect(
        &stage.client,
        &ALPINEBITS,
        Login {
            endpoint,
            user,
            secret,
        },
    )
    .await?;
    teller.line("both channels are connected: they are polled and told nothing yet");
    for (listing, channel) in stage.listings() {
        stage::until("the earlier guests of the channels", || async {
            let waits = channel
                .journal()
                .reservations
                .iter()
                .any(|r| r.latest().is_waiting());
            Ok((!waits).then_some(()))
        })
        .await?;
        let plan = hotel::plan_go_live(&stage.client, listing).await?;
        teller.line(&format!(
            "{} would be told: {}",
            listing.account,
            in_short(&plan)
        ));
        hotel::go_live(&stage.client, listing).await?;
    }
    calm::calm(stage).await?;
    teller.line("both channels are live and show what is free");
    Ok(())
}

fn in_short(plan: &Value) -> String {
    let counts = plan["counts"].as_object().into_iter().flatten();
    let words: Vec<String> = counts
        .map(|(what, count)| format!("{count} {what}"))
        .collect();
    words.join(", ")
}

/// A day with everything that goes wrong between machines.
fn stormy() -> Faults {
    Faults {
        lost_answer: Chance::Percent(5),
        duplicate: Chance::Percent(10),
        reorder: Chance::Percent(10),
        too_many: Chance::Percent(3),
        retry_after_seconds: Some(1),
        server_error: Chance::Percent(5),
        ..Faults::default()
    }
}

async fn report(stage: &Stage, ledger: &Ledger) -> Result<bool> {
    let audit = audit(stage, Some(ledger)).await?;
    let teller = &stage.teller;
    teller.heading("The audit");
    teller.line(&format!(
        "{} nights replayed from the ledger; {} nights of channels compared with it; {} \
         reservations of the channels' journals looked up; {} closes watched",
        audit.proven, audit.nights, audit.reservations, audit.closes
    ));
    for (listing, _) in stage.listings() {
        let account = stage
            .client
            .get(&format!("accounts/{}", listing.account))
            .await?;
        for (what, lag) in [
            ("changes", &account["lag"]),
            ("of these that lower or close", &account["lag_lowering"]),
        ] {
            teller.line(&format!(
                "{}: from a change here to the channel's acknowledgement, {} {what}: half within \
                 {} ms, 95 of 100 within {} ms, 99 within {} ms",
                listing.account, lag["count"], lag["p50_ms"], lag["p95_ms"], lag["p99_ms"]
            ));
        }
    }
    for finding in audit.findings.iter().take(20) {
        teller.line(&format!("WRONG  {finding}"));
    }
    Ok(verdict(teller, &audit))
}

fn verdict(teller: &Teller, audit: &Audit) -> bool {
    let enough = audit.nights >= NIGHTS_MIN && audit.reservations >= RESERVATIONS_MIN;
    if !enough {
        teller.line(&format!(
            "WRONG  too little was compared: at least {NIGHTS_MIN} nights and {RESERVATIONS_MIN} \
             reservations are needed"
        ));
    }
    let clean = audit.is_clean() && enough;
    teller.line(if clean {
        "clean: nothing disagrees"
    } else {
        "NOT clean"
    });
    clean
}

/// The hotel's business day by the database's clock, since everybody here lives by it.
pub async fn today(pool: &PgPool) -> Result<Date> {
    for _ in 0..100 {
        let read = sqlx::query_scalar::<_, jiff_sqlx::Date>(
            "select ((ledger_now() at time zone 'Europe/Rome') - interval '4 hours')::date",
        )
        .fetch_one(pool)
        .await;
        if let Ok(today) = read {
            return Ok(today.to_jiff());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    anyhow::bail!("the demo's database does not answer")
}
