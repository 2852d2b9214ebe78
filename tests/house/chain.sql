-- A chain of a thousand hotels with a past: enough of each table that a plan which reads one whole shows. Its
-- listings are not connected yet, so that the engine leaves them in peace.
insert into property (code, name, time_zone, currency, horizon_days, nights_until, rolled_over_to)
select 'chain-' || n, 'Chain ' || n, 'UTC', 'EUR', 60, current_date + 60, current_date
  from generate_series(1, 1000) n;
insert into room_type (property_id, code, name, rooms) select property_id, 'double', 'Double', 20 from property;
insert into night (property_id, room_type_id, stay_date, physical)
select property_id, room_type_id, current_date + d, rooms from room_type, generate_series(0, 59) d;
insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until, quantity,
                          from_pool, to_pool, actor, at)
select property_id, gen_random_uuid(), 0, 'capacity_set', room_type_id, current_date, current_date + 60, rooms,
       'outside', 'free', 'chain', ledger_now() from room_type;
insert into connection (code, channel, credentials) values ('chain', 'chain', '');
insert into account (property_id, code, connection_id, channel, hotel_code)
select property_id, 'chain', connection_id, 'chain', 'H' || property_id from property, connection;
insert into push_state (account_id, property_id, connection_id, resync_next_at)
select account_id, property_id, connection_id, ledger_now() + interval '1 year' from account;

-- Reservations that were cancelled: they take nothing, so the sums hold.
insert into reservation (property_id, reservation_id, number, status, source, account_id, channel_reference,
                         created_at, updated_at)
select property_id, gen_random_uuid(), nextval('reservation_number'), 'cancelled', 'channel', account_id,
       'R' || n, ledger_now(), ledger_now() from account, generate_series(1, 20) n;
insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, arrival, departure, taken_from,
                       taken_until, quantity)
select r.property_id, r.reservation_id, 1, t.room_type_id, current_date + 3, current_date + 5, current_date + 3,
       current_date + 5, 1 from reservation r join room_type t using (property_id);
insert into reservation_guest (property_id, reservation_id, guest)
select property_id, reservation_id, '{"name": "Ada Example"}' from reservation;
insert into channel_reference (property_id, account_id, reference, reservation_id, last_kind, last_hash, is_cancelled)
select property_id, account_id, channel_reference, reservation_id, 'cancelled', '', true from reservation;
insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, actor, at)
select property_id, gen_random_uuid(), 0, reservation_id, 1, 'cancelled', 'chain', ledger_now() from reservation;
insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
select 'chain', 'k' || n, '', '{}', ledger_now() from generate_series(1, 60000) n;

insert into told (account_id, room_type_id, rate_plan_id, stay_date, rooms, closed, openness_min, openness_max,
                  due_at, sent_at, acknowledged_at, attempt_id)
select a.account_id, t.room_type_id, 0, current_date + d, 20, false, 20, 20, ledger_now(), ledger_now(),
       ledger_now(), 0 from account a join room_type t using (property_id), generate_series(0, 59) d;
insert into told_history (account_id, room_type_id, rate_plan_id, stay_date, rooms, closed, due_at, changed_at,
                          sent_at, acknowledged_at, attempt_id)
select account_id, room_type_id, 0, stay_date, rooms, closed, due_at, due_at, sent_at, acknowledged_at, 0 from told;
insert into push_attempt (account_id, at, cells, spans, outcome)
select account_id, ledger_now(), 60, 1, 'accepted' from account, generate_series(1, 10);
insert into channel_message (connection_id, account_ids, direction, topic, span_id, received_at, status, encoding,
                             body, body_bytes, digest)
select connection_id, array[account_id], 'in', 'reservations', gen_random_uuid(), ledger_now(), 'recorded', 'plain',
       '', 0, decode(md5(account_id || ' ' || n), 'hex') from account, generate_series(1, 40) n;
analyze;
