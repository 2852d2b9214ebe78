-- keyrack-ledger owns: the function ledger_apply.
--
-- One round trip that carries out what a batch decided, or nothing: reservations are changed by (id, version),
-- nights by (key, version), the property's rules version is demanded. If any count is short it raises KR001
-- and the whole rolls back: the batch is read again under locks and decided anew. Locks are taken in one
-- order: idempotency keys, reservations, references, nights, assignments. The caller sorts the arrays.
--
-- What every hold writes comes as arrays (the fastest way in); what is rarer comes as JSON.

create function ledger_apply(
    at_ timestamptz,
    rule_property bigint[], rule_version bigint[],
    key_scope text[], key_key text[], key_fingerprint text[], key_receipt text[],
    new_property bigint[], new_id uuid[], new_number bigint[], new_status text[], new_source text[],
    new_account bigint[], new_reference text[], new_hold_until timestamptz[], new_hold_dead_at timestamptz[],
    new_owner text[], new_payment text[], new_booked_at timestamptz[], new_flags text[], new_detail text[],
    stay_property bigint[], stay_reservation uuid[], stay_id integer[], stay_type bigint[], stay_plan bigint[],
    stay_arrival date[], stay_departure date[], stay_from date[], stay_until date[], stay_quantity integer[],
    stay_adults integer[], stay_more text[],
    night_property bigint[], night_type bigint[], night_date date[], night_version bigint[],
    night_physical integer[], night_out_of_order integer[], night_limit integer[],
    night_held integer[], night_sold integer[], night_oversold integer[],
    entry_property bigint[], entry_command uuid[], entry_line integer[], entry_reservation uuid[],
    entry_version bigint[], entry_kind text[], entry_type bigint[], entry_from date[], entry_until date[],
    entry_quantity integer[], entry_from_pool text[], entry_to_pool text[], entry_actor text[],
    entry_request text[], entry_reason text[],
    more jsonb
) returns void language plpgsql as $$
declare
    affected bigint;
begin
    select count(*) into affected
      from unnest(rule_property, rule_version) k(property_id, version)
      join property p on p.property_id = k.property_id and p.rules_version = k.version;
    if affected <> cardinality(rule_property) then
        raise exception 'rules changed' using errcode = 'KR001';
    end if;

    if cardinality(key_scope) > 0 then
        insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
        select k.scope, k.key, k.fingerprint, k.receipt::jsonb, at_
          from unnest(key_scope, key_key, key_fingerprint, key_receipt) k(scope, key, fingerprint, receipt);
    end if;

    if more is not null then
        perform ledger_apply_reservations(at_, more);
    end if;

    if cardinality(new_id) > 0 then
        insert into reservation (property_id, reservation_id, number, status, source, account_id, channel_reference,
                                 hold_until, hold_dead_at, owner_id, payment_reference, booked_at, created_at,
                                 updated_at, flags, detail)
        select k.property_id, k.id, k.number, k.status, k.source, k.account, k.reference,
               k.hold_until, k.hold_dead_at, k.owner, k.payment, k.booked_at, at_,
               at_, coalesce(k.flags::text[], '{}'), k.detail::jsonb
          from unnest(new_property, new_id, new_number, new_status, new_source, new_account, new_reference,
                      new_hold_until, new_hold_dead_at, new_owner, new_payment, new_booked_at, new_flags, new_detail)
               k(property_id, id, number, status, source, account, reference,
                 hold_until, hold_dead_at, owner, payment, booked_at, flags, detail);
        insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                               departure, taken_from, taken_until, quantity, adults,
                               components, children_ages, nightly, booked)
        select k.property_id, k.reservation, k.id, k.room_type, k.plan, k.arrival,
               k.departure, k.from_, k.until_, k.quantity, k.adults,
               k.more::jsonb -> 'components', k.more::jsonb -> 'children_ages',
               k.more::jsonb -> 'nightly', k.more::jsonb -> 'booked'
          from unnest(stay_property, stay_reservation, stay_id, stay_type, stay_plan, stay_arrival,
                      stay_departure, stay_from, stay_until, stay_quantity, stay_adults, stay_more)
               k(property_id, reservation, id, room_type, plan, arrival,
                 departure, from_, until_, quantity, adults, more);
    end if;

    if cardinality(night_type) > 0 then
        update night n
           set physical = k.physical, out_of_order = k.out_of_order, overbooking_limit = k.limit_,
               held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
          from unnest(night_property, night_type, night_date, night_version, night_physical, night_out_of_order,
                      night_limit, night_held, night_sold, night_oversold)
               k(property_id, room_type_id, stay_date, version, physical, out_of_order,
                 limit_, held, sold, oversold)
         where n.property_id = k.property_id and n.room_type_id = k.room_type_id
           and n.stay_date = k.stay_date and n.version = k.version;
        get diagnostics affected = row_count;
        if affected <> cardinality(night_type) then
            raise exception 'nights changed' using errcode = 'KR001';
        end if;
    end if;

    insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id,
                              night_from, night_until, quantity, from_pool, to_pool, actor, request_id, reason, at)
    select k.property_id, k.command, k.line, k.reservation, k.version, k.kind, k.room_type,
           k.from_, k.until_, k.quantity, k.from_pool, k.to_pool, k.actor, k.request, k.reason, at_
      from unnest(entry_property, entry_command, entry_line, entry_reservation, entry_version, entry_kind,
                  entry_type, entry_from, entry_until, entry_quantity, entry_from_pool, entry_to_pool,
                  entry_actor, entry_request, entry_reason)
           k(property_id, command, line, reservation, version, kind, room_type, from_, until_, quantity,
             from_pool, to_pool, actor, request, reason);

    if more is not null then
        perform ledger_apply_assignments(more);
        perform ledger_apply_guests(more);
        perform ledger_apply_cases(at_, more);
    end if;
