//! What accounts are told, and the tails that say when.

use keyrack_ledger::catalog::{self, MappingSetup, RoomTypeSetup};
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::inventory;
use keyrack_ledger::tail::{self, Cursor, Listing, TailEntry};
use keyrack_model::ari::{AriCell, AriKey};
use keyrack_model::channel::{
    Account, AccountSettings, AccountState, Capabilities, ChannelMapping,
};
use keyrack_model::id::{RatePlanId, RoomTypeId};
use keyrack_model::restriction::RestrictionKind;
use keyrack_model::stay::{Stay, Weekdays};

use crate::hotel::{Hotel, day, rate_plan, room_type, stay};
use crate::rooms::sell;

pub static ABLE: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: &[
        RestrictionKind::MinStayArrival,
        RestrictionKind::ClosedToArrival,
    ],
    reopens_by_itself: false,
    rooms_max: 254,
    spans_per_message_max: 100,
    horizon_nights_max: 20,
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: false,
    sign_in_seconds: 0,
};

/// An account of four doubles, its mappings, type and plan.
pub struct Told {
    pub hotel: Hotel,
    pub account: Account,
    pub mappings: Vec<ChannelMapping>,
    pub dbl: RoomTypeId,
    pub flex: RatePlanId,
}

impl Told {
    pub async fn open() -> Self {
        let hotel = Hotel::open().await;
        let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
        let flex = hotel.rate_plan("flex", rate_plan("Flexible")).await;
        let connection = hotel.connection("login").await;
        let (ledger, by, property) = (&hotel.ledger, &hotel.by, hotel.property);
        let settings = AccountSettings::default();
        let put = catalog::put_account(
            ledger, property, by, "fake", connection, "fake", "H1", settings, None,
        );
        let account = put
            .await
            .expect("no failure")
            .expect("no refusal")
            .0
            .account;
        let told = Self {
            account,
            mappings: Vec::new(),
            dbl,
            flex,
            hotel,
        };
        told.map(&[("dbl", None), ("dbl", Some("flex"))]).await
    }

    pub async fn map(mut self, mappings: &[(&str, Option<&str>)]) -> Self {
        let setups = mappings.iter().map(|(room_type, plan)| MappingSetup {
            room_type: (*room_type).to_owned(),
            rate_plan: plan.map(str::to_owned),
            channel_room_code: format!("R-{room_type}"),
            channel_rate_code: plan.map(str::to_owned),
            pool: Default::default(),
            allotment: None,
        });
        let (ledger, by) = (&self.hotel.ledger, &self.hotel.by);
        let put = catalog::put_mappings(ledger, self.account.id, by, setups.collect()).await;
        put.expect("no failure").expect("no refusal");
        let read = catalog::mappings(ledger, self.account.id).await;
        self.mappings = read.expect("no failure").0;
        self
    }

    pub fn listing(&self) -> Listing<'_> {
        Listing {
            account: &self.account,
            mappings: &self.mappings,
            capabilities: &ABLE,
        }
    }

    pub async fn cells(&self, keys: &[AriKey]) -> Vec<AriCell> {
        tail::cells(&self.hotel.ledger, &self.listing(), keys)
            .await
            .expect("no failure")
    }

    pub fn room(&self, offset: i32) -> AriKey {
        AriKey {
            room_type: self.dbl,
            rate_plan: None,
            night: day(offset),
        }
    }

    pub fn plan(&self, offset: i32) -> AriKey {
        AriKey {
            rate_plan: Some(self.flex),
            ..self.room(offset)
        }
    }

    /// Rooms and whether closed, per night from the business day on.
    pub async fn rooms(&self, offsets: impl Iterator<Item = i32>) -> Vec<(i32, bool)> {
        let keys: Vec<AriKey> = offsets.map(|offset| self.room(offset)).collect();
        let cells = self.cells(&keys).await.into_iter();
        cells
            .map(|c| (c.values.rooms.expect("of a room"), c.values.closed))
            .collect()
    }
}

