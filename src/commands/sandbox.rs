//! `keyrack sandbox`: the fake channels alone, or their answer to one message.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use keyrack_sandbox::{HotelSettings, Room, Sandbox, Settings};

use crate::{header, say, signal};

/// Arguments of `keyrack sandbox`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SandboxArguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say what a fake channel would answer to a message: status, body, verdict and reason as JSON.
    Check {
        /// Which one.
        #[arg(value_parser = ["booking_com", "alpinebits"])]
        channel: String,
        /// The message.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// A header that comes with it, as `Name: value`.
        #[arg(long = "header", value_name = "HEADER", value_parser = header::parse)]
        headers: Vec<(String, String)>,
    },
}

#[derive(Debug, Args)]
struct Run {
    /// Address and port to listen on.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Where all chance comes from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A hotel under contract, as CHANNEL:HOTEL:ROOM[@RATE[+RATE]]=COUNT[,ROOM=COUNT]; repeat it
    /// for more. Left out: a small one at each channel.
    #[arg(long = "hotel", value_name = "HOTEL", value_parser = hotel)]
    hotels: Vec<HotelSettings>,
    /// File to which the journal is appended as lines of JSON.
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// File of settings (TOML); the flags win over it.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
}

/// Serves the fake channels until a signal comes, or checks one message.
pub async fn sandbox(arguments: &SandboxArguments) -> Result<()> {
    match &arguments.what {
        None => serve(&arguments.run).await,
        Some(What::Check {
            channel,
            file,
            headers,
        }) => {
            let body = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
            let answer = keyrack_sandbox::check(channel, &body, headers);
            say::line(&serde_json::to_string_pretty(&answer)?);
            Ok(())
        }
    }
}

async fn serve(run: &Run) -> Result<()> {
    let stop = signal::stop()?;
    let sandbox = Sandbox::start(settings(run)?).await?;
    say::line(&format!("The fake channels listen on {}", sandbox.url()));
    for channel in [
        (*sandbox.booking_com()).clone(),
        (*sandbox.alpinebits()).clone(),
    ] {
        for hotel in channel.hotels() {
            let rooms = channel.rooms(&hotel);
            let rooms: Vec<&str> = rooms.iter().map(|room| room.code.as_str()).collect();
            say::line(&format!(
                "  {} {hotel}: {}",
                channel.code(),
                rooms.join(", ")
            ));
        }
    }
    stop.cancelled().await;
    sandbox.stop().await;
    Ok(())
}

fn settings(run: &Run) -> Result<Settings> {
    let mut settings = match &run.settings {
        None => Settings::default(),
        Some(path) => {
            let from = || path.display().to_string();
            let text = fs::read_to_string(path).with_context(from)?;
            toml::from_str(&text).with_context(from)?
        }
    };
    settings.listen = run.listen;
    settings.seed = run.seed;
    settings.hotels.extend(run.hotels.iter().cloned());
    if let Some(journal) = &run.journal {
        settings.journal_file = Some(journal.clone());
    }
    if settings.hotels.is_empty() {
        for channel in ["booking_com", "alpinebits"] {
            settings.hotels.push(HotelSettings {
                channel: channel.to_owned(),
                hotel: "10001".to_owned(),
                rooms: vec![
                    Room::new("1000101", &["900001"], 4),
                    Room::new("1000102", &["900001"], 8),
                ],
            });
        }
    }
    Ok(settings)
}

/// `CHANNEL:HOTEL:ROOM[@RATE[+RATE]]=COUNT[,…]`.
fn hotel(text: &str) -> Result<HotelSettings, String> {
    let parts: Vec<&str> = text.splitn(3, ':').collect();
    let [channel, hotel, rooms] = parts[..] else {
        return Err("a hotel is written as CHANNEL:HOTEL:ROOM=COUNT,ROOM=COUNT".to_owned());
    };
    let room = |text: &str| {
        let (code, count) = text
            .split_once('=')
            .ok_or("a room is written as ROOM=COUNT")?;
        let (code, rates) = code.split_once('@').unwrap_or((code, ""));
        let rates: Vec<&str> = rates.split('+').filter(|rate| !rate.is_empty()).collect();
        let count = count.parse().map_err(|_| "a count of rooms is a number")?;
        Ok::<_, &str>(Room::new(code, &rates, count))
    };
    let rooms: Result<Vec<Room>, &str> = rooms.split(',').map(room).collect();
    Ok(HotelSettings {
        channel: channel.to_owned(),
        hotel: hotel.to_owned(),
        rooms: rooms?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hotel_is_written_on_one_line() {
        let made = hotel("booking_com:77:DBL@FLEX+SAVER=12,SGL=4").unwrap();
        assert_eq!(
            (made.channel.as_str(), made.hotel.as_str()),
            ("booking_com", "77")
        );
        let rooms = [
            Room::new("DBL", &["FLEX", "SAVER"], 12),
            Room::new("SGL", &[], 4),
        ];
        assert_eq!(made.rooms, rooms);
        assert!(hotel("booking_com:77").is_err());
        assert!(hotel("booking_com:77:DBL").is_err());
        assert!(hotel("booking_com:77:DBL=many").is_err());
    }
}
