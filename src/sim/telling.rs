//! A round in words.

use keyrack_ledger::command::Command;

use crate::order::Deed;

/// What everybody of the round was told, before what does not fit.
pub fn told(deeds: &[Deed], words: &str) -> String {
    let mut lines = vec!["in the round:".to_owned()];
    for deed in deeds {
        let answer = match &deed.answer {
            None => "nobody was told".to_owned(),
            Some(Ok(receipt)) => {
                let replay = if receipt.is_replay { " (a replay)" } else { "" };
                format!("{}{replay}", receipt.did)
            }
            Some(Err(refusal)) => format!("{refusal:?}"),
        };
        lines.push(format!(
            "  step {} {}: {answer}",
            deed.number,
            kind(&deed.command)
        ));
    }
    lines.push(words.to_owned());
    lines.join("\n")
}

/// Which command it is.
pub fn kind(command: &Command) -> &'static str {
    match command {
        Command::Request(_) => "request",
        Command::Record(_) => "record",
        Command::Confirm { .. } => "confirm",
        Command::Cancel { .. } => "cancel",
        Command::Extend { .. } => "extend",
        Command::Modify(_) => "modify",
        Command::Progress { .. } => "progress",
        Command::Expire { .. } => "expire",
        Command::SetNights { .. } => "set_nights",
        Command::RequestAll(_) => "request_all",
        Command::Agree(_) => "agree",
        Command::ReleaseAllotment { .. } => "release_allotment",
        Command::SetBlocks { .. } => "set_blocks",
        Command::SetPhysical { .. } => "set_physical",
        Command::OpenCase { .. } => "open_case",
        Command::EndCase(_) => "end_case",
        Command::Review { .. } => "review",
    }
}
