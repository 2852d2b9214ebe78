//! The waitlist: wishes for rooms that are not to be had, and what they are offered.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_ledger::waitlist;
use keyrack_ledger::wish::{NewWish, Waiting};
use keyrack_model::stay::Stay;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::auth::{At, Books, Looks};
use crate::conditional::Versioned;
use crate::extract::{Ask, Body, Segments};
use crate::names::{House, Names};
use crate::page::{self, Page};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::reservations::create::StaffSource;
use crate::routes::reservations::room::GuestBody;
use crate::state::ApiState;
use crate::wire::{Day, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(show, cancel))
}

/// Which wish.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct WishPath {
    /// Its id.
    wish: Uuid,
}

/// Which wishes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WaitlistAsk {
    /// Only those that still wait or have an offer.
    #[serde(default)]
    open: bool,
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A wish for rooms that are not to be had.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewWishBody {
    /// The first night.
    arrival: Day,
    /// The day of leaving.
    departure: Day,
    /// Codes of the room types that would do, the dearest wish first; 1 to 20.
    room_types: Vec<String>,
    /// Rooms.
    #[serde(default = "one")]
    #[schema(required = false, minimum = 1, maximum = 500)]
    quantity: i32,
    /// Adults in each room.
    #[schema(minimum = 1)]
    adults: Option<i32>,
    /// Where it comes from.
    source: StaffSource,
    /// Whom to tell: with an e-mail address or a telephone number.
    guest: GuestBody,
    /// Staff's note.
    note: Option<String>,
    /// How long an offer stands; left out, the property's time of a hold.
    #[schema(minimum = 60, maximum = 2_592_000)]
    answer_seconds: Option<i32>,
}

fn one() -> i32 {
    1
}

/// A wish as it stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WaitlistWish)]
struct WishView {
    /// Its id.
    id: Uuid,
    /// `waiting`, `offered`, `accepted`, `cancelled`, `ended`.
    status: String,
    /// Why it ended: `date_passed`, `unanswered`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    outcome: Option<String>,
    /// The first night.
    arrival: Day,
    /// The day of leaving.
    departure: Day,
    /// Codes of the room types that would do.
    room_types: Vec<String>,
    /// Rooms.
    quantity: i32,
    /// Where it comes from.
    source: &'static str,
    /// Whom to tell.
    guest: WishGuestView,
    /// Staff's note.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    note: Option<String>,
    /// How often it was offered something; after three unanswered offers it ends.
    offers: i32,
    /// The present offer, or the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    offer: Option<WishOfferView>,
    /// When it was made.
    created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ended_at: Option<Timestamp>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Whom to tell.
#[derive(Debug, Serialize, ToSchema)]
struct WishGuestView {
    /// Full name.
    name: String,
    /// E-mail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    email: Option<String>,
    /// Telephone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    phone: Option<String>,
}

/// A hold that a wish is offered: confirm it to accept, cancel it to decline.
#[derive(Debug, Serialize, ToSchema)]
struct WishOfferView {
    /// The hold.
    reservation: Uuid,
    /// Code of its room type.
    room_type: String,
    /// Until when it must be confirmed; absent for a moment, while it is being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    answer_until: Option<Timestamp>,
}

/// Puts a wish at the end of the queue. When rooms come free it is offered a hold, and the event
/// `waitlist.offered` says so; confirming the hold accepts it. An offer that is not answered in
/// time puts the wish at the end of the queue again.
#[utoipa::path(post, path = "/v1/properties/{property}/waitlist", tag = "reservations",
    params(PropertyPath), request_body = NewWishBody,
    responses((status = 201, body = WishView,
        headers(("ETag" = String), ("Location" = String))), Problems))]