#[tokio::test]
async fn a_cell_is_the_ledger_at_this_moment() {
    let told = Told::open().await;
    assert_eq!(told.rooms(2..5).await, [(4, false); 3]);
    sell(&told.hotel, told.dbl, stay(3, 4), 3).await;
    assert_eq!(told.rooms(2..5).await, [(4, false), (1, false), (4, false)]);
    let edges = [-1, 0, 19, 20, 31];
    assert_eq!(
        told.rooms(edges.into_iter()).await,
        [(0, true), (4, false), (4, false), (0, true), (0, true)],
        "past; open to the channel's 20 nights; beyond them; beyond the property's"
    );
    let unmapped = AriKey {
        room_type: RoomTypeId(999),
        ..told.room(2)
    };
    assert_eq!(told.cells(&[unmapped]).await, []);
    assert_eq!(told.cells(&[]).await, []);
    let plan = told.cells(&[told.plan(2)]).await.remove(0).values;
    assert_eq!(
        (plan.rooms, plan.closed, plan.rate),
        (None, true, None),
        "it has no price"
    );
}

#[tokio::test]
async fn a_dead_hold_is_told_free_before_anybody_sweeps_it() {
    let told = Told::open().await;
    let id = sell(&told.hotel, told.dbl, stay(3, 4), 2).await;
    sqlx::query(
        "update reservation set status = 'held', hold_until = ledger_now(), \
         hold_dead_at = ledger_now() + interval '60 s' where reservation_id = $1",
    )
    .bind(id.0)
    .execute(&told.hotel.pool)
    .await
    .expect("a hold");
    sqlx::query("update night set held = sold, sold = 0 where sold > 0")
        .execute(&told.hotel.pool)
        .await
        .expect("its night");
    assert_eq!(told.rooms(3..4).await, [(2, false)]);
    told.hotel.at("2030-06-01T10:05:00Z").await;
    assert_eq!(told.rooms(3..4).await, [(4, false)]);
}

#[tokio::test]
async fn every_mapped_cell_has_a_key_as_far_as_the_account_is_told() {
    let mut told = Told::open().await;
    let keys = tail::keys(&told.hotel.ledger, &told.listing())
        .await
        .expect("no failure");
    assert_eq!(keys.len(), 40, "room and plan over the channel's 20 nights");
    assert_eq!((keys[0], keys[39]), (told.room(0), told.plan(19)));
    told.account.settings.horizon_days = Some(3);
    let keys = tail::keys(&told.hotel.ledger, &told.listing())
        .await
        .expect("no failure");
    assert_eq!(keys.len(), 6);
    let day = tail::business_day(&told.hotel.ledger, told.hotel.property).await;
    assert_eq!(
        day.expect("no failure"),
        (stay(0, 30).arrival(), stay(0, 30).departure())
    );
}

#[tokio::test]
async fn a_closed_account_is_told_zero_and_closed_everywhere() {
    let mut told = Told::open().await;
    told.account.state = AccountState::Closed;
    assert_eq!(told.rooms(0..3).await, [(0, true); 3]);
}

