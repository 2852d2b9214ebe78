-- keyrack-ledger owns: the functions ledger_apply and ledger_give_birth.
--
-- Blocks of rooms are written by the batch that counts them: ledger_apply as before, with a call more. Locks are
-- taken in one order: idempotency keys, reservations, references, nights, room types, rooms, assignments.

create or replace function ledger_apply(
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
        if jsonb_array_length(more -> 'blocks') > 0 then
            perform ledger_apply_blocks(more);
        end if;
        if jsonb_array_length(more -> 'changed') > 0 then
            perform ledger_apply_assignments(more);
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

-- Blocks of rooms by (id, version), in place of those that the room had. A night that was not there when the change
-- was decided counts the blocks that it finds when it is born: the lock of the type keeps births away, and the
-- night must still not be there. A guest who has the room by now is an error of room_taken_once.
create function ledger_apply_blocks(more jsonb) returns void language plpgsql as $$
declare
    b record;
begin
    for b in
        select *
          from jsonb_to_recordset(more -> 'blocks')
               k(property_id bigint, room_id bigint, room_type_id bigint, version_read bigint, version bigint,
                 blocks jsonb, unborn jsonb)
         order by property_id, room_type_id, room_id
    loop
        perform from room_type t
          where t.property_id = b.property_id and t.room_type_id = b.room_type_id for no key update;
        update room r set version = b.version
         where r.property_id = b.property_id and r.room_id = b.room_id and r.version = b.version_read;
        if not found then
            raise exception 'rooms changed' using errcode = 'KR001';
        end if;
        if exists (select from jsonb_to_recordset(b.unborn) u(night_from date, night_until date)
                     join night n on n.property_id = b.property_id and n.room_type_id = b.room_type_id
                                 and n.stay_date >= u.night_from and n.stay_date < u.night_until) then
            raise exception 'nights were born' using errcode = 'KR001';
        end if;
        delete from room_assignment a
         where a.property_id = b.property_id and a.room_id = b.room_id and a.block_kind is not null;
        insert into room_assignment (property_id, room_id, stay, block_kind, reason)
        select b.property_id, b.room_id, daterange(k.night_from, k.night_until), k.kind, k.reason
          from jsonb_to_recordset(b.blocks) k(night_from date, night_until date, kind text, reason text);
    end loop;
end
$$;

-- Gives birth to nights that are not there, with the physical count of their type and the blocks of its rooms, and
-- writes it down. Under a share lock of the types, taken by a statement of its own: the next one sees what whoever
-- held the lock has changed, so that a cut of capacity misses no night and no night misses a block.
create function ledger_give_birth(property bigint[], type bigint[], night_date date[])
returns void language plpgsql as $$
begin
    perform from room_type t
      where (t.property_id, t.room_type_id) in (select * from unnest(property, type))
      order by t.property_id, t.room_type_id for share;
    with born as (
        insert into night (property_id, room_type_id, stay_date, physical, out_of_order)
        select k.property_id, k.room_type_id, k.stay_date, t.rooms, least(t.rooms, (
                   select count(*)::integer
                     from room r join room_assignment a using (property_id, room_id)
                    where r.property_id = k.property_id and r.room_type_id = k.room_type_id and r.is_active
                      and a.block_kind is not null and a.stay @> k.stay_date))
          from unnest(property, type, night_date) k(property_id, room_type_id, stay_date)
          join room_type t using (property_id, room_type_id)
         order by k.property_id, k.room_type_id, k.stay_date
            on conflict do nothing
        returning property_id, room_type_id, stay_date, physical, out_of_order)
    insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until,
                              quantity, from_pool, to_pool, actor, at)
    select b.property_id, gen_random_uuid(), 0, 'night_born', b.room_type_id, b.stay_date, b.stay_date + 1,
           m.quantity, m.from_pool, m.to_pool, 'worker:ledger', ledger_now()
      from born b
      cross join lateral (values (b.physical, 'outside', 'free'), (b.out_of_order, 'free', 'out_of_order'))
           m(quantity, from_pool, to_pool)
     where m.quantity > 0;
end
$$;

-- Assignments follow the stays that changed: gone where the stay takes nothing, has fewer rooms now, or came to
-- another type than the room's (a guest who was put into a better room keeps it through any other change); moved
-- where the room is free, else taken out and the reservation flagged: a stay that fits by count but in no single
-- room.
create or replace function ledger_apply_assignments(more jsonb) returns void language plpgsql as $$
declare
    a record;
begin
    for a in
        select m.property_id, m.assignment_id, m.room_id, m.reservation_id, s.taken_from, s.taken_until,
               s.is_given_back or r.status in ('cancelled', 'expired', 'completed') or s.taken_from = s.taken_until
                 or row_number() over (partition by m.property_id, m.reservation_id, m.room_stay_id
                                       order by m.assignment_id) > s.quantity
                 or (s.room_stay_id = any(k.retyped) and o.room_type_id is distinct from s.room_type_id) as is_over
          from jsonb_to_recordset(more -> 'changed') k(property_id bigint, reservation_id uuid, retyped integer[])
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

-- As before; a function in SQL is planned anew by each call, PL/pgSQL keeps its plan.
create or replace function ledger_apply_guests(more jsonb) returns void language plpgsql as $$
begin
    insert into reservation_guest as g (property_id, reservation_id, guest, room_guests, note, remarks)
    select property_id, reservation_id, coalesce(guest, '{}'), room_guests, note, remarks
      from jsonb_to_recordset(more -> 'guests')
           k(property_id bigint, reservation_id uuid, guest jsonb, room_guests jsonb, note text, remarks jsonb)
        on conflict (property_id, reservation_id) do update
       set guest = case when excluded.guest = '{}' then g.guest else excluded.guest end,
           room_guests = coalesce(g.room_guests, '{}') || coalesce(excluded.room_guests, '{}'),
           note = coalesce(excluded.note, g.note), remarks = coalesce(excluded.remarks, g.remarks);
end
$$;
