-- Ten thousand hotels, each with two room types of twelve nights, three reservations; a quarter of them with a listing
-- that is in setup. Nothing of theirs is due, and a past stands in every table.
insert into property (code, name, time_zone, currency, horizon_days, nights_until, rolled_over_to)
select 'chain-' || n, 'Chain ' || n, 'UTC', 'EUR', 12, day + 12, day
  from generate_series(1, 10000) n, (select ledger_now()::date as day) today;
insert into room_type (property_id, code, name, rooms)
select property_id, t.code, t.code, 20 from property, (values ('single'), ('twin')) t(code) where name like 'Chain %';
insert into night (property_id, room_type_id, stay_date, physical)
select property_id, room_type_id, ledger_now()::date + d, rooms
  from room_type join property using (property_id), generate_series(0, 11) d where property.name like 'Chain %';
insert into connection (code, channel, credentials)
select 'chain-' || n, 'deltas', credentials from generate_series(1, 10000) n, connection where code = 'portal';
insert into account (property_id, code, connection_id, channel, hotel_code)
select p.property_id, 'chain', c.connection_id, 'deltas', 'H' || p.property_id
  from property p join connection c on c.code = p.code where p.property_id % 4 = 0;
insert into push_state (account_id, property_id, connection_id, resync_next_at)
select account_id, property_id, connection_id, ledger_now() + interval '1 year' from account where code = 'chain';
insert into mark (account_id, room_type_id, rate_plan_id, stay_date, first_marked_at, marked_at, due_at)
select a.account_id, t.room_type_id, 0, ledger_now()::date + d, ledger_now(), ledger_now(), ledger_now()
  from account a join room_type t using (property_id), generate_series(0, 5) d where a.code = 'chain';
insert into poll_state (connection_id, goal, due_at)
select connection_id, goal, ledger_now() + interval '1 year'
  from connection, (values ('poll'), ('missed')) g(goal) where code like 'chain-%';
insert into api_key (hash, role, name)
select decode(md5(n::text), 'hex'), 'front_desk', 'chain' from generate_series(1, 10000) n;
insert into reservation (property_id, reservation_id, number, status, source, account_id, channel_reference,
                         hold_until, hold_dead_at, created_at, updated_at)
select property_id, gen_random_uuid(), nextval('reservation_number'), case when n = 1 then 'held' else 'confirmed' end,
       'phone', null, 'R' || n, h.until, h.until, ledger_now(), ledger_now()
  from property p, generate_series(1, 3) n,
       lateral (select case when n = 1 then ledger_now() + interval '1 day' end as until) h where p.name like 'Chain %';
insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, arrival, departure, taken_from,
                       taken_until, quantity)
select r.property_id, r.reservation_id, 1, t.room_type_id, day, day + 2, day, day + 2, 1
  from reservation r join room_type t using (property_id),
       lateral (select ledger_now()::date + (r.number % 10)::integer as day) d where t.code = 'single';
insert into reservation_guest (property_id, reservation_id, guest)
select property_id, reservation_id, '{"name": "Ada Example"}' from reservation where channel_reference like 'R%';
insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id, night_from,
                          night_until, quantity, from_pool, to_pool, actor, at)
select s.property_id, gen_random_uuid(), 0, s.reservation_id, 1, 'confirmed', s.room_type_id, s.taken_from,
       s.taken_until, 1, 'free', 'sold', 'chain', ledger_now()
  from room_stay s join room_type t using (property_id, room_type_id) where t.code = 'single';
insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
select 'chain', 'k' || n, '', '{}', ledger_now() from generate_series(1, 20000) n;
analyze;
