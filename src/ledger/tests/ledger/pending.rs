//! Bookings that are not yet confirmed, and bookings whose connection breaks under them: each holds
//! its nights, and each holds them once.

use std::time::Duration;

use futures_util::future::join_all;
use keyrack_ledger::command::HoldEnd;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Status;

use crate::hotel::{Hotel, ask, reservation};

#[tokio::test(flavor = "multi_thread")]
async fn r35_a_booking_that_waits_for_payment_holds_its_nights_once_and_may_pay_to_the_end() {
    let hotel = Hotel::of(1).await;
    let second = hotel.second_daemon().await;
    for round in 0..10 {
        let from = round * 3;
        let wish = || hotel.wish(from, 2, Some(HoldEnd::Default));
        // Two at the same moment: one waits, the other hears that nothing is free.
        let (one, other) = tokio::join!(
            ask(&hotel.ledger, hotel.property, wish()),
            ask(&second, hotel.property, wish()),
        );
        let answers = [one.expect("no failure"), other.expect("no failure")];
        let pending: Vec<ReservationId> = answers
            .iter()
            .filter_map(|answer| answer.as_ref().ok()?.reservation.as_ref())
            .map(|held| held.id)
            .collect();
        assert_eq!(pending.len(), 1, "round {round}");
        let refused = answers.iter().filter_map(|answer| answer.as_ref().err());
        let refused: Vec<&Refusal> = refused.collect();
        assert!(matches!(refused[..], [Refusal::SoldOut(_)]), "{refused:?}");
        let night = hotel.night(from).await;
        assert_eq!((night.held, night.sold, night.free()), (1, 0, 0));

        // Until its very end others are refused, and it can be confirmed.
        hotel.pass("9 minutes 50 seconds").await;
        assert!(matches!(
            hotel.hold(from, 1).await,
            Err(Refusal::SoldOut(_))
        ));
        let stays = reservation(hotel.confirm(pending[0], None).await);
        assert_eq!(stays.status, Status::Confirmed);
        let night = hotel.night(from).await;
        assert_eq!((night.held, night.sold, night.free()), (0, 1, 0));
    }
    hotel.assert_proven().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r35_as_many_bookings_wait_as_there_are_rooms_and_all_of_them_are_confirmed() {
    let hotel = Hotel::of(3).await;
    let asked = join_all((0..12).map(|_| hotel.hold(0, 2))).await;
    let held: Vec<ReservationId> = asked
        .into_iter()
        .filter_map(|answer| Some(answer.ok()?.reservation?.id))
        .collect();
    assert_eq!(held.len(), 3);
    assert_eq!(hotel.night(1).await.free(), 0, "and never below");
    for answer in join_all(held.iter().map(|id| hotel.confirm(*id, None))).await {
        assert_eq!(reservation(answer).status, Status::Confirmed);
    }
    assert_eq!(
        (hotel.night(1).await.sold, hotel.night(1).await.free()),
        (3, 0)
    );
    hotel.assert_proven().await;
}

/// The next connection that writes the table is cut before or after its statement, once.
async fn cut_at(hotel: &Hotel, moment: &str, table: &str) {
    let sql = format!(
        "create or replace function cut() returns trigger language plpgsql as $$ begin
             if nextval('cut_turn') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if;
             return null; end $$;
         drop sequence if exists cut_turn; create sequence cut_turn;
         create trigger cut {moment} insert or update or delete on {table}
            for each statement execute function cut()"
    );
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
    sql.execute(&hotel.pool).await.expect("a trigger");
}

async fn heal(hotel: &Hotel, table: &str) -> bool {
    let sql = format!("drop trigger cut on {table}");
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
    sql.execute(&hotel.pool).await.expect("no trigger any more");
    hotel
        .count("select count(*) from cut_turn where is_called")
        .await
        == 1
}

/// Standing reservations and how often each of their nights was taken, where that is not once.
const NOT_ONCE: &str = "select count(*) from (
         select r.reservation_id, s.room_stay_id, d
           from reservation r join room_stay s using (property_id, reservation_id)
          cross join lateral generate_series(s.arrival, s.departure - 1, interval '1 day') d
           left join ledger_entry e on e.property_id = r.property_id
                and e.reservation_id = r.reservation_id and e.room_type_id = s.room_type_id
                and e.from_pool = 'free' and e.to_pool in ('held', 'sold')
                and e.night_from <= d and e.night_until > d
          where r.status in ('held', 'confirmed')
          group by 1, 2, 3 having coalesce(sum(e.quantity), 0) <> 1) odd";

#[tokio::test(flavor = "multi_thread")]
async fn r31_a_booking_whose_connection_breaks_at_any_statement_has_each_night_once_or_is_none() {
    let hotel = Hotel::of(10_000).await;
    // Its nights, and a first one of everything.
    hotel
        .confirm(hotel.held(0, 3).await.id, None)
        .await
        .expect("confirmed");
    let tables: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace
            and relkind = 'r' and relname not in ('clock_shift', '_sqlx_migrations') order by 1",
    )
    .fetch_all(&hotel.pool)
    .await
    .expect("tables");
    let (mut cuts, mut told) = (0, Vec::new());
    for (table, moment) in tables
        .iter()
        .flat_map(|table| [(table, "before"), (table, "after")])
    {
        for confirms in [false, true] {
            let held = confirms.then_some(hotel.held(0, 3).await);
            cut_at(&hotel, moment, table).await;
            let answer = match &held {
                None => {
                    let wish = hotel.wish(0, 3, Some(HoldEnd::Default));
                    ask(&hotel.ledger, hotel.property, wish).await
                }
                Some(held) => {
                    let command = keyrack_ledger::command::Command::Confirm {
                        reservation: held.id,
                        payment_reference: Some("p".to_owned()),
                        version: None,
                    };
                    ask(&hotel.ledger, hotel.property, command).await
                }
            };
            cuts += i32::from(heal(&hotel, table).await);
            if let Ok(answer) = answer {
                told.push(reservation(answer));
            }
            assert_eq!(hotel.count(NOT_ONCE).await, 0, "{moment} {table}");
        }
    }
    assert!(cuts >= 12, "only {cuts} connections were cut");
    tokio::time::sleep(Duration::from_millis(50)).await;
    for told in &told {
        let status: String =
            sqlx::query_scalar("select status from reservation where reservation_id = $1")
                .bind(told.id.0)
                .fetch_one(&hotel.pool)
                .await
                .expect("what was told is there");
        assert_eq!(status, told.status.as_str());
    }
    hotel.assert_proven().await;
}
