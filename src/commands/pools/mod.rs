//! `keyrack pools`: what is kept for whom, which rules switch it, and why a number is told.

mod agree;
mod explain;
mod release;
mod rules;
mod show;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::desk::{self, With};

/// Arguments of `keyrack pools`.
#[derive(Debug, Args)]
pub struct PoolsArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Agree rooms for an account or a group: they leave free sale at once. Status 1 also where a
    /// dry run finds what would have to be forced.
    Agree(With<agree::Agree>),
    /// Every line of the calculation of what an account is told, now or at a moment that is past.
    Explain(With<explain::Explain>),
    /// Give back to free sale what is left of an allotment, now.
    Release(With<release::Release>),
    /// The rules that switch pools and that keep rooms back, and which of them hold.
    Rules(With<rules::Rules>),
    /// What is free, kept, held and sold, and how each allotment sells.
    Show(With<show::Show>),
}

/// Asks at the desk.
pub async fn pools(arguments: &PoolsArguments) -> Result<bool> {
    let asker = match &arguments.what {
        What::Agree(With { asker, .. })
        | What::Explain(With { asker, .. })
        | What::Release(With { asker, .. })
        | What::Rules(With { asker, .. })
        | What::Show(With { asker, .. }) => asker,
    };
    desk::ask(asker, "pools", async |desk| match &arguments.what {
        What::Agree(With { what, .. }) => agree::agree(desk, what).await,
        What::Explain(With { what, .. }) => explain::explain(desk, what).await,
        What::Release(With { what, .. }) => release::release(desk, what).await,
        What::Rules(_) => rules::rules(desk).await,
        What::Show(With { what, .. }) => show::show(desk, what).await,
    })
    .await
}
