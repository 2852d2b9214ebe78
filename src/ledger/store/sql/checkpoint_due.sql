-- Whether a night before a day has no checkpoint, or has changed since.
select exists (
    select from night n
      left join night_checkpoint k on k.property_id = n.property_id and k.room_type_id = n.room_type_id
                                  and k.stay_date = n.stay_date
     where n.property_id = $1 and n.stay_date < $2
       and (k.night_version is distinct from n.version
            or k.system_identifier <> (select system_identifier from pg_control_system())))
