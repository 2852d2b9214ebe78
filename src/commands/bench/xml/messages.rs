//! The nights and reservations that are told, the same on every machine.

use std::fmt::Write as _;

use keyrack_model::ari::{AriPush, AriSpan, AriValues, OccupancyRate};
use keyrack_model::money::{Currency, Money};
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::{Stay, StayDate, plus_days};
use serde_json::{Value, json};

use super::super::ground::FIRST;

/// A channel whose words are written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OTA with rates.
    BookingCom,
    /// HotelData 2024-10: free rooms, no rates.
    AlpineBits,
}

impl Dialect {
    /// The channel's code.
    pub fn code(self) -> &'static str {
        match self {
            Self::BookingCom => "booking_com",
            Self::AlpineBits => "alpinebits",
        }
    }

    /// What signing in learned.
    pub fn learned(self) -> Value {
        match self {
            Self::BookingCom => json!({"jwt": "header.payload.signature"}),
            Self::AlpineBits => json!({"version": "2024-10", "supports": [
                "action_OTA_Ping", "action_OTA_HotelInvCountNotif",
                "OTA_HotelInvCountNotif_accept_categories",
                "OTA_HotelInvCountNotif_accept_deltas", "action_OTA_Read",
            ]}),
        }
    }
}

/// Each night of a room by itself, and of a rate where the channel takes rates: no two neighbours
/// are equal, so that nothing can be joined.
pub fn push(dialect: Dialect, nights: i32) -> Option<AriPush> {
    let euro = Currency::from_code("EUR")?;
    let mut spans = Vec::new();
    for rate in [None, Some("BAR")] {
        if rate.is_some() && dialect == Dialect::AlpineBits {
            break;
        }
        for night in 0..nights {
            let arrival = plus_days(FIRST, night);
            let values = if rate.is_some() {
                rated(night, euro)
            } else {
                AriValues {
                    rooms: Some(1 + night % 20),
                    ..AriValues::default()
                }
            };
            spans.push(AriSpan {
                nights: Stay::night(arrival)?,
                channel_room_code: "DBL".to_owned(),
                channel_rate_code: rate.map(str::to_owned),
                values,
            });
        }
    }
    Some(AriPush {
        hotel_code: "990077".to_owned(),
        complete: false,
        spans,
    })
}

fn rated(night: i32, euro: Currency) -> AriValues {
    let price = i64::from(10_000 + night * 50);
    AriValues {
        closed: night % 11 == 0,
        rate: Some(Money::new(price, euro)),
        occupancy_rates: vec![OccupancyRate {
            guests: 1,
            rate: Money::new(price - 1_000, euro),
        }],
        restrictions: Restrictions {
            min_stay_arrival: (night % 3 == 0).then_some(2),
            min_stay_through: (night % 5 == 0).then_some(3),
            max_stay: (night % 7 == 0).then_some(14),
            closed_to_arrival: night % 13 == 0,
            ..Restrictions::default()
        },
        ..AriValues::default()
    }
}

/// A message of so many reservations: every third has two rooms, every second a wish; each has
/// three nights with their prices, a guest and a card.
pub fn reservations(dialect: Dialect, count: usize) -> String {
    let (open, close) = match dialect {
        Dialect::BookingCom => (
            "<OTA_HotelResNotifRQ xmlns=\"http://www.opentravel.org/OTA/2003/05\" \
             TimeStamp=\"2030-01-02T08:00:05+00:00\" Target=\"Production\" Version=\"2.001\">\n \
             <HotelReservations>\n",
            " </HotelReservations>\n</OTA_HotelResNotifRQ>\n",
        ),
        Dialect::AlpineBits => (
            "<OTA_ResRetrieveRS xmlns=\"http://www.opentravel.org/OTA/2003/05\" \
             Version=\"7.000\">\n <Success/>\n <ReservationsList>\n",
            " </ReservationsList>\n</OTA_ResRetrieveRS>\n",
        ),
    };
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{open}");
    for number in 0..count {
        let told = match dialect {
            Dialect::BookingCom => booking(number),
            Dialect::AlpineBits => alpine(number),
        };
        text.push_str(&told);
    }
    text.push_str(close);
    text
}

