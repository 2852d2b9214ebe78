//! `bench read`: availability as JSON through the API's own routes, beside the same from SQL rows.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use jiff::Timestamp;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::keys::{self, Role};
use keyrack_ledger::settings::Settings;
use keyrack_model::stay::plus_days;
use serde::Serialize;
use sqlx::{PgPool, Row as _};
use tower::ServiceExt as _;

use super::arguments::BenchArguments;
use super::contender::{Ask, Contender as _};
use super::ground::{FIRST, Ground, ROOMS, Size};
use super::keyrack;
use super::report::{Asked, Better, Report, Row};
use super::router;
use super::side::side_by_side;

/// The hotel that is asked for: the first has a type more.
const HOTEL: usize = 1;
const ROOM_TYPES: usize = 20;

pub async fn bench(arguments: &BenchArguments) -> Result<()> {
    let ground = Ground::of(Size {
        properties: HOTEL + 1,
        room_types: ROOM_TYPES,
        rooms: ROOMS,
        with_plain: false,
    })
    .await?;
    let mut report = Report::new("read", ground.settings().await?);
    let measured = measure(arguments, &ground, &mut report).await;
    ground.clear().await?;
    let compared = measured?;
    report.print(arguments.json)?;
    if !arguments.json {
        crate::say::line(&format!(
            "{compared} answers beside another daemon's holds: none staler than its as_of"
        ));
    }
    report.judge()
}

/// Both ways to the same JSON.
struct Ways {
    router: Router,
    key: String,
    pool: PgPool,
    property: i64,
    code: String,
}

async fn measure(
    arguments: &BenchArguments,
    ground: &Ground,
    report: &mut Report,
) -> Result<usize> {
    let ledger = Ledger::open(ground.options.clone(), Settings::default()).await?;
    let other = keyrack::open(ground, 1).await?;
    let ways = Ways::open(ground, &ledger).await?;
    let length = Duration::from_secs_f64(arguments.seconds);
    for (nights, gate, goal) in [(30, 3.6, 40.0), (365, 20.0, 50.0)] {
        ways.must_agree(nights).await?;
        for fresh in [false, true] {
            let name = match (nights, fresh) {
                (30, false) => "20 types, 30 nights",
                (30, true) => "20 types, 30 nights, fresh",
                (_, false) => "20 types, 365 nights",
                (_, true) => "20 types, 365 nights, fresh",
            };
            let pairs = side_by_side(
                arguments.rounds,
                async |_| per_second(length, async || ways.ours(nights, fresh).await).await,
                async |_| per_second(length, async || ways.plain(nights).await).await,
            );
            let asked = Asked {
                name,
                callers: 1,
                unit: "/s",
                gate: (!fresh).then_some(gate),
                goal: (!fresh).then_some(goal),
                better: Better::Higher,
            };
            report.add(Row::of(asked, &pairs.await?));
        }
    }
    let compared = never_staler(&ways, &other, length).await?;
    other.close().await;
    ledger.close().await;
    Ok(compared)
}

/// How often in a second.
async fn per_second(
    length: Duration,
    mut once: impl AsyncFnMut() -> Result<Vec<u8>>,
) -> Result<f64> {
    let begun = Instant::now();
    let mut times = 0.0;
    while begun.elapsed() < length {
        let body = once().await?;
        ensure!(!body.is_empty(), "an empty answer");
        times += 1.0;
    }
    Ok(times / begun.elapsed().as_secs_f64())
}

impl Ways {
    async fn open(ground: &Ground, ledger: &Ledger) -> Result<Self> {
        let pool = ground.pool.clone();
        let (_, key) = keys::create(ledger, Role::Admin, None, "bench").await?;
        let property = ground.hotels[HOTEL].0;
        let code = sqlx::query_scalar("select code from property where property_id = $1");
        let code = code.bind(property).fetch_one(&pool).await?;
        Ok(Self {
            router: router::router(ground, ledger, String::new)?,
            key,
            pool,
            property,
            code,
        })
    }

    /// Through key, limits and routes, as a caller's request goes.
    async fn ours(&self, nights: i32, fresh: bool) -> Result<Vec<u8>> {
        let (code, until) = (&self.code, plus_days(FIRST, nights));
        let path = format!("/v1/properties/{code}/availability?from={FIRST}&to={until}");
        let path = if fresh { path + "&fresh=true" } else { path };
        let request = Request::get(path)
            .header("authorization", format!("Bearer {}", self.key))
            .body(Body::empty())?;
        let response = self.router.clone().oneshot(request).await?;
        ensure!(response.status() == 200, "answered {}", response.status());
        Ok(to_bytes(response.into_body(), usize::MAX).await?.to_vec())
    }

