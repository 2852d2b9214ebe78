-- keyrack-ledger owns: the function ledger_apply_reservations.
--
-- A reservation may change more than once in one batch, and may be made and changed in one: two facts of one
-- reference, a confirm and a check-in. Its version is the one that the batch ended at, not the one after the read;
-- what was changed after it was made comes whole, since the plain way of new ones knows no later version, no
-- extension and no room that is given back. A daemon of before names neither, and is understood as before.

create or replace function ledger_apply_reservations(at_ timestamptz, more jsonb) returns void language plpgsql as $$
declare
    affected bigint;
begin
    if jsonb_array_length(more -> 'changed') > 0 then
        update reservation r
           set status = k.status, version = coalesce(k.version_after, k.version + 1), hold_until = k.hold_until,
               hold_dead_at = k.hold_dead_at, extensions = k.extensions, payment_reference = k.payment_reference,
               booked_at = k.booked_at, updated_at = at_, flags = k.flags, detail = k.detail
          from jsonb_to_recordset(more -> 'changed')
               k(property_id bigint, reservation_id uuid, version bigint, version_after bigint, status text,
                 hold_until timestamptz, hold_dead_at timestamptz, extensions integer, payment_reference text,
                 booked_at timestamptz, flags text[], detail jsonb)
         where r.property_id = k.property_id and r.reservation_id = k.reservation_id and r.version = k.version;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(more -> 'changed') then
            raise exception 'reservations changed' using errcode = 'KR001';
        end if;
    end if;

    if jsonb_array_length(more -> 'born') > 0 then
        insert into reservation (property_id, reservation_id, number, status, version, source, account_id,
                                 channel_reference, hold_until, hold_dead_at, extensions, owner_id,
                                 payment_reference, booked_at, created_at, updated_at, flags, detail)
        select property_id, reservation_id, number, status, version, source, account_id,
               channel_reference, hold_until, hold_dead_at, extensions, owner_id,
               payment_reference, booked_at, at_, at_, flags, detail
          from jsonb_populate_recordset(null::reservation, more -> 'born');
    end if;

    if jsonb_array_length(more -> 'stays') > 0 then
        insert into room_stay as s (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                                    departure, taken_from, taken_until, quantity, is_given_back, components, adults,
                                    children_ages, nightly, booked)
        select property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
               departure, taken_from, taken_until, quantity, is_given_back, components, adults,
               children_ages, nightly, booked
          from jsonb_populate_recordset(null::room_stay, more -> 'stays')
            on conflict (property_id, reservation_id, room_stay_id) do update
           set room_type_id = excluded.room_type_id, rate_plan_id = excluded.rate_plan_id,
               arrival = excluded.arrival, departure = excluded.departure, taken_from = excluded.taken_from,
               taken_until = excluded.taken_until, quantity = excluded.quantity,
               is_given_back = excluded.is_given_back, components = excluded.components, adults = excluded.adults,
               children_ages = excluded.children_ages, nightly = excluded.nightly, booked = excluded.booked;
    end if;

    if jsonb_array_length(more -> 'references') > 0 then
        insert into channel_reference as c (property_id, account_id, reference, reservation_id, last_order,
                                            last_kind, last_hash, is_cancelled, version)
        select property_id, account_id, reference, reservation_id, last_order,
               last_kind, last_hash, is_cancelled, version + 1
          from jsonb_populate_recordset(null::channel_reference, more -> 'references')
            on conflict (property_id, account_id, reference) do update
           set reservation_id = excluded.reservation_id, last_order = excluded.last_order,
               last_kind = excluded.last_kind, last_hash = excluded.last_hash,
               is_cancelled = excluded.is_cancelled, version = excluded.version
         where c.version = excluded.version - 1;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(more -> 'references') then
            raise exception 'references changed' using errcode = 'KR001';
        end if;
    end if;
end
$$;
