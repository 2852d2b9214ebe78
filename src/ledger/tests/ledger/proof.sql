-- Entries against nights, and reservations against nights: whatever this returns is not proven.
with moved as (
    select e.property_id, e.room_type_id, e.night_from + d as stay_date, p.pool, sum(p.sign * e.quantity) as rooms
      from ledger_entry e
      cross join lateral generate_series(0, e.night_until - e.night_from - 1) d
      cross join lateral (values (e.to_pool, 1), (e.from_pool, -1)) p(pool, sign)
     where e.quantity > 0
     group by 1, 2, 3, 4
), sums as (
    select property_id, room_type_id, stay_date,
           coalesce(-sum(rooms) filter (where pool = 'outside'), 0) as physical,
           coalesce(-sum(rooms) filter (where pool = 'limit'), 0) as overbooking_limit,
           coalesce(sum(rooms) filter (where pool = 'out_of_order'), 0) as out_of_order,
           coalesce(sum(rooms) filter (where pool = 'held'), 0) as held,
           coalesce(sum(rooms) filter (where pool = 'sold'), 0) as sold
      from moved group by 1, 2, 3
), taken as (
    select s.property_id, p.room_type_id, s.taken_from + d as stay_date,
           coalesce(sum(s.quantity * p.per_unit) filter (where r.status = 'held'), 0) as held,
           coalesce(sum(s.quantity * p.per_unit) filter (
               where r.status in ('confirmed', 'checked_in', 'completed', 'no_show')), 0) as sold
      from known_reservation r
      join known_room_stay s using (property_id, reservation_id)
      cross join lateral (
          select s.room_type_id, 1 where s.components is null
          union all
          select (c ->> 0)::bigint, (c ->> 1)::integer from jsonb_array_elements(s.components) c) p(room_type_id,
          per_unit)
      cross join lateral generate_series(0, s.taken_until - s.taken_from - 1) d
     where not s.is_given_back and p.room_type_id is not null
     group by 1, 2, 3
)
select format('night %s of type %s: entries say %s, sums say %s', stay_date, room_type_id, s, n)
  from sums s full join night n using (property_id, room_type_id, stay_date)
 where (coalesce(s.physical, 0), coalesce(s.overbooking_limit, 0), coalesce(s.out_of_order, 0),
        coalesce(s.held, 0), coalesce(s.sold, 0))
       is distinct from (coalesce(n.physical, 0), coalesce(n.overbooking_limit, 0), coalesce(n.out_of_order, 0),
        coalesce(n.held, 0), coalesce(n.sold, 0))
union all
select format('night %s of type %s: reservations take %s, sums say %s', stay_date, room_type_id, t, n)
  from taken t full join night n using (property_id, room_type_id, stay_date)
 where (coalesce(t.held, 0), coalesce(t.sold, 0)) is distinct from (coalesce(n.held, 0), coalesce(n.sold, 0))
union all
select format('night %s of type %s: sold beyond the rooms, and no open case', stay_date, room_type_id)
  from night n
 where sold > greatest(physical - out_of_order, 0) + overbooking_limit
   and not exists (select from overbooking_case_night c where c.property_id = n.property_id
                      and c.room_type_id = n.room_type_id and c.stay_date = n.stay_date and c.cured_at is null)
union all
select format('case %s: night %s is open and cured', c.case_id, c.stay_date)
  from overbooking_case_night c join night n using (property_id, room_type_id, stay_date)
 where c.cured_at is null and n.sold <= greatest(n.physical - n.out_of_order, 0)
