-- What a batch of wishes needs, in one round trip: the same columns as read.sql, without reservations and
-- references. The arguments are those of read.sql. Rows are looked up key by key (`lateral ... offset 0`), whatever
-- the planner thinks of the tables' sizes.
select ledger_now() as now,
       clock_timestamp() as wall,
       p.ids, p.versions, p.dead,
       n.property, n.room_type, n.stay_date, n.version, n.physical, n.out_of_order, n.overbooking_limit,
       n.allotted, n.held, n.sold, n.oversold,
       null::json as reservations,
       null::json as stays,
       null::json as refs,
       (select json_agg(i)
          from unnest($10::text[], $11::text[]) k(scope, key)
         cross join lateral (select i.scope, i.key, i.fingerprint, i.receipt from idempotency_key i
                              where i.scope = k.scope and i.key = k.key offset 0) i) as receipts,
       (select array_agg(nextval('reservation_number')) from generate_series(1, $12::integer)) as numbers
  from (select array_agg(q.property_id) as ids, array_agg(q.rules_version) as versions,
               -- The first to die, by its index: a search for any that is dead looks at all where none is.
               array_agg(coalesce((select h.hold_dead_at from reservation h
                                    where h.property_id = q.property_id and h.status = 'held'
                                    order by h.hold_dead_at limit 1) <= (select ledger_now()), false)) as dead
          from property q where q.property_id = any($1::bigint[])) p,
       (select array_agg(n.property_id) as property, array_agg(n.room_type_id) as room_type,
               array_agg(n.stay_date) as stay_date, array_agg(n.version) as version,
               array_agg(n.physical) as physical, array_agg(n.out_of_order) as out_of_order,
               array_agg(n.overbooking_limit) as overbooking_limit, array_agg(n.allotted) as allotted,
               array_agg(n.held) as held, array_agg(n.sold) as sold, array_agg(n.oversold) as oversold
          from unnest($2::bigint[], $3::bigint[], $4::date[]) k(property_id, room_type_id, stay_date)
         cross join lateral (select * from night n
                              where n.property_id = k.property_id and n.room_type_id = k.room_type_id
                                and n.stay_date = k.stay_date offset 0) n) n
 where ($5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::uuid[]) is not null