async fn add(
    State(state): State<ApiState>,
    at: At<Books>,
    body: Body<NewWishBody>,
) -> Result<Versioned<WishView>, Problem> {
    let house = &at.house;
    let wish = body.value.wish(house).await?;
    match waitlist::add(state.ledger(), house.id, &wish).await? {
        Ok(made) => {
            let location = format!("/v1/properties/{}/waitlist/{}", house.code, made.id);
            let names = house.read_names().await?;
            keyrack_distribution::feed::wake(state.distribution());
            Ok(Versioned {
                is_new: true,
                location: Some(location),
                ..shown(&made, &names)
            })
        }
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// The wishes in their order, open ones first.
#[utoipa::path(get, path = "/v1/properties/{property}/waitlist", tag = "reservations",
    params(PropertyPath, WaitlistAsk),
    responses((status = 200, body = Page<WishView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<WaitlistAsk>,
) -> Result<Json<Page<WishView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let (ledger, id) = (state.ledger(), at.house.id);
    let found = match page::after::<Uuid>(ask.cursor.as_deref())? {
        None => Some(waitlist::list(ledger, id, ask.open, limit).await?),
        Some(last) => waitlist::list_after(ledger, id, ask.open, (last, limit)).await?,
    };
    let found = found.ok_or_else(page::strange)?;
    let page = page::cut(found, limit, |last| last.id.to_string());
    let names = at.house.read_names().await?;
    Ok(Json(page.map(|wish| view(&wish, &names))))
}

/// One wish.
#[utoipa::path(get, path = "/v1/properties/{property}/waitlist/{wish}", tag = "reservations",
    params(PropertyPath, WishPath), responses((status = 200, body = WishView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<WishPath>,
) -> Result<Versioned<WishView>, Problem> {
    let found = waitlist::find(state.ledger(), at.house.id, path.wish).await?;
    let found = found.ok_or_else(|| Problem::not_found("wish"))?;
    let names = at.house.read_names().await?;
    Ok(shown(&found, &names))
}

/// Takes a wish back, with the hold that it may have been offered; a repeat answers as the first.
#[utoipa::path(delete, path = "/v1/properties/{property}/waitlist/{wish}", tag = "reservations",
    params(PropertyPath, WishPath), responses((status = 200, body = WishView), Problems))]
async fn cancel(
    State(state): State<ApiState>,
    at: At<Books>,
    Segments(path): Segments<WishPath>,
) -> Result<Versioned<WishView>, Problem> {
    let (ledger, house) = (state.ledger(), &at.house);
    let gone = waitlist::cancel(ledger, house.id, path.wish, &at.caller.by()).await?;
    let gone = gone.ok_or_else(|| Problem::not_found("wish"))?;
    let names = house.read_names().await?;
    Ok(shown(&gone, &names))
}

impl NewWishBody {
    async fn wish(self, house: &House) -> Result<NewWish, Problem> {
        let mut wrongs = Wrongs::default();
        self.guest.check(&mut wrongs);
        wrongs.longest(self.note.as_deref(), 4_000, "/note");
        let stay = Stay::new(self.arrival.0, self.departure.0);
        wrongs.unless(stay.is_some(), "/departure", NIGHTS);
        let fits = (1..=500).contains(&self.quantity);
        wrongs.unless(fits, "/quantity", "1 to 500 rooms");
        let fits = self
            .adults
            .is_none_or(|adults| (1..=1_000).contains(&adults));
        wrongs.unless(fits, "/adults", "1 to 1,000");
        let answer = self.answer_seconds;
        let fits = answer.is_none_or(|seconds| (60..=2_592_000).contains(&seconds));
        wrongs.unless(fits, "/answer_seconds", "60 to 2,592,000 (30 days)");
        let fits = (1..=20).contains(&self.room_types.len());
        wrongs.unless(fits, "/room_types", "1 to 20 room types");
        let guest: keyrack_model::reservation::Guest = self.guest.into();
        let can_be_told = guest.email.is_some() || guest.phone.is_some();
        let message = "an e-mail address or a telephone number, so that somebody can be told";
        wrongs.unless(can_be_told, "/guest", message);
        let names = house.read_names().await?;
        let mut room_types = Vec::new();
        for (at, code) in self.room_types.iter().enumerate() {
            match names.room_types.id(code) {
                Some(id) => room_types.push(id),
                None => wrongs.add(format!("/room_types/{at}"), "no such room type"),
            }
        }
        wrongs.finish()?;
        let stay = stay.ok_or_else(|| Problem::invalid("/departure", NIGHTS))?;
        Ok(NewWish {
            stay,
            room_types,
            quantity: self.quantity,
            adults: self.adults,
            source: self.source.into(),
            guest,
            note: self.note,
            answer_seconds: self.answer_seconds,
        })
    }
}

fn shown(wish: &Waiting, names: &Names) -> Versioned<WishView> {
    Versioned::of(wish.version, view(wish, names))
}

fn view(wish: &Waiting, names: &Names) -> WishView {
    let types = wish.wish.room_types.iter();
    WishView {
        id: wish.id,
        status: wish.status.clone(),
        outcome: wish.outcome.clone(),
        arrival: Day(wish.wish.stay.arrival()),
        departure: Day(wish.wish.stay.departure()),
        room_types: types.map(|id| names.room_types.shown(*id)).collect(),
        quantity: wish.wish.quantity,
        source: wish.wish.source.as_str(),
        guest: WishGuestView {
            name: wish.wish.guest.name.clone(),
            email: wish.wish.guest.email.clone(),
            phone: wish.wish.guest.phone.clone(),
        },
        note: wish.wish.note.clone(),
        offers: wish.offers,
        offer: wish
            .offer
            .map(|(reservation, room_type, until)| WishOfferView {
                reservation: reservation.0,
                room_type: names.room_types.shown(room_type),
                answer_until: until,
            }),
        created_at: wish.created_at,
        ended_at: wish.ended_at,
        version: wish.version,
    }
}

const NIGHTS: &str = "must be after arrival, by at most 2,200 nights";
