-- Lays changes over cells, field by field where the mask's bit is set, and gives back those that are other
-- than before.
insert into rate_night as r (property_id, room_type_id, rate_plan_id, account_id, stay_date, amount_minor,
                             occupancy_rates, min_stay_arrival, min_stay_through, max_stay, closed_to_arrival,
                             closed_to_departure, min_advance_days, max_advance_days, stop_sell)
select $1, k.room_type_id, k.rate_plan_id, k.account_id, k.stay_date,
       case when k.mask & 1 <> 0 then k.amount_minor else b.amount_minor end,
       case when k.mask & 2 <> 0 then k.occupancy_rates else b.occupancy_rates end,
       case when k.mask & 4 <> 0 then k.min_stay_arrival else b.min_stay_arrival end,
       case when k.mask & 8 <> 0 then k.min_stay_through else b.min_stay_through end,
       case when k.mask & 16 <> 0 then k.max_stay else b.max_stay end,
       case when k.mask & 32 <> 0 then k.closed_to_arrival else b.closed_to_arrival end,
       case when k.mask & 64 <> 0 then k.closed_to_departure else b.closed_to_departure end,
       case when k.mask & 128 <> 0 then k.min_advance_days else b.min_advance_days end,
       case when k.mask & 256 <> 0 then k.max_advance_days else b.max_advance_days end,
       case when k.mask & 512 <> 0 then k.stop_sell else b.stop_sell end
  from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::date[], $6::integer[], $7::bigint[], $8::jsonb[],
              $9::integer[], $10::integer[], $11::integer[], $12::boolean[], $13::boolean[], $14::integer[],
              $15::integer[], $16::boolean[])
       k(room_type_id, rate_plan_id, account_id, stay_date, mask, amount_minor, occupancy_rates,
         min_stay_arrival, min_stay_through, max_stay, closed_to_arrival, closed_to_departure,
         min_advance_days, max_advance_days, stop_sell)
  left join rate_night b on b.property_id = $1 and b.room_type_id = k.room_type_id
                        and b.stay_date = k.stay_date and b.rate_plan_id = k.rate_plan_id
                        and b.account_id = k.account_id
    on conflict (property_id, room_type_id, stay_date, rate_plan_id, account_id) do update
   set amount_minor = excluded.amount_minor, occupancy_rates = excluded.occupancy_rates,
       min_stay_arrival = excluded.min_stay_arrival, min_stay_through = excluded.min_stay_through,
       max_stay = excluded.max_stay, closed_to_arrival = excluded.closed_to_arrival,
       closed_to_departure = excluded.closed_to_departure, min_advance_days = excluded.min_advance_days,
       max_advance_days = excluded.max_advance_days, stop_sell = excluded.stop_sell
 where (r.amount_minor, r.occupancy_rates, r.min_stay_arrival, r.min_stay_through, r.max_stay,
        r.closed_to_arrival, r.closed_to_departure, r.min_advance_days, r.max_advance_days, r.stop_sell)
       is distinct from
       (excluded.amount_minor, excluded.occupancy_rates, excluded.min_stay_arrival, excluded.min_stay_through,
        excluded.max_stay, excluded.closed_to_arrival, excluded.closed_to_departure,
        excluded.min_advance_days, excluded.max_advance_days, excluded.stop_sell)
returning room_type_id, rate_plan_id, account_id, stay_date
