//! `keyrack queue`: nights on which more is sold than can be slept in, and what is done about each.

mod list;
mod moves;
mod report;
mod resolve;
mod show;
mod work;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::desk::{self, With};

/// Arguments of `keyrack queue`.
#[derive(Debug, Args)]
pub struct QueueArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Approve what a way out costs: what was proposed, or up to an amount.
    Approve(With<work::Approve>),
    /// Say who works a case, and until when.
    Assign(With<work::Assign>),
    /// The open cases, the most urgent first.
    List(With<list::List>),
    /// Write something down in a case.
    Note(With<work::Note>),
    /// Open a case by hand, for nights that were meant to be oversold.
    Open(With<work::Open>),
    /// Propose a way out, with its cost, for a manager to approve.
    Propose(With<resolve::Propose>),
    /// Open a case again that was accepted as it was.
    Reopen(With<work::Reopen>),
    /// Cases by cause, channel, month and outcome, with what they cost.
    Report(With<report::Report>),
    /// End a case: its guests are moved and it is closed in one change, or nothing is done.
    Resolve(With<resolve::Resolve>),
    /// A case: why, who is moved first and why, and the ways out with their cost.
    Show(With<show::Show>),
}

/// Asks at the desk.
pub async fn queue(arguments: &QueueArguments) -> Result<bool> {
    let asker = match &arguments.what {
        What::Approve(With { asker, .. })
        | What::Assign(With { asker, .. })
        | What::List(With { asker, .. })
        | What::Note(With { asker, .. })
        | What::Open(With { asker, .. })
        | What::Propose(With { asker, .. })
        | What::Reopen(With { asker, .. })
        | What::Report(With { asker, .. })
        | What::Resolve(With { asker, .. })
        | What::Show(With { asker, .. }) => asker,
    };
    desk::ask(asker, "queue", async |desk| match &arguments.what {
        What::Approve(With { what, .. }) => work::approve(desk, what).await,
        What::Assign(With { what, .. }) => work::assign(desk, what).await,
        What::List(With { what, .. }) => list::list(desk, what).await,
        What::Note(With { what, .. }) => work::note(desk, what).await,
        What::Open(With { what, .. }) => work::open(desk, what).await,
        What::Propose(With { what, .. }) => resolve::propose(desk, what).await,
        What::Reopen(With { what, .. }) => work::reopen(desk, what).await,
        What::Report(With { what, .. }) => report::report(desk, what).await,
        What::Resolve(With { what, .. }) => resolve::resolve(desk, what).await,
        What::Show(With { what, .. }) => show::show(desk, what).await,
    })
    .await
}
