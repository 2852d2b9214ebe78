-- What a batch needs, in one round trip: the clock, the rules versions, kept receipts, references,
-- reservations with their rooms, and the nights that any of them touches.
with reference as (
    select c.*
      from unnest($5::bigint[], $6::bigint[], $7::text[]) k(property_id, account_id, reference)
      join channel_reference c using (property_id, account_id, reference)
), wanted as (
    select k.property_id, k.reservation_id
      from unnest($8::bigint[], $9::uuid[]) k(property_id, reservation_id)
    union
    select property_id, reservation_id from reference where reservation_id is not null
), stay as (
    select s.* from wanted join room_stay s using (property_id, reservation_id)
), touched as (
    select k.property_id, k.room_type_id, k.stay_date
      from unnest($2::bigint[], $3::bigint[], $4::date[]) k(property_id, room_type_id, stay_date)
    union
    select s.property_id, p.room_type_id, s.taken_from + d
      from stay s
      cross join lateral (
          select s.room_type_id where s.components is null
          union all
          select (c ->> 0)::bigint from jsonb_array_elements(s.components) c) p(room_type_id)
      cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
     where p.room_type_id is not null and not s.is_given_back
), balance as (
    select n.* from touched t join night n using (property_id, room_type_id, stay_date)
)
select ledger_now() as now,
       clock_timestamp() as wall,
       p.ids, p.versions, p.dead,
       n.property, n.room_type, n.stay_date, n.version, n.physical, n.out_of_order, n.overbooking_limit,
       n.allotted, n.held, n.sold, n.oversold,
       (select jsonb_agg(to_jsonb(r) || jsonb_build_object('rooms', (
                   select jsonb_agg(to_jsonb(s) order by s.room_stay_id) from stay s
                    where s.property_id = r.property_id and s.reservation_id = r.reservation_id)))
          from wanted join reservation r using (property_id, reservation_id)) as reservations,
       (select jsonb_agg(to_jsonb(c)) from reference c) as refs,
       (select jsonb_agg(jsonb_build_object('scope', i.scope, 'key', i.key, 'fingerprint', i.fingerprint,
                                            'receipt', i.receipt))
          from unnest($10::text[], $11::text[]) k(scope, key)
          join idempotency_key i using (scope, key)) as receipts,
       (select array_agg(nextval('reservation_number')) from generate_series(1, $12::integer)) as numbers
  from (select array_agg(q.property_id) as ids, array_agg(q.rules_version) as versions,
               array_agg(exists (select from reservation h
                                  where h.property_id = q.property_id and h.status = 'held'
                                    and h.hold_dead_at <= (select ledger_now()))) as dead
          from property q where q.property_id = any($1::bigint[])) p,
       (select array_agg(property_id) as property, array_agg(room_type_id) as room_type,
               array_agg(stay_date) as stay_date, array_agg(version) as version,
               array_agg(physical) as physical, array_agg(out_of_order) as out_of_order,
               array_agg(overbooking_limit) as overbooking_limit, array_agg(allotted) as allotted,
               array_agg(held) as held, array_agg(sold) as sold, array_agg(oversold) as oversold
          from balance) n