#[tokio::test]
async fn buffers_and_compositions_count_in_what_is_told_and_are_explained() {
    let told = Told::open().await;
    let flat = RoomTypeSetup {
        components: vec![("dbl".into(), 2)],
        ..room_type("Flat", 0)
    };
    let flat = told.hotel.room_type("flat", flat).await;
    let told = told
        .map(&[("dbl", None), ("dbl", Some("flex")), ("flat", None)])
        .await;
    let rule = BufferRule {
        account: Some(told.account.id),
        room_type: Some(told.dbl),
        nights: Some(stay(2, 3)),
        weekdays: Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: None,
        kind: BufferKind::KeepBack(3),
    };
    let (ledger, by) = (&told.hotel.ledger, &told.hotel.by);
    let put = catalog::put_buffer_rules(ledger, told.hotel.property, by, vec![rule]).await;
    put.expect("no failure").expect("no refusal");
    sell(&told.hotel, told.dbl, stay(1, 2), 1).await;
    assert_eq!(told.rooms(1..4).await, [(3, false), (1, false), (4, false)]);
    let flats: Vec<AriKey> = (1..3)
        .map(|offset| AriKey {
            room_type: flat,
            ..told.room(offset)
        })
        .collect();
    let flats = told.cells(&flats).await;
    assert_eq!(
        flats.iter().map(|c| c.values.rooms).collect::<Vec<_>>(),
        [Some(1), Some(2)]
    );
    let touched = tail::types_touched(ledger, told.hotel.property, told.dbl).await;
    assert_eq!(touched.expect("no failure"), [told.dbl, flat]);

    let lines = tail::explain(ledger, &told.listing(), told.room(2))
        .await
        .expect("no failure");
    let steps: Vec<(&str, Option<i32>)> = lines
        .iter()
        .map(|line| (line.step.as_str(), line.rooms))
        .collect();
    assert_eq!(
        steps,
        [
            ("setup", None),
            ("pool", Some(4)),
            ("buffer_rule", Some(1)),
            ("told", Some(1))
        ]
    );
    let stranger = AriKey {
        rate_plan: Some(RatePlanId(99)),
        ..told.room(2)
    };
    let lines = tail::explain(ledger, &told.listing(), stranger)
        .await
        .expect("no failure");
    assert_eq!(lines[0].step, "mapping");
}

