-- Four hundred nights of the only type before the tests' first, with twenty holds on each that came and went.
insert into night (property_id, room_type_id, stay_date, physical)
select property_id, room_type_id, date '2029-01-01' + d, rooms from room_type, generate_series(0, 399) d;
insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until, quantity,
                          from_pool, to_pool, actor, at)
select n.property_id,
       ledger_command_id(clock_timestamp() - interval '1 year' + (n.stay_date - '2029-01-01') * interval '1 hour',
                         substring(uuid_send(gen_random_uuid()) from 7)),
       0, m.kind, n.room_type_id, n.stay_date, n.stay_date + 1, m.quantity,
       m.from_pool, m.to_pool, 'test', ledger_now()
  from night n
 cross join lateral (
       select 'night_born' as kind, n.physical as quantity, 'outside' as from_pool, 'free' as to_pool
       union all
       select 'moved', 1, k.from_pool, k.to_pool
         from generate_series(1, 20) g, (values ('free', 'held'), ('held', 'free')) k(from_pool, to_pool)) m
 where n.stay_date < '2030-02-05';
analyze ledger_entry;
analyze night;
