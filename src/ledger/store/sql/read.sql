-- What a batch needs, in one round trip: the clock, the rules versions, kept receipts, references,
-- reservations with their rooms (archived ones too), and the nights that any of them touches. Rows are looked up key
-- by key (`lateral ... offset 0`), whatever the planner thinks of the tables' sizes. Whole rows come as `json`: its
-- text is written at once, where `jsonb` is built, joined and written out again at three times the cost.
with reference as (
    select c.*
      from unnest($5::bigint[], $6::bigint[], $7::text[]) k(property_id, account_id, reference)
     cross join lateral (select * from channel_reference c
                          where c.property_id = k.property_id and c.account_id = k.account_id
                            and c.reference = k.reference offset 0) c
), wanted as (
    select k.property_id, k.reservation_id
      from unnest($8::bigint[], $9::uuid[]) k(property_id, reservation_id)
    union
    select property_id, reservation_id from reference where reservation_id is not null
), stay as (
    select s.* from wanted w
     cross join lateral (select * from known_room_stay s
                          where s.property_id = w.property_id and s.reservation_id = w.reservation_id offset 0) s
), touched(property_id, room_type_id, stay_date) as (
    select k.property_id, k.room_type_id, k.from_ + d
      from unnest($2::bigint[], $3::bigint[], $4::date[], $14::date[]) k(property_id, room_type_id, from_, until_)
     cross join lateral generate_series(0, k.until_ - k.from_ - 1) d
    union
    select s.property_id, p.room_type_id, s.taken_from + d
      from stay s
      cross join lateral (
          select s.room_type_id where s.components is null
          union all
          select (c ->> 0)::bigint from jsonb_array_elements(s.components) c) p(room_type_id)
      cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
     where p.room_type_id is not null and not s.is_given_back
)
select c.now,
       clock_timestamp() as wall,
       p.ids, p.versions, p.dead,
       n.property, n.room_type, n.stay_date, n.place, n.version, n.physical, n.out_of_order, n.overbooking_limit,
       n.allotted, n.held, n.sold, n.oversold,
       (select json_agg(r)
          from wanted w
         cross join lateral (select * from known_reservation r
                              where r.property_id = w.property_id and r.reservation_id = w.reservation_id
                             offset 0) r) as reservations,
       (select json_agg(s) from stay s) as stays,
       (select json_agg(c) from reference c) as refs,
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
              array_agg(n.held) as held, array_agg(n.sold) as sold, array_agg(n.oversold) as oversold
         from touched t
        cross join lateral (select n.ctid as place, n.* from night n
                             where n.property_id = t.property_id and n.room_type_id = t.room_type_id
                               and n.stay_date = t.stay_date offset 0) n) n
 cross join lateral (
       select array_agg(q.property_id) as ids, array_agg(q.rules_version) as versions,
              -- Only what is dead is looked at: the index has those that were confirmed until a vacuum comes.
              array_agg(exists (select from reservation h
                                 where h.property_id = q.property_id and h.status = 'held'
                                   and h.hold_dead_at <= c.now
                                 order by h.hold_dead_at offset 0)) as dead
         from property q where q.property_id = any($1::bigint[])) p
 where $13::integer is not null
