//! Gauges that no single event can keep: how many holds there are, and how many are dead and still
//! keep rooms. Looked up every so often, from outside.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

/// Measures until it is cancelled.
pub async fn measure(pool: PgPool, cancel: CancellationToken) {
    let mut shown = BTreeSet::new();
    loop {
        match look(&pool).await {
            Ok(counts) => show(&mut shown, counts),
            Err(error) => tracing::warn!(%error, "the holds could not be counted"),
        }
        tokio::select! {
            () = cancel.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Holds of a room type of a property.
#[derive(sqlx::FromRow)]
struct Count {
    property: String,
    room_type: String,
    rooms: i32,
    held: i64,
    ghosts: i64,
}

async fn look(pool: &PgPool) -> Result<Vec<Count>, sqlx::Error> {
    sqlx::query_as(
        "select property.code as property, room_type.code as room_type, room_type.rooms,
                count(distinct reservation.reservation_id) as held,
                count(distinct reservation.reservation_id)
                    filter (where hold_dead_at <= (select ledger_now())) as ghosts
         from reservation
         join property using (property_id)
         join room_stay using (property_id, reservation_id)
         join room_type using (property_id, room_type_id)
         where reservation.status = 'held' and not room_stay.is_given_back
         group by property.code, room_type.code, room_type.rooms",
    )
    .fetch_all(pool)
    .await
}

/// What was shown before and is no longer there goes to 0: a gauge keeps its last value.
fn show(shown: &mut BTreeSet<[String; 3]>, counts: Vec<Count>) {
    let mut now = BTreeSet::new();
    for count in counts {
        let scarce = (count.rooms <= SCARCE_ROOMS_MAX).to_string();
        let labels = [count.property, count.room_type, scarce];
        set(&labels, count.held, count.ghosts);
        now.insert(labels);
    }
    for gone in shown.difference(&now) {
        set(gone, 0, 0);
    }
    *shown = now;
}

fn set([property, room_type, scarce]: &[String; 3], held: i64, ghosts: i64) {
    let labels = [
        ("property", property.clone()),
        ("room_type", room_type.clone()),
        ("scarce", scarce.clone()),
    ];
    let number = |count: i64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    metrics::gauge!("held_count_by_resource", &labels[..2]).set(number(held));
    metrics::gauge!("ghost_hold_count", &labels).set(number(ghosts));
}

const PAUSE: Duration = Duration::from_secs(15);
/// A ghost in a type of so few rooms costs a guest.
const SCARCE_ROOMS_MAX: i32 = 3;
