-- Nights sold beyond what may be sold without an open case, and open cases of nights that are cured.
select t.code as room_type, n.stay_date, n.sold,
       greatest(n.physical - n.out_of_order, 0) as usable,
       c.case_id is not null as is_open
  from night n
  join room_type t using (property_id, room_type_id)
  left join overbooking_case_night c on c.property_id = n.property_id and c.room_type_id = n.room_type_id
                                    and c.stay_date = n.stay_date and c.cured_at is null
 where n.property_id = $1
   and ((n.sold > greatest(n.physical - n.out_of_order, 0) + n.overbooking_limit and c.case_id is null)
        or (n.sold <= greatest(n.physical - n.out_of_order, 0) and c.case_id is not null))
 order by n.stay_date, t.code
