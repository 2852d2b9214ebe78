-- keyrack-ledger owns: the function ledger_apply.
--
-- As before, but that it is called with rows and not with a column each: an array of rows is one function to
-- unfold where there were fourteen, and half the cost of beginning a statement. Changes of reservations are rows
-- too, and only those that may move a guest from his room are told to the assignments.
-- The function of before stays for a daemon of before, and so do these types for daemons of this day: another shape
-- of a row is another type and another function beside this one.

create type apply_receipt as (scope text, key text, fingerprint text, receipt jsonb);

create type apply_reservation as (
    property_id bigint, id uuid, number bigint, status text, source text, account bigint, reference text,
    hold_until timestamptz, hold_dead_at timestamptz, owner text, payment text, booked_at timestamptz,
    flags text[], detail jsonb);

create type apply_stay as (
    property_id bigint, reservation uuid, id integer, room_type bigint, plan bigint, arrival date, departure date,
    taken_from date, taken_until date, quantity integer, components jsonb, adults integer, children_ages jsonb,
    nightly jsonb, booked jsonb);

-- A reservation that was read, as it will be.
create type apply_change as (
    property_id bigint, id uuid, version bigint, version_after bigint, status text, hold_until timestamptz,
    hold_dead_at timestamptz, extensions integer, payment text, booked_at timestamptz, flags text[], detail jsonb);

-- With the place where its row was read.
create type apply_night as (
    place tid, property_id bigint, room_type bigint, stay_date date, version bigint,
    physical integer, out_of_order integer, overbooking_limit integer, held integer, sold integer,
    oversold integer);

create type apply_entry as (
    property_id bigint, command uuid, line integer, reservation uuid, version bigint, kind text,
    room_type bigint, night_from date, night_until date, quantity integer, from_pool text, to_pool text,
    actor text, request text, reason text);

create function ledger_apply(
    at_ timestamptz, rule_property bigint[], rule_version bigint[], receipts apply_receipt[],
    reservations apply_reservation[], stays apply_stay[], changes apply_change[], nights apply_night[],
    entries apply_entry[], more jsonb
) returns void language plpgsql as $$
declare
    affected bigint;
begin
    select count(*) into affected
      from (select unnest(rule_property) as property_id, unnest(rule_version) as version) k
      join property p on p.property_id = k.property_id and p.rules_version = k.version;
    if affected <> cardinality(rule_property) then
        raise exception 'rules changed' using errcode = 'KR001';
    end if;

    if cardinality(receipts) > 0 then
        insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
        select k.*, at_ from unnest(receipts) k;
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
            raise exception 'reservations changed' using errcode = 'KR001';
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

    if cardinality(nights) > 0 then
        -- A row that somebody has written since lies elsewhere; another that lies there now has another key.
        update night n
           set physical = k.physical, out_of_order = k.out_of_order, overbooking_limit = k.overbooking_limit,
               held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
          from unnest(nights) k
         where n.ctid = k.place and n.property_id = k.property_id and n.room_type_id = k.room_type
           and n.stay_date = k.stay_date and n.version = k.version;
        get diagnostics affected = row_count;
        if affected <> cardinality(nights) then
            raise exception 'nights changed' using errcode = 'KR001';
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
        if jsonb_array_length(more -> 'overbooked') > 0 or jsonb_array_length(more -> 'cured') > 0 then
            perform ledger_apply_cases(at_, more);
        end if;
    end if;
end
$$;
