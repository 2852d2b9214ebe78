//! A channel that sells counts down what it shows by itself. Where what it is to show stays as it
//! was, it is told so again: nobody else ever would.

use keyrack_ledger::allotments::{self, Put};
use keyrack_ledger::catalog;
use keyrack_ledger::decide::allotment::{AgreedRooms, Owner};
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_model::allotment::Release;
use keyrack_model::stay::{Stay, Weekdays};
use serde_json::json;

use crate::house::{House, by, march};
use crate::reopened::{arrives, report, room};

impl House {
    /// Two of the five doubles are kept for the portal on the third, and it sells what is
    /// everybody's.
    async fn keeps_two(&self) {
        let put = Put {
            code: "tour".to_owned(),
            owner: Owner::Account(self.account().await.account.id),
            room_type: self.double,
            release: Release::default(),
            values: vec![AgreedRooms {
                nights: Stay::new(march(3), march(4)).unwrap(),
                weekdays: Weekdays::ALL,
                rooms: 2,
            }],
            version: None,
            force: None,
            dry_run: false,
        };
        let put = allotments::put(&self.ledger, self.property, &by(), put).await;
        put.unwrap().unwrap();
    }

    async fn shows_at_most(&self, rooms: i32) {
        let rule = BufferRule {
            account: None,
            room_type: None,
            nights: None,
            weekdays: Weekdays::ALL,
            lead_days_min: None,
            lead_days_max: None,
            kind: BufferKind::Cap(rooms),
        };
        let put = catalog::put_buffer_rules(&self.ledger, self.property, &by(), vec![rule]).await;
        put.unwrap().unwrap();
    }

    /// Everything that is due is told, also what waits for a poll.
    async fn told(&self) -> Vec<String> {
        self.tell().await;
        self.polled().await;
        self.tell().await;
        self.portal.told()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sells_of_his_allotment_is_told_again_what_everybody_sells() {
    let house = House::live().await;
    house.keeps_two().await;
    house.told().await;
    arrives(&house, &report("new", json!([room(3)]))).await;
    assert_eq!(house.told().await, ["DBL 03-03..03-04 3"]);
    assert_eq!(house.queue().await, 0);
}

/// A scarce number is not told over a sale that nobody has heard of yet.
#[tokio::test(flavor = "multi_thread")]
async fn who_sells_where_his_number_is_capped_is_told_it_again_and_a_scarce_one_after_a_poll() {
    let house = House::live().await;
    for (cap, waits) in [(4, false), (1, true)] {
        house.shows_at_most(cap).await;
        house.told().await;
        let mut sold = report("new", json!([room(3)]));
        sold[0]["reference"] = json!(format!("C-{cap}"));
        // Of five, four are left, and of four three.
        arrives(&house, &sold).await;
        house.tell().await;
        let again = format!("DBL 03-03..03-04 {cap}");
        let at_once = house.portal.told();
        assert_eq!(at_once.contains(&again), !waits, "{cap}: {at_once:?}");
        let later = house.told().await;
        assert_eq!(later.contains(&again), waits, "{cap}: {later:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sold_nothing_himself_is_told_nothing_again() {
    let house = House::live().await;
    house.shows_at_most(2).await;
    house.told().await;
    house.book(house.double, 3, 4, 1).await;
    assert_eq!(house.told().await, [""; 0]);
}
