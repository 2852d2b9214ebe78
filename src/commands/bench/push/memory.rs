//! Memory of the process that pushes for a chain, at its peak.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use keyrack_ledger::command::By;
use keyrack_ledger::rates::{self, RateChange};
use keyrack_model::id::{PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::stay::{Stay, plus_days};
use sqlx::Row as _;

use super::super::contender::Ask;
use super::super::ground::FIRST;
use super::super::keyrack;
use super::super::report::{Report, Row};
use super::stage::{NIGHTS, PLANS, PRICE, ROOM_TYPES, ROOMS, Stage, at_most};

const CHAIN: i32 = 1_000;
const CONNECTIONS: usize = 5;
/// In each so many-th hotel a hold is made: turns by the thousand, and the engine has a few of them
/// at a time.
const EVERY: usize = 3;
/// Hotels that are told of a new price for many nights at once: with them every turn that the
/// engine takes at a time is as large as a turn can be.
const DEEP: usize = 4;
const DEEP_NIGHTS: i32 = 125;

pub fn in_words() -> String {
    format!(
        "the peak of the whole process (bench, callers and the other side included) that pushes \
         for {CHAIN} more hotels x {ROOM_TYPES} types x {PLANS} plans x {NIGHTS} nights at \
         {CONNECTIONS} connections: all live and mapped; a hold in every third hotel at once, and \
         at {DEEP} of them a new price of every plan on {DEEP_NIGHTS} nights, 5000 marks an account"
    )
}

/// One wave over the whole chain; says how it went.
pub async fn measure(stage: &mut Stage, report: &mut Report) -> Result<String> {
    let begun = Instant::now();
    let deep = fill(stage).await?;
    let filled = begun.elapsed();
    let engine = stage.workplace.start().await?;
    stage.workplace.told().await?;
    let (before, messages) = (resident_mib("VmRSS:")?, stage.endpoint.messages());
    let (begun, properties) = (Instant::now(), stage.ground.hotels.len());
    for hotel in &deep {
        raise_prices(stage, hotel).await?;
    }
    let asks = (0..properties).step_by(EVERY).map(|property| Ask {
        property,
        room_type: 0,
        from: 0,
    });
    let changes = stage.hold_all(asks).await?.len();
    stage.workplace.told().await?;
    let took = begun.elapsed();
    let peak = resident_mib("VmHWM:")?;
    let messages = stage.endpoint.messages() - messages;
    stage.workplace.must_be_true().await?;
    engine.stop().await;
    report.add(Row::of(
        at_most("memory, 1000 hotels", 1, "MiB", 512.0, 256.0),
        &[(peak, 1.0)],
    ));
    ensure!(
        messages >= 5 * u64::try_from(changes)?,
        "{messages} messages told {changes} changes to five accounts each"
    );
    Ok(format!(
        "memory: filled in {:.1} s; {before:.0} MiB before the wave; {changes} holds and {DEEP} \
         changes of prices told in {messages} messages in {:.1} s",
        filled.as_secs_f64(),
        took.as_secs_f64()
    ))
}

/// A hotel with its types and plans.
struct Hotel {
    property: PropertyId,
    room_types: Vec<i64>,
    plans: Vec<i64>,
}

/// The chain beside the hotels that are there; the first of it, whose prices change.
async fn fill(stage: &mut Stage) -> Result<Vec<Hotel>> {
    // The machine has more than one processor, and this is most of the time.
    let (half, types) = (CHAIN / 2, i32::try_from(ROOM_TYPES)?);
    let chain = |from: i32, to: i32| {
        let made = sqlx::query("select bench_chain($1, $2, $3, $4, $5, $6)")
            .bind(from)
            .bind(to)
            .bind(types)
            .bind(jiff_sqlx::Date::from(FIRST))
            .bind(NIGHTS)
            .bind(ROOMS);
        made.execute(&stage.ground.pool)
    };
    tokio::try_join!(chain(1, half), chain(half + 1, CHAIN))?;
    stage
        .workplace
        .connect(&stage.endpoint.url, CONNECTIONS)
        .await?;
    stage.list(CONNECTIONS, false).await?;
    let rows = sqlx::query(
        "select property_id, array_agg(distinct room_type_id), array_agg(distinct rate_plan_id)
           from property join mapping using (property_id) where code like 'chain-%'
          group by property_id order by property_id",
    )
    .fetch_all(&stage.ground.pool)
    .await?;
    let hotels: Vec<Hotel> = rows
        .iter()
        .map(|row| Hotel {
            property: PropertyId(row.get(0)),
            room_types: row.get(1),
            plans: row.get(2),
        })
        .collect();
    stage.ground.hotels = hotels
        .iter()
        .map(|hotel| (hotel.property.0, hotel.room_types.clone()))
        .collect();
    let ledger = stage.workplace.ledger.clone();
    stage.ours = Arc::new(keyrack::of(&stage.ground, vec![ledger]));
    let all: Vec<i64> = hotels.iter().map(|hotel| hotel.property.0).collect();
    stage.tell(&all, 1, super::super::contender::NIGHTS).await?;
    stage.tell(&all[..DEEP], ROOM_TYPES, NIGHTS).await?;
    Ok(hotels.into_iter().take(DEEP).collect())
}

/// Every plan of every type costs more for a while.
async fn raise_prices(stage: &Stage, hotel: &Hotel) -> Result<()> {
    let nights = Stay::new(FIRST, plus_days(FIRST, DEEP_NIGHTS)).context("nights")?;
    let each = |room_type: &i64| {
        let room_type = RoomTypeId(*room_type);
        let change = move |plan: &i64| RateChange {
            room_type: Some(room_type),
            rate_plan: Some(RatePlanId(*plan)),
            nights: Some(nights),
            rate_minor: Some(Some(PRICE + 500)),
            ..RateChange::default()
        };
        hotel.plans.iter().map(change).collect::<Vec<_>>()
    };
    let changes: Vec<RateChange> = hotel.room_types.iter().flat_map(each).collect();
    let by = By {
        actor: "bench".to_owned(),
        request_id: None,
    };
    let set = rates::set(
        &stage.workplace.ledger,
        hotel.property,
        &by,
        &changes,
        false,
    )
    .await?;
    ensure!(set.is_ok(), "a price was refused");
    Ok(())
}

/// MiB of this process, by the name in `/proc/self/status` (proc(5)).
fn resident_mib(name: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.context("a size")?.parse()?;
    Ok(kib / 1_024.0)
}
