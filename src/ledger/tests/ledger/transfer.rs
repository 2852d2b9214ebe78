//! Guests who go to a hotel of the same owner: there first, then here, whatever happens between.

use keyrack_ledger::command::By;
use keyrack_ledger::decide::overbooking::end::CaseEnd;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::overbookings::case::{self, Case, Listed};
use keyrack_ledger::overbookings::transfer::{self, Departure};
use keyrack_ledger::verify::{self, Extent};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::RevisionKind;

use crate::hotel::{Hotel, report};

/// `seehof` with one double that is sold twice, and `seeblick` with one double that is free.
struct Sisters {
    hotel: Hotel,
    guest: Reservation,
}

impl Sisters {
    async fn of() -> Self {
        let hotel = Hotel::of(1).await;
        let sister = "insert into property (code, name, time_zone, currency, policies)
             values ('seeblick', 'Seeblick', 'Europe/Rome', 'EUR',
                     '{\"overbooking\": {\"sister_properties\": [\"seehof\"]}}')
             returning property_id";
        let sister: i64 = sqlx::query_scalar(sister)
            .fetch_one(&hotel.pool)
            .await
            .unwrap();
        Hotel::room_type(&hotel.pool, sister, "dbl", 1).await;
        sqlx::query(
            "update property set rules_version = rules_version + 1, policies =
                    '{\"overbooking\": {\"sister_properties\": [\"seeblick\"]}}'
              where code = 'seehof'",
        )
        .execute(&hotel.pool)
        .await
        .unwrap();
        hotel.confirmed(0, 2).await;
        let told = hotel.record(report("R1", RevisionKind::New, 0, 2)).await;
        Self {
            guest: told.reservation.unwrap(),
            hotel,
        }
    }

    async fn case(&self) -> Case {
        let listed = Listed {
            limit: 9,
            ..Listed::default()
        };
        case::list(&self.hotel.ledger, self.hotel.property, listed)
            .await
            .unwrap()
            .pop()
            .unwrap()
    }

    async fn go(&self) -> Result<Case, Refusal> {
        let end = CaseEnd {
            case: self.case().await.id,
            version: None,
            ending: Ending::SisterProperty,
            moves: Vec::new(),
            cost_minor: None,
            note: None,
            told_channel: true,
            may_approve: false,
            rehearses: false,
        };
        let departure = Departure {
            reservation: self.guest.id,
            version: Some(self.guest.version),
            property: "seeblick".to_owned(),
            room_type: "dbl".to_owned(),
        };
        let by = By {
            actor: "key:1 (Anna)".to_owned(),
            request_id: None,
        };
        let (ledger, property) = (&self.hotel.ledger, self.hotel.property);
        transfer::end(ledger, property, by, end, &[departure])
            .await
            .unwrap()
    }

    /// Rooms sold here and there on the first night, and open transfers.
    async fn sold(&self) -> (i64, i64, i64) {
        let here = "select coalesce(sum(sold), 0) from night join property using (property_id)
                     where code = 'seehof' and stay_date = '2030-03-01'";
        let there = "select coalesce(sum(sold), 0) from night join property using (property_id)
                      where code = 'seeblick' and stay_date = '2030-03-01'";
        let open = "select count(*) from overbooking_transfer where ended_at is null";
        (
            self.hotel.count(here).await,
            self.hotel.count(there).await,
            self.hotel.count(open).await,
        )
    }

    async fn run(&self, sql: &'static str) {
        sqlx::query(sql).execute(&self.hotel.pool).await.unwrap();
    }

    async fn proven(&self) {
        self.hotel.assert_proven().await;
        let whole = verify::verify(&self.hotel.ledger, None, Extent::Whole).await;
        assert_eq!(whole.unwrap().differences, []);
    }
}

#[tokio::test]
async fn a_guest_has_his_room_there_before_he_loses_it_here() {
    let sisters = Sisters::of().await;
    let ended = sisters.go().await.unwrap();
    assert_eq!(ended.outcome.as_deref(), Some("sister_property"));
    assert_eq!(
        ended.resolution.unwrap()["moves"][0]["elsewhere"],
        "seeblick"
    );
    assert_eq!(sisters.sold().await, (1, 1, 0));
    let again = sisters.go().await.unwrap();
    assert_eq!(again.outcome.as_deref(), Some("sister_property"));
    assert_eq!(
        sisters.sold().await,
        (1, 1, 0),
        "a repeat takes nothing more"
    );
    sisters.proven().await;
}