end
$$;

-- Changed reservations by (id, version), their room stays, and references by version (0 is new).
create function ledger_apply_reservations(at_ timestamptz, more jsonb) returns void language plpgsql as $$
declare
    affected bigint;
begin
    if jsonb_array_length(more -> 'changed') > 0 then
        update reservation r
           set status = k.status, version = k.version + 1, hold_until = k.hold_until, hold_dead_at = k.hold_dead_at,
               extensions = k.extensions, payment_reference = k.payment_reference, booked_at = k.booked_at,
               updated_at = at_, flags = k.flags, detail = k.detail
          from jsonb_to_recordset(more -> 'changed')
               k(property_id bigint, reservation_id uuid, version bigint, status text, hold_until timestamptz,
                 hold_dead_at timestamptz, extensions integer, payment_reference text, booked_at timestamptz,
                 flags text[], detail jsonb)
         where r.property_id = k.property_id and r.reservation_id = k.reservation_id and r.version = k.version;
        get diagnostics affected = row_count;
        if affected <> jsonb_array_length(more -> 'changed') then
            raise exception 'reservations changed' using errcode = 'KR001';
        end if;
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

-- Assignments follow the stays that changed: gone where the stay takes nothing or another type, moved where the
-- room is free, else taken out and the reservation flagged: a stay that fits by count but in no single room.
create function ledger_apply_assignments(more jsonb) returns void language plpgsql as $$
declare
    a record;
begin
    for a in
        select m.property_id, m.assignment_id, m.room_id, m.reservation_id, s.taken_from, s.taken_until,
               s.is_given_back or r.status in ('cancelled', 'expired', 'completed') or s.taken_from = s.taken_until
                 or o.room_type_id is distinct from s.room_type_id as is_over
          from jsonb_to_recordset(more -> 'changed') k(property_id bigint, reservation_id uuid)
          join reservation r using (property_id, reservation_id)
          join room_assignment m using (property_id, reservation_id)
          join room_stay s using (property_id, reservation_id, room_stay_id)
          join room o on o.property_id = m.property_id and o.room_id = m.room_id
         order by m.property_id, m.assignment_id
    loop
        if a.is_over then
            delete from room_assignment where property_id = a.property_id and assignment_id = a.assignment_id;
        elsif exists (select from room_assignment x
                       where x.property_id = a.property_id and x.room_id = a.room_id
                         and x.assignment_id <> a.assignment_id
                         and x.stay && daterange(a.taken_from, a.taken_until)) then
            delete from room_assignment where property_id = a.property_id and assignment_id = a.assignment_id;
            update reservation
               set flags = array_append(array_remove(flags, 'needs_room_change'), 'needs_room_change')
             where property_id = a.property_id and reservation_id = a.reservation_id;
        else
            update room_assignment set stay = daterange(a.taken_from, a.taken_until)
             where property_id = a.property_id and assignment_id = a.assignment_id
               and stay <> daterange(a.taken_from, a.taken_until);
        end if;
    end loop;
end
$$;

create function ledger_apply_guests(more jsonb) returns void language sql as $$
    insert into reservation_guest as g (property_id, reservation_id, guest, room_guests, note, remarks)
    select property_id, reservation_id, coalesce(guest, '{}'), room_guests, note, remarks
      from jsonb_to_recordset(more -> 'guests')
           k(property_id bigint, reservation_id uuid, guest jsonb, room_guests jsonb, note text, remarks jsonb)
        on conflict (property_id, reservation_id) do update
       set guest = case when excluded.guest = '{}' then g.guest else excluded.guest end,
           room_guests = coalesce(g.room_guests, '{}') || coalesce(excluded.room_guests, '{}'),
           note = coalesce(excluded.note, g.note), remarks = coalesce(excluded.remarks, g.remarks)
