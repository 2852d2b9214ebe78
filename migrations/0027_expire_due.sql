-- keyrack-ledger owns: the function ledger_expire_due.
--
-- The longest dead holds of properties give their rooms back, of each its share at most, in one transaction: the rule
-- of the command `expire`, for whole sets (ledger, section 7). What somebody changes just now is passed over. Locks
-- are taken in the order of all: reservations, then nights by their key.

create function ledger_expire_due(properties bigint[], shares integer[], command uuid, actor_ text)
    returns table (property_id bigint, reservation_id uuid, dead_for_ms bigint)
    language plpgsql
    -- Nights are locked in the order in which they are named.
    set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    at_ constant timestamptz := ledger_now();
    dead_property bigint[];
    dead_id uuid[];
    dead_since timestamptz[];
    named bigint;
    freed bigint;
begin
    select array_agg(h.property_id), array_agg(h.reservation_id), array_agg(h.hold_dead_at)
      into dead_property, dead_id, dead_since
      from unnest(properties, shares) p(property_id, share)
     cross join lateral (
           select r.property_id, r.reservation_id, r.hold_dead_at
             from reservation r
            where r.property_id = p.property_id and r.status = 'held' and r.hold_dead_at <= at_
              and r.flags @> '{expiry_failed}' is false
            order by r.hold_dead_at limit p.share
              for update skip locked) h;
    if dead_id is null then
        return;
    end if;

    -- A statement of its own: it sees what those have written who had the holds before us.
    with dead as materialized (
        select unnest(dead_property) as property_id, unnest(dead_id) as reservation_id
    ), gone as (
        update reservation r set status = 'expired', version = r.version + 1, updated_at = at_
          from dead d
         where r.property_id = d.property_id and r.reservation_id = d.reservation_id
        returning r.property_id, r.reservation_id, r.version
    ), part as materialized (
        select g.property_id, g.reservation_id, g.version, s.room_type_id, s.taken_from, s.taken_until, s.rooms
          from gone g
          left join lateral (
                select p.room_type_id, s.taken_from, s.taken_until, s.quantity * p.per_unit as rooms
                  from room_stay s
                 cross join lateral (
                       select s.room_type_id, 1 where s.components is null
                       union all
                       select (c ->> 0)::bigint, (c ->> 1)::integer
                         from jsonb_array_elements(s.components) c) p(room_type_id, per_unit)
                 where s.property_id = g.property_id and s.reservation_id = g.reservation_id
                   and not s.is_given_back and s.taken_from < s.taken_until and p.room_type_id is not null
                offset 0) s on true
    ), entry as (
        insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id,
                                  night_from, night_until, quantity, from_pool, to_pool, actor, at)
        select p.property_id, command, row_number() over (order by p.property_id, p.reservation_id),
               p.reservation_id, p.version,
               case row_number() over (partition by p.property_id, p.reservation_id) when 1 then 'expired'
                    else 'moved' end,
               p.room_type_id, p.taken_from, p.taken_until, coalesce(p.rooms, 0),
               case when p.rooms > 0 then 'held' end, case when p.rooms > 0 then 'free' end, actor_, at_
          from part p
    ), freed_night as materialized (
        select p.property_id, p.room_type_id, p.taken_from + d as stay_date, sum(p.rooms)::integer as rooms
          from part p
         cross join lateral generate_series(0, p.taken_until - p.taken_from - 1) d
         where p.rooms > 0
         group by 1, 2, 3
         order by 1, 2, 3
    ), night_ as (
        update night n
           set held = n.held - f.rooms, version = n.version + 1,
               oversold = greatest(0, n.held - f.rooms + n.sold + n.allotted + n.out_of_order - n.physical
                                      - n.overbooking_limit)
          from freed_night f
         where n.property_id = f.property_id and n.room_type_id = f.room_type_id and n.stay_date = f.stay_date
        returning 1
    ), room as (
        delete from room_assignment a
         using dead d
         where a.property_id = d.property_id and a.reservation_id = d.reservation_id
    )
    select (select count(*) from freed_night), (select count(*) from night_) into named, freed;
    if freed <> named then
        raise exception 'a dead hold takes nights that are not there';
    end if;

    return query
        select k.property_id, k.reservation_id, (extract(epoch from at_ - k.since) * 1000)::bigint
          from (select unnest(dead_property) as property_id, unnest(dead_id) as reservation_id,
                       unnest(dead_since) as since) k;
end
$$;
