-- keyrack-ledger owns: the function ledger_apply_cases.
--
-- As before, and: a case is of the nights that one command oversold. Two guests whose bookings arrive together have a
-- case each, as if they had arrived apart: why the one came is nothing of the other. Where several commands open a case
-- again, or cure its nights, the command and whoever asked it are named together, never one of each.

create or replace function ledger_apply_cases(at_ timestamptz, more jsonb) returns void language plpgsql as $$
declare
    k record;
    opened bigint;
begin
    -- First: what another command of the batch oversells anew after this one has a case of its own.
    for k in
        select e.*, c.room_type_id,
               (select min(n.stay_date) from overbooking_case_night n
                 where n.property_id = e.property_id and n.case_id = e.case_id) night_from,
               (select max(n.stay_date) + 1 from overbooking_case_night n
                 where n.property_id = e.property_id and n.case_id = e.case_id) night_until
          from jsonb_to_recordset(coalesce(more -> 'ended', '[]'))
               e(property_id bigint, case_id bigint, version bigint, outcome text, cost_minor bigint,
                 cost_currency text, resolution jsonb, beyond jsonb, command_id uuid, actor text)
          join overbooking_case c using (property_id, case_id)
         order by e.property_id, e.case_id
    loop
        -- Nights before their case, as whoever opens one again.
        perform from overbooking_case_night n where n.property_id = k.property_id and n.case_id = k.case_id
          order by n.stay_date for update;
        update overbooking_case
           set status = 'closed', closed_at = at_, outcome = k.outcome, cost_minor = k.cost_minor,
               cost_currency = k.cost_currency, resolution = k.resolution, version = version + 1
         where property_id = k.property_id and case_id = k.case_id and status = 'open' and version = k.version;
        if not found then
            raise exception 'cases changed' using errcode = 'KR001';
        end if;
        if k.outcome = 'accepted_as_is' then
            update overbooking_case_night n set accepted_rooms = c.rooms
              from jsonb_to_recordset(k.beyond) c(stay_date date, rooms integer)
             where n.property_id = k.property_id and n.case_id = k.case_id and n.stay_date = c.stay_date
               and n.cured_at is null;
        else
            update overbooking_case_night n set cured_at = at_, cured_by = k.command_id
             where n.property_id = k.property_id and n.case_id = k.case_id and n.cured_at is null;
        end if;
        insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
        values (k.property_id, k.case_id, 'closed', k.actor,
                jsonb_strip_nulls(jsonb_build_object('outcome', k.outcome, 'cost_minor', k.cost_minor,
                                                     'currency', k.cost_currency)) || k.resolution, at_);
        insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until,
                                  actor, reason, at)
        values (k.property_id, k.command_id, 2000000 + k.case_id::integer, 'overbooking_resolved',
                k.room_type_id, k.night_from, k.night_until, k.actor, k.case_id::text, at_);
    end loop;

    for k in
        select c.property_id, c.room_type_id, c.command_id, min(c.actor) actor,
               min(c.reservation_id::text)::uuid reservation_id, min(c.kind) kind,
               coalesce(bool_or(c.by_hand), false) by_hand,
               array_agg(c.stay_date order by c.stay_date) nights, array_agg(c.rooms order by c.stay_date) rooms
          from jsonb_to_recordset(more -> 'overbooked')
               c(property_id bigint, room_type_id bigint, stay_date date, rooms integer, command_id uuid,
                 actor text, reservation_id uuid, kind text, by_hand boolean)
         where not exists (select from overbooking_case_night n
                            where n.property_id = c.property_id and n.room_type_id = c.room_type_id
                              and n.stay_date = c.stay_date and n.cured_at is null)
         group by c.property_id, c.room_type_id, c.command_id
         order by c.property_id, c.room_type_id, nights
    loop
        insert into overbooking_case (property_id, room_type_id, opened_at, evidence, by_hand)
        values (k.property_id, k.room_type_id, at_,
                jsonb_build_object('command_id', k.command_id, 'actor', k.actor, 'kind', k.kind,
                                   'reservation_id', k.reservation_id), k.by_hand)
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
        select n.property_id, n.case_id, n.room_type_id,
               (array_agg(c.command_id order by c.stay_date))[1] command_id,
               (array_agg(c.actor order by c.stay_date))[1] actor,
               (array_agg(c.reservation_id order by c.stay_date))[1] reservation_id,
               array_agg(c.stay_date order by c.stay_date) nights, array_agg(c.rooms order by c.stay_date) rooms
          from jsonb_to_recordset(more -> 'overbooked')
               c(property_id bigint, room_type_id bigint, stay_date date, rooms integer, command_id uuid,
                 actor text, reservation_id uuid)
          join overbooking_case_night n on n.property_id = c.property_id and n.room_type_id = c.room_type_id
                                       and n.stay_date = c.stay_date and n.cured_at is null
                                       and n.accepted_rooms < c.rooms
         group by n.property_id, n.case_id, n.room_type_id
         order by n.property_id, n.case_id
    loop
        update overbooking_case_night set accepted_rooms = null
         where property_id = k.property_id and case_id = k.case_id and cured_at is null;
        update overbooking_case
           set status = 'open', closed_at = null, outcome = null, cost_minor = null, cost_currency = null,
               resolution = null, approval = null, deadline = null, escalated_at = null, escalation_told_at = null,
               version = version + 1
         where property_id = k.property_id and case_id = k.case_id and status = 'closed';
        insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
        values (k.property_id, k.case_id, 'reopened', k.actor,
                jsonb_build_object('nights', k.nights, 'rooms', k.rooms,
                                   'why', 'more rooms are beyond than were accepted'), at_);
        insert into ledger_entry (property_id, command_id, line, reservation_id, kind, room_type_id, night_from,
                                  night_until, actor, reason, at)
        values (k.property_id, k.command_id, 1000000 + k.case_id::integer, k.reservation_id, 'overbooking_opened',
                k.room_type_id, k.nights[1], k.nights[cardinality(k.nights)] + 1, k.actor, k.case_id::text, at_);
    end loop;

    for k in
        with cured as (
            update overbooking_case_night n set cured_at = at_, cured_by = c.command_id
              from jsonb_to_recordset(more -> 'cured')
                   c(property_id bigint, room_type_id bigint, stay_date date, rooms integer, command_id uuid,
                     actor text)
             where n.property_id = c.property_id and n.room_type_id = c.room_type_id
               and n.stay_date = c.stay_date and n.cured_at is null
               -- Still beyond and meant to be: what a person opened stays open.
               and not (coalesce(c.rooms, 0) > 0
                        and exists (select from overbooking_case o
                                     where o.property_id = n.property_id and o.case_id = n.case_id and o.by_hand))
            returning n.property_id, n.case_id, n.room_type_id, n.stay_date, c.command_id, c.actor)
        select property_id, case_id, min(room_type_id) room_type_id, array_agg(stay_date order by stay_date) nights,
               (array_agg(command_id order by stay_date desc))[1] command_id,
               (array_agg(actor order by stay_date desc))[1] actor
          from cured group by property_id, case_id order by property_id, case_id
    loop
        insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
        values (k.property_id, k.case_id, 'nights_cured', k.actor, jsonb_build_object('nights', k.nights), at_);
        if exists (select from overbooking_case_night n
                    where n.property_id = k.property_id and n.case_id = k.case_id and n.cured_at is null) then
            update overbooking_case set version = version + 1
             where property_id = k.property_id and case_id = k.case_id;
            continue;
        end if;
        update overbooking_case
           set status = 'closed', closed_at = at_, outcome = 'cured', version = version + 1
         where property_id = k.property_id and case_id = k.case_id and status = 'open';
        -- Closed before: a command has ended it, or it was accepted as it was.
        if found then
            insert into overbooking_case_event (property_id, case_id, kind, actor, detail, at)
            values (k.property_id, k.case_id, 'closed', k.actor, jsonb_build_object('outcome', 'cured'), at_);
            insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until,
                                      actor, reason, at)
            values (k.property_id, k.command_id, 2000000 + k.case_id::integer, 'overbooking_resolved',
                    k.room_type_id, k.nights[1], k.nights[cardinality(k.nights)] + 1, k.actor, k.case_id::text, at_);
        end if;
    end loop;
end
$$;
