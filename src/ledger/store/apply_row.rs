//! Rows of a batch as the function that applies it takes them.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::inventory::NightBalance;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::{Oid, PgRecordEncoder};
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef, Postgres};
use sqlx::types::Json;
use sqlx::{Decode, Encode, Type};

use crate::command::{Idempotency, Receipt};
use crate::decide::changes::Changed;
use crate::decide::draft::{GuestChange, NightKey, ReservationKey};
use crate::decide::entry::Entry;
use crate::decide::state::{Reservation, RoomStay};

/// Where a row of a table lies, as the database names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place([u8; 6]);

/// `tid`, whose number is the same in every Postgres, as is that of its array.
impl Type<Postgres> for Place {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(27))
    }
}

impl PgHasArrayType for Place {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(1010))
    }

    fn array_compatible(_: &PgTypeInfo) -> bool {
        // Known by its number alone: the library has no name for it.
        true
    }
}

impl<'r> Decode<'r, Postgres> for Place {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(value.as_bytes()?.try_into()?))
    }
}

impl Encode<'_, Postgres> for Place {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }
}

/// A row type of the function, by its name and that of its array.
macro_rules! row_type {
    ($row:ty, $name:literal) => {
        impl Type<Postgres> for $row {
            fn type_info() -> PgTypeInfo {
                PgTypeInfo::with_name($name)
            }
        }

        impl PgHasArrayType for $row {
            fn array_type_info() -> PgTypeInfo {
                PgTypeInfo::with_name(concat!("_", $name))
            }
        }
    };
}

row_type!(ReceiptRow<'_>, "apply_receipt");
row_type!(NewRow<'_>, "apply_reservation");
row_type!(StayRow<'_>, "apply_stay");
row_type!(GuestRow<'_>, "apply_guest");
row_type!(ChangeRow<'_>, "apply_change");
row_type!(NightRow<'_>, "apply_night");
row_type!(EntryRow<'_>, "apply_entry");

/// A receipt to keep.
pub(super) struct ReceiptRow<'a>(pub &'a (Idempotency, Receipt));

impl Encode<'_, Postgres> for ReceiptRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let (key, receipt) = self.0;
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(key.scope.as_str())?
            .encode(key.key.as_str())?
            .encode(key.fingerprint.as_str())?
            .encode(Json(receipt))?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// A reservation in its first version.
pub(super) struct NewRow<'a>(pub &'a Reservation);

impl Encode<'_, Postgres> for NewRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let new = self.0;
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(new.property.0)?
            .encode(new.id.0)?
            .encode(new.number)?
            .encode(new.status.as_str())?
            .encode(new.source.as_str())?
            .encode(new.account.map(|id| id.0))?
            .encode(new.channel_reference.as_deref())?
            .encode(new.hold_until.map(Timestamp::from))?
            .encode(new.hold_dead_at.map(Timestamp::from))?
            .encode(new.owner_id.as_deref())?
            .encode(new.payment_reference.as_deref())?
            .encode(new.booked_at.map(Timestamp::from))?
            .encode(new.flags.as_slice())?
            .encode(Json(&new.detail))?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// A room stay of a new reservation.
pub(super) struct StayRow<'a>(pub &'a Reservation, pub &'a RoomStay);

impl Encode<'_, Postgres> for StayRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Self(of, stay) = self;
        let ages = (!stay.children_ages.is_empty()).then_some(&stay.children_ages);
        let nightly = (!stay.nightly.is_empty()).then_some(&stay.nightly);
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(of.property.0)?
            .encode(of.id.0)?
            .encode(stay.id.0)?
            .encode(stay.room_type.map(|id| id.0))?
            .encode(stay.rate_plan.map(|id| id.0))?
            .encode(Date::from(stay.arrival))?
            .encode(Date::from(stay.departure))?
            .encode(Date::from(stay.taken_from))?
            .encode(Date::from(stay.taken_until))?
            .encode(stay.quantity)?
            .encode(stay.components.as_ref().map(Json))?
            .encode(stay.adults)?
            .encode(ages.map(Json))?
            .encode(nightly.map(Json))?
            .encode(stay.booked.as_ref().map(Json))?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// Guests of a reservation.
pub(super) type Guests = (ReservationKey, GuestChange);

/// Guests of a new reservation.
pub(super) struct GuestRow<'a>(pub &'a Guests);

impl Encode<'_, Postgres> for GuestRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let (key, change) = self.0;
        let guest = match &change.guest {
            Some(guest) => serde_json::to_value(guest)?,
            None => serde_json::json!({}),
        };
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(key.0.0)?
            .encode(key.1.0)?
            .encode(Json(guest))?
            .encode(change.room_guests.as_ref().map(Json))?
            .encode(change.note.as_deref())?
            .encode(change.remarks.as_ref().map(Json))?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// A reservation that was read, as it will be.
pub(super) struct ChangeRow<'a>(pub &'a Changed);

impl Encode<'_, Postgres> for ChangeRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Changed { version, after, .. } = self.0;
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(after.property.0)?
            .encode(after.id.0)?
            .encode(*version)?
            .encode(after.version)?
            .encode(after.status.as_str())?
            .encode(after.hold_until.map(Timestamp::from))?
            .encode(after.hold_dead_at.map(Timestamp::from))?
            .encode(after.extensions)?
            .encode(after.payment_reference.as_deref())?
            .encode(after.booked_at.map(Timestamp::from))?
            .encode(after.flags.as_slice())?
            .encode(Json(&after.detail))?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// A night as it will be, with the version that was read and the place where.
pub(super) struct NightRow<'a>(pub &'a (NightKey, i64, NightBalance), pub Option<Place>);

impl Encode<'_, Postgres> for NightRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let Self(((property, room_type, night), version, is), place) = self;
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(*place)?
            .encode(property.0)?
            .encode(room_type.0)?
            .encode(Date::from(*night))?
            .encode(*version)?
            .encode(is.physical)?
            .encode(is.out_of_order)?
            .encode(is.overbooking_limit)?
            .encode(is.held)?
            .encode(is.sold)?
            .encode(is.oversold)?;
        row.finish();
        Ok(IsNull::No)
    }
}

/// A line of the ledger.
pub(super) struct EntryRow<'a>(pub &'a Entry);

impl Encode<'_, Postgres> for EntryRow<'_> {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let entry = self.0;
        let nights = entry.nights();
        let mut row = PgRecordEncoder::new(buffer);
        row.encode(entry.property.0)?
            .encode(entry.command_id)?
            .encode(entry.line)?
            .encode(entry.reservation.map(|(id, _)| id.0))?
            .encode(entry.reservation.map(|(_, version)| version))?
            .encode(entry.kind)?
            .encode(nights.map(|(room_type, _)| room_type.0))?
            .encode(nights.map(|(_, nights)| Date::from(nights.arrival())))?
            .encode(nights.map(|(_, nights)| Date::from(nights.departure())))?
            .encode(entry.moved.map_or(0, |moved| moved.quantity))?
            .encode(entry.moved.map(|moved| moved.from.as_str()))?
            .encode(entry.moved.map(|moved| moved.to.as_str()))?
            .encode(entry.by.actor.as_str())?
            .encode(entry.by.request_id.as_deref())?
            .encode(entry.reason.as_deref())?;
        row.finish();
        Ok(IsNull::No)
    }
}