$$;

-- Cases open and close with the nights that need them: a new case per room type for nights without an open one,
-- written down as an entry of the command that oversold them; and likewise when the last night is cured.
create function ledger_apply_cases(at_ timestamptz, more jsonb) returns void language plpgsql as $$
declare
    k record;
    opened bigint;
begin
    for k in
        select c.property_id, c.room_type_id, min(c.command_id::text)::uuid command_id, min(c.actor) actor,
               min(c.reservation_id::text)::uuid reservation_id, min(c.kind) kind,
               array_agg(c.stay_date order by c.stay_date) nights, array_agg(c.rooms order by c.stay_date) rooms
          from jsonb_to_recordset(more -> 'overbooked')
               c(property_id bigint, room_type_id bigint, stay_date date, rooms integer, command_id uuid,
                 actor text, reservation_id uuid, kind text)
         where not exists (select from overbooking_case_night n
                            where n.property_id = c.property_id and n.room_type_id = c.room_type_id
                              and n.stay_date = c.stay_date and n.cured_at is null)
         group by c.property_id, c.room_type_id
         order by c.property_id, c.room_type_id
    loop
        insert into overbooking_case (property_id, room_type_id, opened_at, evidence)
        values (k.property_id, k.room_type_id, at_,
                jsonb_build_object('command_id', k.command_id, 'actor', k.actor, 'kind', k.kind,
                                   'reservation_id', k.reservation_id))
        returning case_id into opened;
        insert into overbooking_case_night (property_id, case_id, room_type_id, stay_date, rooms, opened_by)
        select k.property_id, opened, k.room_type_id, u.night, u.rooms, k.command_id
          from unnest(k.nights, k.rooms) u(night, rooms);
        insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
        values (k.property_id, opened, 'opened', k.actor, jsonb_build_object('nights', k.nights), at_);
        insert into ledger_entry (property_id, command_id, line, reservation_id, kind, room_type_id, night_from,
                                  night_until, actor, reason, at)
        values (k.property_id, k.command_id, 1000000 + opened::integer, k.reservation_id, 'overbooking_opened',
                k.room_type_id, k.nights[1], k.nights[cardinality(k.nights)] + 1, k.actor, opened::text, at_);
    end loop;

    update overbooking_case_night n set rooms = greatest(n.rooms, c.rooms)
      from jsonb_to_recordset(more -> 'overbooked')
           c(property_id bigint, room_type_id bigint, stay_date date, rooms integer)
     where n.property_id = c.property_id and n.room_type_id = c.room_type_id
       and n.stay_date = c.stay_date and n.cured_at is null and n.rooms < c.rooms;

    for k in
        with cured as (
            update overbooking_case_night n set cured_at = at_, cured_by = c.command_id
              from jsonb_to_recordset(more -> 'cured')
                   c(property_id bigint, room_type_id bigint, stay_date date, command_id uuid, actor text)
             where n.property_id = c.property_id and n.room_type_id = c.room_type_id
               and n.stay_date = c.stay_date and n.cured_at is null
            returning n.property_id, n.case_id, n.room_type_id, n.stay_date, c.command_id, c.actor)
        select property_id, case_id, min(room_type_id) room_type_id, array_agg(stay_date order by stay_date) nights,
               min(command_id::text)::uuid command_id, min(actor) actor
          from cured group by property_id, case_id order by property_id, case_id
    loop
        insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
        values (k.property_id, k.case_id, 'nights_cured', k.actor, jsonb_build_object('nights', k.nights), at_);
        if not exists (select from overbooking_case_night n
                        where n.property_id = k.property_id and n.case_id = k.case_id and n.cured_at is null) then
            update overbooking_case
               set status = 'closed', closed_at = at_, outcome = 'cured', version = version + 1
             where property_id = k.property_id and case_id = k.case_id and status = 'open';
            insert into overbooking_case_event (property_id, case_id, kind, actor, at)
            values (k.property_id, k.case_id, 'closed', k.actor, at_);
            insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until,
                                      actor, reason, at)
            values (k.property_id, k.command_id, 2000000 + k.case_id::integer, 'overbooking_resolved',
                    k.room_type_id, k.nights[1], k.nights[cardinality(k.nights)] + 1, k.actor, k.case_id::text, at_);
        end if;
    end loop;
end
$$;
