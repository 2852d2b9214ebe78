-- Moves reservations out of the hot tables, whole, in one statement. The rooms that a past stay had are told on, but
-- take nothing any more.
with gone as (
    delete from reservation where property_id = $1 and reservation_id = any($2) returning *
), stay as (
    delete from room_stay where property_id = $1 and reservation_id = any($2) returning *
), guest as (
    delete from reservation_guest where property_id = $1 and reservation_id = any($2) returning *
), place as (
    delete from room_assignment where property_id = $1 and reservation_id = any($2)
    returning property_id, room_id, reservation_id, room_stay_id
), kept as (
    insert into archived_reservation (property_id, reservation_id, number, status, version, source, account_id,
                                      channel_reference, hold_until, hold_dead_at, extensions, owner_id,
                                      payment_reference, booked_at, created_at, updated_at, flags, detail,
                                      assigned, archived_at)
    select r.property_id, r.reservation_id, r.number, r.status, r.version, r.source, r.account_id,
           r.channel_reference, r.hold_until, r.hold_dead_at, r.extensions, r.owner_id,
           r.payment_reference, r.booked_at, r.created_at, r.updated_at, r.flags, r.detail,
           coalesce((select jsonb_agg(jsonb_build_array(p.room_stay_id, o.code) order by p.room_stay_id, o.code)
                       from place p join room o using (property_id, room_id)
                      where p.reservation_id = r.reservation_id), '[]'), ledger_now()
      from gone r
    returning 1
), kept_stay as (
    insert into archived_room_stay (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                                    departure, taken_from, taken_until, quantity, is_given_back, components,
                                    adults, children_ages, nightly, booked)
    select property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival, departure, taken_from,
           taken_until, quantity, is_given_back, components, adults, children_ages, nightly, booked
      from stay
), kept_guest as (
    insert into archived_reservation_guest (property_id, reservation_id, guest, room_guests, note, remarks)
    select property_id, reservation_id, guest, room_guests, note, remarks from guest
)
select count(*) from kept
