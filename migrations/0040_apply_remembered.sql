-- keyrack-ledger owns: a function ledger_apply.
--
-- As before, for a daemon that may decide on rows that it remembers instead of reading them: it says so, and then
-- the clock must be where it thought it to be. It is told where the nights lie now, in their order, and of which
-- properties somebody else changed rows. That rules, clock or a key are otherwise is told apart (KR002): it says
-- nothing of other rows. A key that is there already is no longer an error that breaks the connection. Guests of new
-- reservations are rows.
-- The functions of before stay for daemons of before.

create type apply_guest as (
    property_id bigint, reservation uuid, guest jsonb, room_guests jsonb, note text, remarks jsonb);

create function ledger_apply(
    at_ timestamptz, rule_property bigint[], rule_version bigint[], receipts apply_receipt[],
    reservations apply_reservation[], stays apply_stay[], changes apply_change[], nights apply_night[],
    entries apply_entry[], guests apply_guest[], more jsonb, is_remembered boolean
) returns tid[] language plpgsql as $$
declare
    affected bigint;
    places tid[];
begin
    if is_remembered and abs(extract(epoch from
            clock_timestamp() + (select shift from clock_shift) - at_)) > 1 then
        raise exception 'the clock is elsewhere' using errcode = 'KR002';
    end if;

    select count(*) into affected
      from (select unnest(rule_property) as property_id, unnest(rule_version) as version) k
      join property p on p.property_id = k.property_id and p.rules_version = k.version;
    if affected <> cardinality(rule_property) then
        raise exception 'rules changed' using errcode = 'KR002';
    end if;

    if cardinality(receipts) > 0 then
        insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
        select k.*, at_ from unnest(receipts) k
            on conflict do nothing;
        get diagnostics affected = row_count;
        if affected <> cardinality(receipts) then
            raise exception 'a key was used' using errcode = 'KR002';
        end if;
    end if;

    if cardinality(changes) > 0 then
        if exists (select from unnest(changes) k
                    cross join lateral (select from archived_reservation a
                                         where a.property_id = k.property_id and a.reservation_id = k.id
                                        offset 0) a) then
            perform ledger_bring_back(jsonb_build_object('guests', '[]'::jsonb, 'changed', (
                select jsonb_agg(jsonb_build_object('property_id', k.property_id, 'reservation_id', k.id))
                  from unnest(changes) k)));
        end if;
        update reservation r
           set status = k.status, version = k.version_after, hold_until = k.hold_until,
               hold_dead_at = k.hold_dead_at, extensions = k.extensions, payment_reference = k.payment,
               booked_at = k.booked_at, updated_at = at_, flags = k.flags, detail = k.detail
          from unnest(changes) k
         where r.property_id = k.property_id and r.reservation_id = k.id and r.version = k.version;
        get diagnostics affected = row_count;
        if affected <> cardinality(changes) then
            raise exception 'reservations changed' using errcode = 'KR001', detail = (
                select coalesce(string_agg(distinct k.property_id::text, ','), '') from unnest(changes) k
                 where not exists (select from reservation r
                                    where r.property_id = k.property_id and r.reservation_id = k.id
                                      and r.version = k.version_after and r.xmin = pg_current_xact_id()::xid));
        end if;
    end if;

    if more is not null then
        perform ledger_apply_reservations(at_, more);
    end if;

    if cardinality(reservations) > 0 then
        insert into reservation (property_id, reservation_id, number, status, source, account_id, channel_reference,
                                 hold_until, hold_dead_at, owner_id, payment_reference, booked_at, flags, detail,
                                 created_at, updated_at)
        select k.*, at_, at_ from unnest(reservations) k;
        insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                               departure, taken_from, taken_until, quantity, components, adults, children_ages,
                               nightly, booked)
        select k.* from unnest(stays) k;
    end if;
    if cardinality(guests) > 0 then
        insert into reservation_guest (property_id, reservation_id, guest, room_guests, note, remarks)
        select k.* from unnest(guests) k;
    end if;

    if cardinality(nights) > 0 then
        -- A row that somebody has written since lies elsewhere; another that lies there now has another key.
        with written as (
            update night n
               set physical = k.physical, out_of_order = k.out_of_order,
                   overbooking_limit = k.overbooking_limit,
                   held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
              from unnest(nights) k
             where n.ctid = k.place and n.property_id = k.property_id and n.room_type_id = k.room_type
               and n.stay_date = k.stay_date and n.version = k.version
            returning n.ctid as place)
        select array_agg(place) into places from written;
        if cardinality(nights) is distinct from cardinality(places) then
            raise exception 'nights changed' using errcode = 'KR001', detail = (
                select coalesce(string_agg(distinct k.property_id::text, ','), '') from unnest(nights) k
                 where not exists (select from night n
                                    where n.property_id = k.property_id and n.room_type_id = k.room_type
                                      and n.stay_date = k.stay_date
                                      and n.xmin = pg_current_xact_id()::xid));
        end if;
    end if;

    insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id,
                              night_from, night_until, quantity, from_pool, to_pool, actor, request_id, reason, at)
    select k.*, at_ from unnest(entries) k;

    if more is not null then
        if jsonb_array_length(more -> 'blocks') > 0 then
            perform ledger_apply_blocks(more);
        end if;
        -- A change that leaves the rooms as they are, and does not end the stay, leaves who sleeps where.
        if jsonb_array_length(more -> 'reassigned') > 0 then
            perform ledger_apply_assignments(jsonb_build_object('changed', more -> 'reassigned'));
        end if;
        if jsonb_array_length(more -> 'guests') > 0 then
            perform ledger_apply_guests(more);
        end if;
        if jsonb_array_length(more -> 'overbooked') > 0 or jsonb_array_length(more -> 'cured') > 0
            or jsonb_array_length(more -> 'ended') > 0
        then
            perform ledger_apply_cases(at_, more);
        end if;
    end if;
    return places;
end
$$;
