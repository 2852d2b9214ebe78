//! The other side: one route of axum, JSON in and out, a key checked by its hash, and the plain
//! way behind it. It does what it is asked for: the guest is kept, and who asks again under an
//! idempotency key is told what was answered first.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::post;
use axum::{Json, Router};
use keyrack_model::stay::{StayDate, days_between};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::super::contender::{Ask, NIGHTS};
use super::super::ground::{FIRST, Ground, PROPERTIES, ROOM_TYPES};
use super::super::plain::{self, Plain};

/// A server that listens.
pub struct Server {
    pub address: SocketAddr,
    /// The only key that it knows.
    pub key: String,
    serving: JoinHandle<()>,
}

struct Inside {
    plain: Plain,
    keys: HashMap<String, i64>,
    hotels: HashMap<String, usize>,
    room_types: HashMap<String, usize>,
}

pub async fn open(ground: &Ground) -> Result<Server> {
    let key = Uuid::new_v4().to_string();
    let numbered = |name: &str, count: usize| {
        let each = (0..count).map(|number| (format!("{name}-{}", number + 1), number));
        each.collect::<HashMap<String, usize>>()
    };
    let inside = Inside {
        plain: plain::open(ground).await?,
        keys: HashMap::from([(format!("Bearer {key}"), 1)]),
        hotels: numbered("hotel", PROPERTIES),
        room_types: numbered("type", ROOM_TYPES),
    };
    let router = Router::new()
        .route("/v1/properties/{property}/reservations", post(create))
        .with_state(Arc::new(inside));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let serving = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(%error, "the plain server ended");
        }
    });
    Ok(Server {
        address,
        key,
        serving,
    })
}

impl Server {
    pub async fn close(self) {
        self.serving.abort();
        let _ = self.serving.await;
    }
}

#[derive(Deserialize)]
struct Wish {
    status: String,
    source: String,
    rooms: Vec<Room>,
    guest: Guest,
}

#[derive(Clone, Deserialize, Hash, Serialize)]
struct Room {
    room_type: String,
    arrival: StayDate,
    departure: StayDate,
    adults: Option<i32>,
}

#[derive(Deserialize, Serialize)]
struct Guest {
    name: String,
}

#[derive(Serialize)]
struct Made {
    id: Uuid,
    version: i64,
    status: String,
    source: String,
    rooms: Vec<Room>,
    guest: Guest,
}

async fn create(
    State(inside): State<Arc<Inside>>,
    Path(property): Path<String>,
    headers: HeaderMap,
    Json(wish): Json<Wish>,
) -> Result<Answer, StatusCode> {
    let bearer = headers.get(header::AUTHORIZATION);
    let bearer = bearer.and_then(|value| value.to_str().ok());
    let known = bearer.and_then(|bearer| inside.keys.get(bearer));
    known.ok_or(StatusCode::UNAUTHORIZED)?;
    let property = inside.hotels.get(&property).ok_or(StatusCode::NOT_FOUND)?;
    let invalid = StatusCode::UNPROCESSABLE_ENTITY;
    let [room] = wish.rooms.as_slice() else {
        return Err(invalid);
    };
    if days_between(room.arrival, room.departure) != NIGHTS {
        return Err(invalid);
    }
    let ask = Ask {
        property: *property,
        room_type: *inside.room_types.get(&room.room_type).ok_or(invalid)?,
        from: days_between(FIRST, room.arrival),
    };
    let made = Made {
        id: Uuid::now_v7(),
        version: 1,
        status: wish.status,
        source: wish.source,
        rooms: wish.rooms,
        guest: wish.guest,
    };
    let key = headers.get("idempotency-key");
    let key = key.and_then(|value| value.to_str().ok()).ok_or(invalid)?;
    let once = || inside.made(ask, key, &made);
    let answer = plain::again(once).await.map_err(|error| {
        tracing::error!(%error, "the plain way failed");
        StatusCode::INTERNAL_SERVER_ERROR
    })?;
    match answer {
        Some(answer) => Ok((StatusCode::CREATED, JSON, answer)),
        None => Err(StatusCode::CONFLICT),
    }
}

type Answer = (StatusCode, [(header::HeaderName, &'static str); 1], String);

const JSON: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];

impl Inside {
    /// The transaction: key, nights, reservation, entry, outbox, guest. The answer, of the first
    /// time where the key is known; `None` where there is no room.
    async fn made(&self, ask: Ask, key: &str, made: &Made) -> sqlx::Result<Option<String>> {
        let encode = |error: serde_json::Error| sqlx::Error::Encode(error.into());
        let answer = serde_json::to_string(made).map_err(encode)?;
        let guest = serde_json::to_string(&made.guest).map_err(encode)?;
        let mut fingerprint = DefaultHasher::new();
        (&made.rooms, &guest).hash(&mut fingerprint);
        let mut tx = self.plain.pool.begin().await?;
        let new = "insert into plain_key (scope, key, fingerprint, receipt, created_at)
             values ('key:1', $1, $2, $3::jsonb, now()) on conflict do nothing";
        let new = sqlx::query(new).bind(key);
        let new = new
            .bind(format!("{:x}", fingerprint.finish()))
            .bind(&answer);
        if new.execute(&mut *tx).await?.rows_affected() == 0 {
            tx.rollback().await?;
            let kept = "select receipt::text from plain_key where scope = 'key:1' and key = $1";
            let kept = sqlx::query_scalar(kept).bind(key);
            return kept.fetch_one(&self.plain.pool).await.map(Some);
        }
        if !self.plain.take(&mut tx, ask, made.id).await? {
            tx.rollback().await?;
            return Ok(None);
        }
        let keep = "insert into plain_guest (property_id, reservation_id, guest)
             values ($1, $2, $3::jsonb)";
        let keep = sqlx::query(keep).bind(self.plain.at(ask).property);
        keep.bind(made.id).bind(&guest).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(answer))
    }
}
