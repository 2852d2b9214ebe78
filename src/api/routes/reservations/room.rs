//! Rooms and guests as a caller wishes them: shared by making and changing a reservation.

use keyrack_ledger::command::WishedRoom;
use keyrack_model::id::RoomStayId;
use keyrack_model::money::Money;
use keyrack_model::reservation::{Guest, GuestName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::names::{House, Names};
use crate::problem::Problem;
use crate::wire::{Day, MoneyShape, Wrongs};

/// Who comes. Personal data.
#[derive(Clone, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Guest)]
pub struct GuestBody {
    /// Full name.
    #[schema(example = "Ada Example")]
    name: String,
    /// E-mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    email: Option<String>,
    /// Telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    phone: Option<String>,
    /// Language tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "it")]
    language: Option<String>,
}

impl std::fmt::Debug for GuestBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GuestBody(..)")
    }
}

/// One room, or several alike.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WishedRoom)]
pub struct RoomBody {
    /// In a change: which room it changes; left out, the room is new.
    pub room_stay_id: Option<i32>,
    /// Code of the room type.
    #[schema(example = "DBL")]
    pub room_type: String,
    /// First night.
    pub arrival: Day,
    /// The morning after the last night.
    pub departure: Day,
    /// How many rooms; 1 where it is not said.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 500, default = 1)]
    pub quantity: i32,
    /// Code of the rate plan.
    pub rate_plan: Option<String>,
    /// Agreed price of each night for one room; left out, the plan's where there is one.
    #[schema(value_type = Option<MoneyShape>)]
    pub price: Option<Money>,
    /// Adults.
    #[schema(minimum = 1, maximum = 100)]
    pub adults: Option<i32>,
    /// Age of each child; `null` is unknown.
    #[serde(default)]
    #[schema(required = false)]
    pub children_ages: Vec<Option<i32>>,
    /// Who sleeps here.
    #[schema(value_type = Option<String>)]
    pub guest_name: Option<GuestName>,
    /// Code of the allotment that it is drawn from, and from nowhere else; left out, the desk sells
    /// what is shared.
    pub allotment: Option<String>,
}

impl GuestBody {
    /// The name, for sheets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Notes what is wrong.
    pub fn check(&self, wrongs: &mut Wrongs) {
        wrongs.named(&self.name, 200, "/guest/name");
        wrongs.line(self.email.as_deref(), 254, "/guest/email");
        wrongs.line(self.phone.as_deref(), 60, "/guest/phone");
        wrongs.line(self.language.as_deref(), 35, "/guest/language");
    }
}

impl From<GuestBody> for Guest {
    fn from(body: GuestBody) -> Self {
        Self {
            name: body.name,
            email: body.email,
            phone: body.phone,
            language: body.language,
        }
    }
}

impl From<Guest> for GuestBody {
    fn from(guest: Guest) -> Self {
        Self {
            name: guest.name,
            email: guest.email,
            phone: guest.phone,
            language: guest.language,
        }
    }
}

/// The rooms in our ids; what is wrong is noted.
pub async fn wished(
    house: &House,
    rooms: Vec<RoomBody>,
    wrongs: &mut Wrongs,
) -> Result<Vec<WishedRoom>, Problem> {
    let names = house
        .names_with(|names| rooms.iter().all(|room| room.is_known(names)))
        .await?;
    let fits = (1..=ROOMS_MAX).contains(&rooms.len());
    wrongs.unless(fits, "/rooms", "1 to 100 rooms");
    let rooms = rooms.into_iter().enumerate();
    Ok(rooms
        .filter_map(|(at, room)| room.wished(&names, at, wrongs))
        .collect())
}

impl RoomBody {
    fn is_known(&self, names: &Names) -> bool {
        let rate_plan = self.rate_plan.as_deref();
        names.room_types.id(&self.room_type).is_some()
            && rate_plan.is_none_or(|code| names.rate_plans.id(code).is_some())
            && self
                .allotment
                .as_deref()
                .is_none_or(|code| names.allotments.id(code).is_some())
    }

    fn wished(self, names: &Names, at: usize, wrongs: &mut Wrongs) -> Option<WishedRoom> {
        let at = |name: &str| format!("/rooms/{at}{name}");
        let room_type = names.room_types.id(&self.room_type);
        wrongs.unless(room_type.is_some(), at("/room_type"), "no such room type");
        let rate_plan = self.rate_plan.map(|code| names.rate_plans.id(&code));
        wrongs.unless(
            rate_plan != Some(None),
            at("/rate_plan"),
            "no such rate plan",
        );
        let allotment = self.allotment.map(|code| names.allotments.id(&code));
        wrongs.unless(
            allotment != Some(None),
            at("/allotment"),
            "no such allotment",
        );
        let stay = wrongs.stay(self.arrival, self.departure, &at(""));
        let fits = (1..=QUANTITY_MAX).contains(&self.quantity);
        wrongs.unless(fits, at("/quantity"), "1 to 500");
        let fits = self.adults.is_none_or(|adults| (1..=100).contains(&adults));
        wrongs.unless(fits, at("/adults"), "1 to 100");
        let is_age = |age: &Option<i32>| age.is_none_or(|age| (0..=17).contains(&age));
        let fits = self.children_ages.len() <= 50 && self.children_ages.iter().all(is_age);
        let message = "at most 50, each 0 to 17 or null";
        wrongs.unless(fits, at("/children_ages"), message);
        let fits = self.price.is_none_or(|price| price.minor >= 0);
        wrongs.unless(fits, at("/price"), "must not be negative");
        let name = self.guest_name.as_ref().map(|name| name.0.as_str());
        wrongs.line(name, 200, at("/guest_name"));
        Some(WishedRoom {
            room_stay: self.room_stay_id.map(RoomStayId),
            room_type: room_type?,
            rate_plan: rate_plan.flatten(),
            stay: stay?,
            quantity: self.quantity,
            price: self.price,
            adults: self.adults,
            children_ages: self.children_ages,
            guest_name: self.guest_name,
            allotment: allotment.flatten(),
        })
    }
}

const fn one() -> i32 {
    1
}

/// A reservation of more is a group's, and comes in parts.
const ROOMS_MAX: usize = 100;
/// Far beyond any house, and far below where sums could overflow.
const QUANTITY_MAX: i32 = 500;
