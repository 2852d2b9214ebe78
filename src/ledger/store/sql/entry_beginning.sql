-- Where the entries begin that a verification from checkpoints must read: the first night of the property that has
-- no checkpoint or has changed since, and the oldest command that touched it or a later one.
insert into entry_beginning (property_id, night, command_id)
select $1, f.night,
       least(coalesce((select e.command_id from ledger_entry e
                        where e.property_id = $1 and e.quantity > 0 and e.night_until > f.night
                          and e.command_id >= (select ledger_beginning($1, f.night))
                        order by e.command_id limit 1), 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
             ledger_command_id(clock_timestamp() - interval '2 days'))
  from (select coalesce(min(n.stay_date) filter (where c.night_version is distinct from n.version),
                        max(n.stay_date) + 1) as night
          from night n
          left join night_checkpoint c
            on c.property_id = n.property_id and c.room_type_id = n.room_type_id and c.stay_date = n.stay_date
           and c.system_identifier = (select system_identifier from pg_control_system())
         where n.property_id = $1) f
 where f.night is not null
    on conflict (property_id, night) do nothing
