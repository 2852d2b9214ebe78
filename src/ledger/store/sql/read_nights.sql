-- What a batch of wishes needs, in one round trip: the same columns as read.sql, without reservations and
-- references. The arguments are those of read.sql. Rows are looked up key by key (`lateral ... offset 0`), whatever
-- the planner thinks of the tables' sizes, and what is read is aggregated as it comes: each node of the plan is begun
-- and ended for every batch.
-- Dead holds are looked for only where rooms may be wanting: of a night with fewer than the batch asks for ($13).
select c.now,
       clock_timestamp() as wall,
       p.ids, p.versions, p.dead,
       n.property, n.room_type, n.stay_date, n.place, n.version, n.physical, n.out_of_order, n.overbooking_limit,
       n.allotted, n.held, n.sold, n.oversold,
       null::json as reservations,
       null::json as stays,
       null::json as refs,
       case when cardinality($10::text[]) > 0 then (
           select json_agg(i)
             from unnest($10::text[], $11::text[]) k(scope, key)
            cross join lateral (select i.scope, i.key, i.fingerprint, i.receipt from idempotency_key i
                                 where i.scope = k.scope and i.key = k.key offset 0) i) end as receipts,
       case when $12::integer > 0 then (
           select array_agg(nextval('reservation_number')) from generate_series(1, $12::integer)) end as numbers
  from (select ledger_now() as now offset 0) c
 cross join (
       select array_agg(n.property_id) as property, array_agg(n.room_type_id) as room_type,
              array_agg(n.stay_date) as stay_date, array_agg(n.place) as place, array_agg(n.version) as version,
              array_agg(n.physical) as physical, array_agg(n.out_of_order) as out_of_order,
              array_agg(n.overbooking_limit) as overbooking_limit, array_agg(n.allotted) as allotted,
              array_agg(n.held) as held, array_agg(n.sold) as sold, array_agg(n.oversold) as oversold,
              array_agg(n.property_id) filter (
                  where n.physical + n.overbooking_limit - n.out_of_order - n.allotted - n.held - n.sold < $13
              ) as short
         from unnest($2::bigint[], $3::bigint[], $4::date[], $14::date[]) k(property_id, room_type_id, from_, until_)
        cross join lateral (select n.ctid as place, n.* from night n
                             where n.property_id = k.property_id and n.room_type_id = k.room_type_id
                               and n.stay_date >= k.from_ and n.stay_date < k.until_ offset 0) n) n
 cross join lateral (
       select array_agg(q.property_id) as ids, array_agg(q.rules_version) as versions,
              -- Only what is dead is looked at: the index has those that were confirmed until a vacuum comes.
              array_agg(case when $13 = 2147483647 or q.property_id = any(n.short)
                             then exists (select from reservation h
                                           where h.property_id = q.property_id and h.status = 'held'
                                             and h.hold_dead_at <= c.now
                                           order by h.hold_dead_at offset 0)
                             else false end) as dead
         from property q where q.property_id = any($1::bigint[])) p
 where ($5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::uuid[]) is not null
