//! A hotel with an overbooking, and short ways to work its case.

use keyrack_ledger::command::By;
use keyrack_ledger::decide::overbooking::end::{CaseEnd, CaseMove};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::overbookings;
use keyrack_ledger::overbookings::case::{self, Case, Listed};
use keyrack_ledger::verify::{self, Extent};
use keyrack_ledger::{inventory, reservations};
use keyrack_model::id::{CaseId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::RevisionKind;

use crate::hotel::{Hotel, report};

/// One double on `FIRST` and the night after, sold at the desk and by the channel; one suite.
pub struct Full {
    pub hotel: Hotel,
    pub suite: RoomTypeId,
    pub desk: Reservation,
    pub sold_there: Reservation,
}

pub fn by() -> By {
    By {
        actor: "key:1 (Anna)".to_owned(),
        request_id: None,
    }
}

pub fn to(reservation: &Reservation, room_type: Option<RoomTypeId>) -> CaseMove {
    CaseMove {
        reservation: reservation.id,
        version: Some(reservation.version),
        room_stay: None,
        to: room_type,
        elsewhere: None,
    }
}

pub fn ending(case: CaseId, ending: Ending, moves: Vec<CaseMove>) -> CaseEnd {
    CaseEnd {
        case,
        version: None,
        ending,
        moves,
        cost_minor: None,
        note: None,
        told_channel: false,
        may_approve: false,
        rehearses: false,
    }
}

impl Full {
    pub async fn of(nights: i32) -> Self {
        let hotel = Hotel::of(1).await;
        let suite = Hotel::room_type(&hotel.pool, hotel.property.0, "suite", 1).await;
        let born = inventory::extend_horizon(&hotel.ledger, hotel.property).await;
        assert!(born.unwrap() > 0);
        let desk = hotel.confirmed(0, nights).await;
        let told = hotel
            .record(report("R1", RevisionKind::New, 0, nights))
            .await;
        Self {
            suite,
            desk,
            sold_there: *told.reservation.unwrap(),
            hotel,
        }
    }

    pub async fn cases(&self) -> Vec<Case> {
        let listed = Listed {
            limit: 9,
            ..Listed::default()
        };
        case::list(&self.hotel.ledger, self.hotel.property, listed)
            .await
            .unwrap()
    }

    pub async fn case(&self) -> Case {
        let mut cases = self.cases().await;
        assert_eq!(cases.len(), 1);
        cases.pop().unwrap()
    }

    pub async fn end(&self, end: CaseEnd) -> Result<Case, Refusal> {
        let (ledger, property) = (&self.hotel.ledger, self.hotel.property);
        overbookings::end(ledger, property, by(), end)
            .await
            .unwrap()
    }

    pub async fn proven(&self) {
        self.hotel.assert_proven().await;
        let whole = verify::verify(&self.hotel.ledger, None, Extent::Whole).await;
        assert_eq!(whole.unwrap().differences, []);
    }

    pub async fn policy(&self, policy: serde_json::Value) {
        sqlx::query(
            "update property set rules_version = rules_version + 1,
                    policies = jsonb_build_object('overbooking', $1::jsonb)",
        )
        .bind(policy)
        .execute(&self.hotel.pool)
        .await
        .unwrap();
    }

    pub async fn reservation(&self, of: &Reservation) -> Reservation {
        reservations::load(&self.hotel.ledger, self.hotel.property, of.id)
            .await
            .unwrap()
            .unwrap()
            .reservation
    }
}
