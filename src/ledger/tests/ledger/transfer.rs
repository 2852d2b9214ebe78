//! Guests who go to a hotel of the same owner: there first, then here, whatever happens between.

use keyrack_ledger::command::Command;
use keyrack_ledger::decide::overbooking::end::CaseEnd;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::overbookings::case::{self, Case, Listed};
use keyrack_ledger::overbookings::transfer::{self, Departure};
use keyrack_ledger::verify::{self, Extent};
use keyrack_model::id::{PropertyId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::RevisionKind;

use crate::full::{by, ending};
use crate::hotel::{Hotel, ask, report, stay, wish_for};

/// `seehof` with one double that is sold twice, and `seeblick` with one double that is free.
struct Sisters {
    hotel: Hotel,
    guest: Reservation,
    /// Which of the guest's rooms goes there.
    room: Option<RoomStayId>,
    /// The other house and its double.
    there: (PropertyId, RoomTypeId),
}

impl Sisters {
    async fn of() -> Self {
        Self::with_rooms(1).await
    }

    /// The guest has so many rooms.
    async fn with_rooms(rooms: usize) -> Self {
        let hotel = Hotel::of(1).await;
        let sister = "insert into property (code, name, time_zone, currency, policies)
             values ('seeblick', 'Seeblick', 'Europe/Rome', 'EUR',
                     '{\"overbooking\": {\"sister_properties\": [\"seehof\"]}}')
             returning property_id";
        let sister: i64 = sqlx::query_scalar(sister)
            .fetch_one(&hotel.pool)
            .await
            .unwrap();
        let double_there = Hotel::room_type(&hotel.pool, sister, "dbl", 1).await;
        sqlx::query(
            "update property set rules_version = rules_version + 1, policies =
                    '{\"overbooking\": {\"sister_properties\": [\"seeblick\"]}}'
              where code = 'seehof'",
        )
        .execute(&hotel.pool)
        .await
        .unwrap();
        hotel.confirmed(0, 2).await;
        let mut booked = report("R1", RevisionKind::New, 0, 2);
        booked.rooms = vec![booked.rooms[0].clone(); rooms];
        let told = hotel.record(booked).await;
        Self {
            guest: *told.reservation.unwrap(),
            room: None,
            there: (PropertyId(sister), double_there),
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
        self.try_to_go().await.unwrap()
    }

    async fn try_to_go(&self) -> Result<Result<Case, Refusal>, LedgerError> {
        self.try_to(false).await
    }

    async fn try_to(&self, rehearses: bool) -> Result<Result<Case, Refusal>, LedgerError> {
        let end = CaseEnd {
            told_channel: true,
            rehearses,
            ..ending(self.case().await.id, Ending::SisterProperty, Vec::new())
        };
        let departure = Departure {
            reservation: self.guest.id,
            room_stay: self.room,
            version: Some(self.guest.version),
            property: "seeblick".to_owned(),
            room_type: "dbl".to_owned(),
        };
        let (ledger, property) = (&self.hotel.ledger, self.hotel.property);
        transfer::end(ledger, property, by(), end, &[departure]).await
    }

    /// The house grows.
    async fn more_rooms_here(&self, more: i32) {
        let command = Command::SetPhysical {
            room_type: self.hotel.double,
            nights: stay(0, 2),
            rooms: 1 + more,
            force: None,
            dry_run: false,
        };
        self.hotel.ask(command).await.unwrap();
    }

    /// Whoever does this dies.
    async fn kill_at(&self, trigger: &'static str) {
        self.run(
            "create function stop_here() returns trigger language plpgsql as
             $$ begin raise exception 'killed'; end $$",
        )
        .await;
        self.run(trigger).await;
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

/// A family has two rooms, of which one goes there.
#[tokio::test]
async fn one_room_of_several_goes_there_and_the_others_stay() {
    let mut sisters = Sisters::with_rooms(2).await;
    sisters.room = Some(RoomStayId(2));
    let refused = sisters.go().await;
    let Err(Refusal::IllegalTransition(words)) = refused else {
        panic!("one is still too many: {refused:?}")
    };
    assert!(words.contains("more would still be sold"), "{words}");
    assert_eq!(sisters.sold().await, (3, 0, 0));
    sisters.more_rooms_here(1).await;
    sisters.go().await.unwrap();
    assert_eq!(sisters.sold().await, (2, 1, 0));
    let again = sisters.go().await.unwrap();
    assert_eq!(again.resolution.unwrap()["moves"][0]["room_stay_id"], 2);
    assert_eq!(
        sisters.sold().await,
        (2, 1, 0),
        "a repeat takes nothing more"
    );
    sisters.proven().await;
}

/// Asked and not done: it says yes where they could go and no where no room is free there.
#[tokio::test]
async fn a_rehearsal_asks_the_other_house_too() {
    let sisters = Sisters::of().await;
    let could = sisters.try_to(true).await.unwrap().unwrap();
    assert!(could.is_open());
    assert_eq!(sisters.sold().await, (2, 0, 0));
    let (there, double) = sisters.there;
    let booked = ask(&sisters.hotel.ledger, there, wish_for(double, 1, 1, None)).await;
    booked.unwrap().unwrap();
    let refused = sisters.try_to(true).await.unwrap();
    let Err(Refusal::IllegalTransition(words)) = refused else {
        panic!("nothing is free there: {refused:?}")
    };
    assert!(words.contains("cannot sleep at seeblick"), "{words}");
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
    assert!(words.contains("cannot sleep at seeblick"), "{words}");
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

/// Before the other house has taken the room; after it, before the row says so; after the release,
/// before the row says so. And how each is lifted.
const DEATHS: [(&str, &str); 3] = [
    (
        "create trigger stop before insert on reservation
         for each row execute function stop_here()",
        "drop trigger stop on reservation",
    ),
    (
        "create trigger stop before update on overbooking_transfer
         for each row when (new.step = 'releasing') execute function stop_here()",
        "drop trigger stop on overbooking_transfer",
    ),
    (
        "create trigger stop before update on overbooking_transfer
         for each row when (new.step = 'done') execute function stop_here()",
        "drop trigger stop on overbooking_transfer",
    ),
];

#[tokio::test]
async fn what_a_daemon_left_between_two_steps_is_taken_up_by_the_next() {
    for (death, lifted) in DEATHS {
        let sisters = Sisters::of().await;
        sisters.kill_at(death).await;
        assert!(sisters.try_to_go().await.is_err(), "{death}");
        let (here, there, open) = sisters.sold().await;
        assert!(
            here + there >= 2 && open == 1,
            "nobody is without a room: {death}"
        );
        sisters.run(lifted).await;
        let (ledger, other) = (&sisters.hotel.ledger, sisters.hotel.second_daemon().await);
        let resumed = transfer::resume_due(&other).await.unwrap();
        assert_eq!(resumed, 0, "it may still be at work");
        sisters.hotel.pass("2 minutes").await;
        let (one, two) = tokio::join!(transfer::resume_due(&other), transfer::resume_due(ledger));
        assert_eq!(one.unwrap() + two.unwrap(), 1, "{death}");
        assert_eq!(sisters.sold().await, (1, 1, 0), "{death}");
        let ended = sisters.case().await;
        assert_eq!(ended.outcome.as_deref(), Some("sister_property"));
        sisters.proven().await;
    }
}

/// The guest cancels while he is on his way: nobody keeps two rooms.
#[tokio::test]
async fn a_guest_who_changes_his_mind_on_the_way_leaves_no_room_behind() {
    let sisters = Sisters::of().await;
    sisters.kill_at(DEATHS[1].0).await;
    assert!(sisters.try_to_go().await.is_err());
    sisters.run(DEATHS[1].1).await;
    let cancel = report("R1", RevisionKind::Cancelled, 0, 2);
    sisters.hotel.record(cancel).await;
    sisters.hotel.pass("2 minutes").await;
    let resumed = transfer::resume_due(&sisters.hotel.ledger).await;
    assert_eq!(resumed.unwrap(), 1);
    assert_eq!(sisters.sold().await, (1, 0, 0));
    assert_eq!(sisters.case().await.outcome.as_deref(), Some("cured"));
    sisters.proven().await;
}

/// What was used up for nothing: the answer of whoever asks for it later.
const USED_UP: &str = "'{\"reservation\": null, \"did\": \"inventory_set\", \"nights\": [], \
    \"short\": []}'::jsonb";

/// A daemon was held up while another gave the transfer up: whatever it had not done yet it does no
/// more, and what it had done is undone.
#[tokio::test]
async fn who_was_held_up_takes_nothing_that_another_has_given_up() {
    for key in [
        "'take:' || (new.moves -> 0 ->> 'taken_as')",
        "'release:' || new.transfer_id",
    ] {
        let sisters = Sisters::of().await;
        let other = format!(
            "create function stop_here() returns trigger language plpgsql as $$ begin
                 insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
                 values ('overbooking_transfer', {key}, {key}, {USED_UP}, ledger_now());
                 return null;
             end $$"
        );
        sqlx::query(sqlx::AssertSqlSafe(other))
            .execute(&sisters.hotel.pool)
            .await
            .unwrap();
        sisters
            .run(
                "create trigger another after insert on overbooking_transfer
                 for each row execute function stop_here()",
            )
            .await;
        let refused = sisters.go().await.unwrap_err();
        assert!(matches!(refused, Refusal::IllegalTransition(_)), "{key}");
        assert_eq!(sisters.sold().await, (2, 0, 0), "{key}");
        assert!(sisters.case().await.is_open(), "{key}");
        sisters.proven().await;
    }
}

/// Somebody else wrote down that the guests have left: nothing is taken back.
#[tokio::test]
async fn who_comes_late_to_a_step_goes_on_from_where_the_other_is() {
    let sisters = Sisters::of().await;
    sisters
        .run(
            "create function stop_here() returns trigger language plpgsql as $$ begin
                 update overbooking_transfer set step = 'done', ended_at = ledger_now();
                 return null;
             end $$",
        )
        .await;
    sisters
        .run(
            "create trigger another after insert on idempotency_key for each row
             when (new.key like 'release:%') execute function stop_here()",
        )
        .await;
    let ended = sisters.go().await.unwrap();
    assert_eq!(ended.outcome.as_deref(), Some("sister_property"));
    assert_eq!(sisters.sold().await, (1, 1, 0));
    sisters.proven().await;
}

/// Every daemon was down for so long that the keys are forgotten: the guests have left nonetheless.
#[tokio::test]
async fn keys_that_are_forgotten_do_not_take_a_guest_his_room() {
    let sisters = Sisters::of().await;
    sisters.kill_at(DEATHS[2].0).await;
    assert!(sisters.try_to_go().await.is_err());
    sisters.run(DEATHS[2].1).await;
    sisters.run("delete from idempotency_key").await;
    sisters.hotel.pass("3 days").await;
    let resumed = transfer::resume_due(&sisters.hotel.ledger).await;
    assert_eq!(resumed.unwrap(), 1);
    assert_eq!(sisters.sold().await, (1, 1, 0));
    sisters.proven().await;
}

#[tokio::test]
async fn a_guest_who_is_named_twice_takes_no_second_room() {
    let sisters = Sisters::of().await;
    sisters
        .run("update room_type set rooms = 9 where code = 'dbl'")
        .await;
    let end = CaseEnd {
        told_channel: true,
        ..ending(sisters.case().await.id, Ending::SisterProperty, Vec::new())
    };
    let departure = Departure {
        reservation: sisters.guest.id,
        room_stay: None,
        version: None,
        property: "seeblick".to_owned(),
        room_type: "dbl".to_owned(),
    };
    let twice = [departure.clone(), departure];
    let (ledger, property) = (&sisters.hotel.ledger, sisters.hotel.property);
    let refused = transfer::end(ledger, property, by(), end, &twice).await;
    let Err(Refusal::Invalid(wrong)) = refused.unwrap() else {
        panic!("one guest, two rooms")
    };
    assert_eq!(wrong[0].0, "/moves/1/reservation");
    assert_eq!(sisters.sold().await, (2, 0, 0));
}

/// The same ending asked for other guests is another wish, not a repeat.
#[tokio::test]
async fn a_repeat_is_of_the_same_guests() {
    let sisters = Sisters::of().await;
    sisters.go().await.unwrap();
    let other = sisters.hotel.confirmed(9, 1).await;
    let end = ending(sisters.case().await.id, Ending::SisterProperty, Vec::new());
    let departure = Departure {
        reservation: other.id,
        room_stay: None,
        version: None,
        property: "seeblick".to_owned(),
        room_type: "dbl".to_owned(),
    };
    let (ledger, property) = (&sisters.hotel.ledger, sisters.hotel.property);
    let refused = transfer::end(ledger, property, by(), end, &[departure]).await;
    assert!(matches!(
        refused.unwrap(),
        Err(Refusal::IllegalTransition(_))
    ));
    assert_eq!(sisters.sold().await, (1, 1, 0));
}