fn rooms_of(number: usize) -> usize {
    if number.is_multiple_of(3) { 2 } else { 1 }
}

/// The nights of a reservation, each with its price in cents.
fn nights_of(number: usize) -> [(StayDate, usize); 3] {
    let days = i32::try_from(number % 300).unwrap_or(0);
    [0, 1, 2].map(|night| {
        let price = 12_000 + number * 10 + night * 500;
        let night = i32::try_from(night).unwrap_or(0);
        (plus_days(FIRST, days + night), price)
    })
}

fn created(number: usize) -> String {
    format!(
        "2030-01-02T07:{:02}:{:02}+00:00",
        number / 60 % 60,
        number % 60
    )
}

const CARD: &str = "<Guarantee><GuaranteesAccepted><GuaranteeAccepted><PaymentCard CardCode=\"VI\" \
    CardNumber=\"4111111111111111\" SeriesCode=\"737\" ExpireDate=\"1233\"><CardHolderName>Ines \
    Musterfrau</CardHolderName></PaymentCard></GuaranteeAccepted></GuaranteesAccepted></Guarantee>";

fn booking(number: usize) -> String {
    let mut stays = String::new();
    for room in 0..rooms_of(number) {
        stays.push_str(&booking_room(number, room));
    }
    let comment = wish(number);
    let total: usize = nights_of(number).iter().map(|(_, price)| price).sum();
    format!(
        "  <HotelReservation CreateDateTime=\"{created}\">\n   <RoomStays>\n{stays}   \
         </RoomStays>\n\
         \x20  <ResGuests>\n    <ResGuest ResGuestRPH=\"1\"><Profiles><ProfileInfo><Profile>\
         <Customer>\
         <PersonName><GivenName>Ines</GivenName><Surname>Musterfrau &amp; Söhne {number}</Surname>\
         </PersonName></Customer></Profile></ProfileInfo></Profiles></ResGuest>\n   </ResGuests>\n\
         \x20  <ResGlobalInfo>\n    {comment}{CARD}\n    <Total AmountAfterTax=\"{total}\" \
         CurrencyCode=\"EUR\" DecimalPlaces=\"2\"/>\n    <HotelReservationIDs><HotelReservationID \
         ResID_Value=\"39{number:08}\" ResID_Source=\"BOOKING.COM\" ResID_Type=\"14\"/>\
         </HotelReservationIDs>\n    <Profiles><ProfileInfo><Profile><Customer><PersonName>\
         <GivenName>Ines</GivenName><Surname>Musterfrau</Surname></PersonName><Telephone \
         PhoneNumber=\"+49 30 5550001\"/><Email>alias.{number}@guest.example</Email></Customer>\
         </Profile></ProfileInfo></Profiles>\n   </ResGlobalInfo>\n  </HotelReservation>\n",
        created = created(number),
        total = total * rooms_of(number),
    )
}

fn booking_room(number: usize, room: usize) -> String {
    let mut rates = String::new();
    let mut total = 0;
    for (night, price) in nights_of(number) {
        total += price;
        let _ = writeln!(
            rates,
            "      <RoomRate EffectiveDate=\"{night}\" RatePlanCode=\"5501\"><Rates><Rate><Total \
             AmountAfterTax=\"{price}\" CurrencyCode=\"EUR\" DecimalPlaces=\"2\"/></Rate></Rates>\
             </RoomRate>"
        );
    }
    format!(
        "    <RoomStay IndexNumber=\"7{number:03}{room}\">\n     <RoomTypes><RoomType \
         RoomTypeCode=\"880011\"><RoomDescription Name=\"Lake View\"><Text>A room.</Text><MealPlan>\
         Breakfast is included.</MealPlan></RoomDescription></RoomType></RoomTypes>\n     \
         <RatePlans>\
         <RatePlan RatePlanCode=\"5501\"><Commission><CommissionPayableAmount Amount=\"4350\" \
         CurrencyCode=\"EUR\" DecimalPlaces=\"2\"/></Commission></RatePlan></RatePlans>\n     \
         <RoomRates>\n{rates}     </RoomRates>\n     <GuestCounts><GuestCount \
         AgeQualifyingCode=\"10\" Count=\"2\"/><GuestCount AgeQualifyingCode=\"8\" Count=\"1\" \
         Age=\"4\"/></GuestCounts>\n     <Total AmountAfterTax=\"{total}\" CurrencyCode=\"EUR\" \
         DecimalPlaces=\"2\"/>\n     <BasicPropertyInfo HotelCode=\"990077\"/>\n     <ResGuestRPHs>\
         <ResGuestRPH RPH=\"1\"/></ResGuestRPHs>\n     <SpecialRequests><SpecialRequest \
         Name=\"smoking preference\"><Text Language=\"en\">Non-smoking</Text></SpecialRequest>\
         </SpecialRequests>\n    </RoomStay>\n"
    )
}

