//! The running sandbox: both channels and the door for audits behind one address.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alpinebits::{self, AlpineBits};
use crate::booking_com::{self, BookingCom};
use crate::channel::{ALPINEBITS, BOOKING_COM, Channel};
use crate::clock::Clock;
use crate::control::{self, Control};
use crate::edge::{Line, Lines};
use crate::settings::Settings;

/// A running sandbox. Dropping it leaves it running until the process ends; `stop` ends it.
pub struct Sandbox {
    address: SocketAddr,
    booking_com: BookingCom,
    alpinebits: AlpineBits,
    clock: Clock,
    control: Control,
    closing: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Sandbox {
    /// Starts it. Fails if it cannot listen or cannot open its journal's file.
    pub async fn start(settings: Settings) -> anyhow::Result<Sandbox> {
        let clock = Clock::starting(settings.today);
        let journal = settings.journal_file.as_deref();
        let seed = settings.seed;
        let channel = Channel::booking_com(&settings.booking_com, clock.clone(), seed, journal)
            .context("cannot open the sandbox's journal")?;
        let booking_com = BookingCom::new(channel, settings.booking_com);
        let channel = Channel::alpinebits(&settings.alpinebits, clock.clone(), seed, journal)
            .context("cannot open the sandbox's journal")?;
        let alpinebits = AlpineBits::new(channel, settings.alpinebits);
        for hotel in &settings.hotels {
            match hotel.channel.as_str() {
                BOOKING_COM => booking_com.add_hotel(&hotel.hotel, &hotel.rooms),
                ALPINEBITS => alpinebits.add_hotel(&hotel.hotel, &hotel.rooms),
                other => anyhow::bail!("the sandbox has no channel {other}"),
            }
        }
        let listener = TcpListener::bind(settings.listen)
            .await
            .with_context(|| format!("the sandbox cannot listen on {}", settings.listen))?;
        let address = listener
            .local_addr()
            .context("the sandbox has no address")?;
        let closing = CancellationToken::new();
        let control = Control::new(&booking_com, &alpinebits, &clock, closing.clone());
        let router = Router::new()
            .merge(booking_com::router(booking_com.clone()))
            .merge(alpinebits::router(alpinebits.clone()))
            .merge(control::router(control.clone()))
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .into_make_service_with_connect_info::<Line>();
        let lines = Lines {
            listener,
            closing: closing.clone(),
        };
        let until = closing.clone().cancelled_owned();
        let serving = tokio::spawn(async move {
            axum::serve(lines, router)
                .with_graceful_shutdown(until)
                .await
        });
        Ok(Sandbox {
            address,
            booking_com,
            alpinebits,
            clock,
            control,
            closing,
            serving,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its addresses begin with, for example `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The fake Booking.com.
    pub fn booking_com(&self) -> BookingCom {
        self.booking_com.clone()
    }

    /// The fake AlpineBits portal.
    pub fn alpinebits(&self) -> AlpineBits {
        self.alpinebits.clone()
    }

    /// The clock of both.
    pub fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Stops it: hanging requests end, open ones are answered, for at most two seconds.
    pub async fn stop(self) {
        self.control.stop_guests();
        self.closing.cancel();
        let abort = self.serving.abort_handle();
        if tokio::time::timeout(Duration::from_secs(2), self.serving)
            .await
            .is_err()
        {
            abort.abort();
        }
    }
}

/// A complete set of a large hotel has about a tenth of this.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
