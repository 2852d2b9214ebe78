-- Writes down closed nights that were just proved, by this very snapshot: all before a day that have no checkpoint
-- or have changed since, but for those that could not be proved.
insert into night_checkpoint as c (property_id, room_type_id, stay_date, physical, out_of_order, overbooking_limit,
                                   held, sold, night_version, snapshot, system_identifier, proven_at)
select n.property_id, n.room_type_id, n.stay_date, n.physical, n.out_of_order, n.overbooking_limit,
       n.held, n.sold, n.version, pg_current_snapshot(), s.system_identifier, ledger_now()
  from pg_control_system() s
 cross join night n
  left join night_checkpoint k on k.property_id = n.property_id and k.room_type_id = n.room_type_id
                              and k.stay_date = n.stay_date
 where n.property_id = $1 and n.stay_date < $2
   and (k.night_version is distinct from n.version or k.system_identifier <> s.system_identifier)
   and not exists (select from (select unnest($3::bigint[]) as room_type_id, unnest($4::date[]) as stay_date) u
                    where u.room_type_id = n.room_type_id and u.stay_date = n.stay_date)
 order by n.room_type_id, n.stay_date
    on conflict (property_id, room_type_id, stay_date) do update
   set physical = excluded.physical, out_of_order = excluded.out_of_order,
       overbooking_limit = excluded.overbooking_limit, held = excluded.held, sold = excluded.sold,
       night_version = excluded.night_version, snapshot = excluded.snapshot,
       system_identifier = excluded.system_identifier, proven_at = excluded.proven_at