    /// Rows of one prepared statement, written as the same JSON.
    async fn plain(&self, nights: i32) -> Result<Vec<u8>> {
        let rows = sqlx::query(
            "select t.code, n.stay_date, n.physical, n.out_of_order, n.overbooking_limit,
                    n.allotted, n.held, n.sold, n.oversold, ledger_now() as as_of
               from night n join room_type t using (property_id, room_type_id)
              where n.property_id = $1 and n.stay_date >= $2 and n.stay_date < $3
              order by t.code, n.stay_date",
        )
        .bind(self.property)
        .bind(jiff_sqlx::Date::from(FIRST))
        .bind(jiff_sqlx::Date::from(plus_days(FIRST, nights)))
        .fetch_all(&self.pool)
        .await?;
        let as_of = rows.first().context("rows")?;
        let as_of = as_of.try_get::<jiff_sqlx::Timestamp, _>("as_of")?.to_jiff();
        let mut room_types: Vec<PlainType> = Vec::new();
        for row in &rows {
            let code: String = row.try_get(0)?;
            if room_types.last().is_none_or(|last| last.room_type != code) {
                room_types.push(PlainType {
                    room_type: code,
                    nights: Vec::new(),
                });
            }
            if let Some(last) = room_types.last_mut() {
                last.nights.push(PlainNight::try_from(row)?);
            }
        }
        Ok(serde_json::to_vec(&PlainView { as_of, room_types })?)
    }

    async fn must_agree(&self, nights: i32) -> Result<()> {
        let parsed = |bytes: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&bytes);
        let plain = parsed(self.plain(nights).await?)?;
        for fresh in [true, false] {
            let ours = parsed(self.ours(nights, fresh).await?)?;
            ensure!(
                ours["room_types"] == plain["room_types"],
                "the answers differ"
            );
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct PlainView {
    as_of: Timestamp,
    room_types: Vec<PlainType>,
}

#[derive(Serialize)]
struct PlainType {
    room_type: String,
    nights: Vec<PlainNight>,
}

#[derive(Serialize)]
struct PlainNight {
    stay_date: jiff::civil::Date,
    physical: i32,
    out_of_order: i32,
    overbooking_limit: i32,
    allotted: i32,
    held: i32,
    sold: i32,
    free: i32,
    oversold: i32,
}

impl TryFrom<&sqlx::postgres::PgRow> for PlainNight {
    type Error = sqlx::Error;

    fn try_from(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let count = |name: &str| row.try_get::<i32, _>(name);
        let (physical, limit) = (count("physical")?, count("overbooking_limit")?);
        let (out_of_order, allotted) = (count("out_of_order")?, count("allotted")?);
        let (held, sold) = (count("held")?, count("sold")?);
        let taken = out_of_order + allotted + held + sold;
        Ok(Self {
            stay_date: row.try_get::<jiff_sqlx::Date, _>("stay_date")?.to_jiff(),
            physical,
            out_of_order,
            overbooking_limit: limit,
            allotted,
            held,
            sold,
            free: (physical + limit - taken).max(0),
            oversold: count("oversold")?,
        })
    }
}

/// While another daemon takes rooms one after the other, each answer must have all that were taken
/// before its instant. Says how many were compared.
async fn never_staler(ways: &Ways, other: &keyrack::Ours, length: Duration) -> Result<usize> {
    let begun = Instant::now();
    let taken = std::sync::Mutex::new(Vec::<Timestamp>::new());
    let ask = Ask {
        property: HOTEL,
        room_type: 0,
        from: 0,
    };
    let writing = async {
        while begun.elapsed() < length {
            other.hold(ask).await?.context("a room")?;
            let now = sqlx::query_scalar::<_, jiff_sqlx::Timestamp>("select ledger_now()");
            let now = now.fetch_one(&ways.pool).await?.to_jiff();
            taken
                .lock()
                .map_err(|_| anyhow::anyhow!("a panic"))?
                .push(now);
        }
        Ok::<_, anyhow::Error>(())
    };
    let reading = async {
        let mut compared = 0;
        while begun.elapsed() < length {
            let fresh = compared % 2 == 0;
            let answer: serde_json::Value = serde_json::from_slice(&ways.ours(1, fresh).await?)?;
            let as_of: Timestamp = answer["as_of"].as_str().context("an instant")?.parse()?;
            let held = answer["room_types"][0]["nights"][0]["held"].as_u64();
            let held = usize::try_from(held.context("a count")?)?;
            let before = {
                let taken = taken.lock().map_err(|_| anyhow::anyhow!("a panic"))?;
                taken.partition_point(|at| *at <= as_of)
            };
            ensure!(
                held >= before,
                "{held} held as of {as_of}, {before} were taken"
            );
            compared += 1;
        }
        Ok(compared)
    };
    let (wrote, compared) = tokio::join!(writing, reading);
    wrote?;
    compared
}