fn wish(number: usize) -> String {
    if number.is_multiple_of(2) {
        let arrives = number % 24;
        format!(
            "<Comments><Comment><Text>We arrive at {arrives} o'clock.</Text></Comment></Comments>"
        )
    } else {
        String::new()
    }
}

fn alpine(number: usize) -> String {
    let mut stays = String::new();
    for _ in 0..rooms_of(number) {
        stays.push_str(&alpine_room(number));
    }
    format!(
        "  <HotelReservation CreateDateTime=\"{created}\" ResStatus=\"Reserved\" \
         RoomStayReservation=\"true\">\n   <UniqueID Type=\"14\" ID=\"A-{number}\"/>\n   \
         <RoomStays>\n\
         {stays}   </RoomStays>\n   <ResGuests><ResGuest><Profiles><ProfileInfo><Profile><Customer \
         Language=\"de\"><PersonName><NamePrefix>Frau</NamePrefix><GivenName>Ines</GivenName>\
         <Surname>Musterfrau &amp; Söhne {number}</Surname></PersonName><Telephone \
         PhoneTechType=\"1\" PhoneNumber=\"+49305550001\"/><Email>ines.{number}@guest.example\
         </Email>\
         </Customer></Profile></ProfileInfo></Profiles></ResGuest></ResGuests>\n   <ResGlobalInfo>\
         {comment}<BasicPropertyInfo HotelCode=\"990077\"/></ResGlobalInfo>\n  \
         </HotelReservation>\n",
        created = created(number),
        comment = wish(number),
    )
}

fn alpine_room(number: usize) -> String {
    let (mut rates, mut total) = (String::new(), 0);
    let euros = |cents: usize| format!("{}.{:02}", cents / 100, cents % 100);
    let nights = nights_of(number);
    for (night, price) in nights {
        total += price;
        let _ = write!(
            rates,
            "<Rate EffectiveDate=\"{night}\" ExpireDate=\"{night}\" RateTimeUnit=\"Day\" \
             UnitMultiplier=\"1\"><Base AmountAfterTax=\"{}\" CurrencyCode=\"EUR\"/></Rate>",
            euros(price)
        );
    }
    format!(
        "    <RoomStay><RoomTypes><RoomType RoomTypeCode=\"DBL\"/></RoomTypes><RatePlans><RatePlan \
         RatePlanCode=\"BAR\"><Commission><CommissionPayableAmount Amount=\"12.50\" \
         CurrencyCode=\"EUR\"/></Commission></RatePlan></RatePlans><RoomRates><RoomRate \
         RoomTypeCode=\"DBL\" RatePlanCode=\"BAR\"><Rates>{rates}</Rates></RoomRate></RoomRates>\
         <GuestCounts><GuestCount Count=\"2\"/><GuestCount Count=\"1\" Age=\"6\"/></GuestCounts>\
         <TimeSpan Start=\"{arrival}\" End=\"{departure}\"/>{CARD}<Total \
         AmountAfterTax=\"{total}\" \
         CurrencyCode=\"EUR\"/></RoomStay>\n",
        arrival = nights[0].0,
        departure = plus_days(nights[2].0, 1),
        total = euros(total),
    )
}