/// Entries behind a cursor, once so many may be read: other tests write on the same cluster, and
/// the horizon spans it.
async fn read(hotel: &Hotel, after: Cursor, count: usize) -> Vec<TailEntry> {
    for _ in 0..500 {
        let entries = tail::entries(&hotel.ledger, after, 10).await.expect("read");
        if entries.len() >= count {
            return entries;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("fewer than {count} entries behind {after:?}");
}

#[tokio::test]
async fn a_tail_is_read_in_order_and_never_ahead_of_who_still_writes() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    let (start, _) = tail::ends(&hotel.ledger).await.expect("no failure");
    let reservation = sell(hotel, told.dbl, stay(3, 5), 1).await;
    let entries = read(hotel, start, 1).await;
    let entry = entries.last().expect("one");
    assert_eq!(
        (entry.kind.as_str(), entry.is_first_line),
        ("confirmed", true)
    );
    assert_eq!(
        (entry.reservation, entry.version),
        (Some(reservation), Some(1))
    );
    assert_eq!(
        (entry.room_type, entry.nights),
        (Some(told.dbl), Some(stay(3, 5)))
    );
    assert_eq!(
        tail::entries(&hotel.ledger, entry.cursor, 10)
            .await
            .expect("read"),
        []
    );

    // Somebody begins to write, and somebody else commits after that: neither is read yet.
    let mut slow = hotel.pool.begin().await.expect("a transaction");
    sqlx::query("select pg_current_xact_id()")
        .execute(&mut *slow)
        .await
        .expect("a transaction id");
    sell(hotel, told.dbl, stay(6, 7), 1).await;
    assert_eq!(
        tail::entries(&hotel.ledger, entry.cursor, 10)
            .await
            .expect("read"),
        []
    );
    let (_, _, age) = tail::cluster(&hotel.ledger).await.expect("no failure");
    assert!(age >= 0);
    slow.commit().await.expect("it ends");
    assert_eq!(read(hotel, entry.cursor, 1).await.len(), 1);
    let (identifier, ..) = tail::cluster(&hotel.ledger).await.expect("no failure");
    assert!(identifier.parse::<u64>().is_ok());
    let all = tail::entries(&hotel.ledger, Cursor::default(), 2)
        .await
        .expect("read");
    let rest = tail::entries(&hotel.ledger, all[1].cursor, 10)
        .await
        .expect("read");
    assert!(all[0].cursor < all[1].cursor && all[1].cursor < rest[0].cursor);
}

#[tokio::test]
async fn changes_of_rules_have_their_own_tail() {
    let told = Told::open().await;
    let hotel = &told.hotel;
    sell(hotel, told.dbl, stay(3, 5), 1).await;
    read(hotel, Cursor::default(), 2).await;
    let all = tail::rate_changes(&hotel.ledger, Cursor::default(), 10)
        .await
        .expect("read");
    let fields: Vec<&str> = all.iter().map(|change| change.fields[0].as_str()).collect();
    assert_eq!(fields, ["account", "mapping"]);
    let last = &all[1];
    assert_eq!(
        (last.account, last.room_type),
        (Some(told.account.id), None)
    );
    assert_eq!(last.nights, stay(0, 30));
    assert_eq!(
        tail::rate_changes(&hotel.ledger, last.cursor, 10)
            .await
            .expect("read"),
        []
    );
}

#[tokio::test]
async fn a_change_of_buffer_rules_touches_only_the_nights_that_they_bind() {
    let told = Told::open().await.map(&[("dbl", None)]).await;
    let hotel = &told.hotel;
    // As long as the business day has not rolled over everything is told.
    inventory::roll_over(&hotel.ledger, hotel.property)
        .await
        .expect("a new day");
    let narrow = BufferRule {
        account: Some(told.account.id),
        room_type: Some(told.dbl),
        nights: Some(stay(2, 5)),
        weekdays: Weekdays::ALL,
        lead_days_min: None,
        lead_days_max: None,
        kind: BufferKind::Cap(1),
    };
    let near = BufferRule {
        account: None,
        room_type: None,
        nights: None,
        lead_days_max: Some(1),
        kind: BufferKind::SharePercent(50),
        ..narrow.clone()
    };
    let (account, dbl) = (told.account.id.0, told.dbl.0);
    for (rules, touched) in [
        (vec![narrow.clone()], vec![(account, dbl, stay(2, 5))]),
        (vec![near.clone(), narrow.clone()], vec![(0, 0, stay(0, 2))]),
        (vec![narrow.clone(), near.clone()], vec![]),
        (vec![near], vec![(account, dbl, stay(2, 5))]),
    ] {
        let put = catalog::put_buffer_rules(&hotel.ledger, hotel.property, &hotel.by, rules);
        put.await.expect("no failure").expect("no refusal");
        // Not along the tail: that waits for whoever else writes on the cluster.
        let written: Vec<(i64, i64, jiff_sqlx::Date, jiff_sqlx::Date)> = sqlx::query_as(
            "delete from rate_change where 'buffer_rule' = any(fields)
             returning account_id, room_type_id, night_from, night_until",
        )
        .fetch_all(&hotel.pool)
        .await
        .expect("read");
        let scopes = written.iter().map(|(account, room_type, from, until)| {
            let nights = Stay::new(from.to_jiff(), until.to_jiff()).expect("a range");
            (*account, *room_type, nights)
        });
        assert_eq!(scopes.collect::<Vec<_>>(), touched);
    }
    assert_eq!(told.rooms(0..3).await, [(2, false), (2, false), (4, false)]);
}

#[tokio::test]
async fn both_tails_are_read_along_their_index() {
    let told = Told::open().await;
    let mut conn = told.hotel.pool.acquire().await.expect("a connection");
    // A small table would be read whole.
    sqlx::query("set enable_seqscan = off")
        .execute(&mut *conn)
        .await
        .expect("set");
    sqlx::query("set enable_bitmapscan = off")
        .execute(&mut *conn)
        .await
        .expect("set");
    for table in ["ledger_entry", "rate_change"] {
        let explain = format!(
            "explain (costs off) select * from {table} where (tx, seq) > ('1'::text::xid8, 2)
             and tx < pg_snapshot_xmin(pg_current_snapshot()) order by {table}.tx, seq limit 10"
        );
        let plan: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(explain))
            .fetch_all(&mut *conn)
            .await
            .expect("a plan");
        let plan = plan.join("\n");
        assert!(
            plan.contains(&format!("Index Scan using {table}_tail")),
            "{plan}"
        );
        assert!(plan.contains("Index Cond: ((ROW(tx, seq) >"), "{plan}");
        assert!(!plan.contains("Sort"), "{plan}");
    }
}