#[tokio::test]
async fn what_cannot_be_had_there_leaves_everything_here() {
    let sisters = Sisters::of().await;
    sisters
        .run("update room_type set rooms = 0 where code = 'dbl'")
        .await;
    let refused = sisters.go().await.unwrap_err();
    let Refusal::IllegalTransition(words) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        words.starts_with("seeblick cannot take the guest"),
        "{words}"
    );
    assert_eq!(sisters.sold().await, (2, 0, 0));
    let case = sisters.case().await;
    assert!(case.is_open());
    assert_eq!(case.events.last().unwrap().0, "transfer_given_up");
    sisters
        .run("update property set policies = '{}' where code = 'seeblick'")
        .await;
    let refused = sisters.go().await.unwrap_err();
    assert!(
        matches!(refused, Refusal::Invalid(_)),
        "both must name each other: {refused:?}"
    );
    sisters.proven().await;
}

/// A daemon dies after each of the steps; another one takes the guest up.
#[tokio::test]
async fn what_a_daemon_left_between_two_steps_is_taken_up_by_the_next() {
    for kill_at in ["taking", "taken", "released"] {
        let sisters = Sisters::of().await;
        // The row as it lies before anything is taken: as if it had died then.
        sisters
            .run(
                "create function stop_here() returns trigger language plpgsql as
             $$ begin raise exception 'killed'; end $$",
            )
            .await;
        let trigger = match kill_at {
            // Before the other house has taken the room.
            "taking" => {
                "create trigger stop before insert on reservation
                         for each row execute function stop_here()"
            }
            // After it, before the row says so.
            "taken" => {
                "create trigger stop before update on overbooking_transfer
                        for each row when (new.step = 'releasing') execute function stop_here()"
            }
            // After the release, before the row says so.
            _ => {
                "create trigger stop before update on overbooking_transfer
                  for each row when (new.step = 'done') execute function stop_here()"
            }
        };
        sisters.run(trigger).await;
        let id = sisters.case().await.id;
        let end = CaseEnd {
            case: id,
            version: None,
            ending: Ending::SisterProperty,
            moves: Vec::new(),
            cost_minor: None,
            note: None,
            told_channel: true,
            may_approve: false,
            rehearses: false,
        };
        let departure = Departure {
            reservation: sisters.guest.id,
            version: None,
            property: "seeblick".to_owned(),
            room_type: "dbl".to_owned(),
        };
        let (ledger, property) = (&sisters.hotel.ledger, sisters.hotel.property);
        let died = transfer::end(ledger, property, By::default(), end, &[departure]).await;
        assert!(died.is_err(), "{kill_at}");
        let (here, there, open) = sisters.sold().await;
        assert!(
            here + there >= 2 && open == 1,
            "{kill_at}: nobody is without a room"
        );
        sisters
            .run(match kill_at {
                "taking" => "drop trigger stop on reservation",
                _ => "drop trigger stop on overbooking_transfer",
            })
            .await;
        let other = sisters.hotel.second_daemon().await;
        assert_eq!(
            transfer::resume_due(&other).await.unwrap(),
            0,
            "it may still be at work"
        );
        sisters.hotel.pass("2 minutes").await;
        let (one, two) = tokio::join!(transfer::resume_due(&other), transfer::resume_due(ledger));
        assert_eq!(one.unwrap() + two.unwrap(), 1, "{kill_at}");
        assert_eq!(sisters.sold().await, (1, 1, 0), "{kill_at}");
        assert_eq!(
            sisters.case().await.outcome.as_deref(),
            Some("sister_property")
        );
        sisters.proven().await;
    }
}

/// The guest cancels while he is on his way: nobody keeps two rooms.
#[tokio::test]
async fn a_guest_who_changes_his_mind_on_the_way_leaves_no_room_behind() {
    let sisters = Sisters::of().await;
    sisters
        .run(
            "create function stop_here() returns trigger language plpgsql as
         $$ begin raise exception 'killed'; end $$",
        )
        .await;
    sisters
        .run(
            "create trigger stop before update on overbooking_transfer
         for each row when (new.step = 'releasing') execute function stop_here()",
        )
        .await;
    let case = sisters.case().await;
    let end = CaseEnd {
        case: case.id,
        version: None,
        ending: Ending::SisterProperty,
        moves: Vec::new(),
        cost_minor: None,
        note: None,
        told_channel: true,
        may_approve: false,
        rehearses: false,
    };
    let departure = Departure {
        reservation: sisters.guest.id,
        version: None,
        property: "seeblick".to_owned(),
        room_type: "dbl".to_owned(),
    };
    let (ledger, property) = (&sisters.hotel.ledger, sisters.hotel.property);
    let died = transfer::end(ledger, property, By::default(), end, &[departure]).await;
    assert!(died.is_err());
    sisters
        .run("drop trigger stop on overbooking_transfer")
        .await;
    sisters
        .hotel
        .record(report("R1", RevisionKind::Cancelled, 0, 2))
        .await;
    sisters.hotel.pass("2 minutes").await;
    assert_eq!(transfer::resume_due(ledger).await.unwrap(), 1);
    assert_eq!(sisters.sold().await, (1, 0, 0));
    assert_eq!(sisters.case().await.outcome.as_deref(), Some("cured"));
    sisters.proven().await;
}
