-- What pushing needs beside the ground: more hotels, the plans and their rates, the accounts with their mappings,
-- and what their channels were told before the bench began.

-- So many more hotels, by number, with their nights: more can be made at the same time by another. Constraints that
-- every row meets by its making are not proven row by row.
create function bench_chain(first_hotel integer, last_hotel integer, types integer, first date, nights integer,
                            rooms_ integer)
returns void language plpgsql as $$
declare
    made bigint[];
    -- Asked once: the clock is a look into a table.
    at_once timestamptz := ledger_now();
begin
    set local session_replication_role = replica;
    with hotel as (
        insert into property (code, name, time_zone, currency, hold_seconds)
        select 'chain-' || n, 'Chain ' || n, 'UTC', 'EUR', 86400 from generate_series(first_hotel, last_hotel) n
        returning property_id)
    select array_agg(property_id order by property_id) into made from hotel;
    insert into room_type (property_id, code, name, rooms)
    select property_id, 'type-' || t, 'Type', rooms_ from unnest(made) property_id, generate_series(1, types) t
     order by 1, 2;
    insert into night (property_id, room_type_id, stay_date, physical)
    select property_id, room_type_id, first + d, rooms_
      from room_type, generate_series(0, nights - 1) d where property_id = any(made) order by 1, 2, 3;
    insert into ledger_entry (property_id, command_id, line, kind, room_type_id, night_from, night_until, quantity,
                              from_pool, to_pool, actor, at)
    select property_id, gen_random_uuid(), 0, 'capacity_set', room_type_id, first, first + nights, rooms_,
           'outside', 'free', 'bench', at_once
      from room_type where property_id = any(made);
end
$$;

-- Plans with rates for a year in every hotel that has none, and an account at each connection, live, all types and
-- plans mapped. A rate stands for each type, or for all types of the hotel alike.
create function bench_accounts(plans integer, connections integer, first date, nights integer, amount bigint,
                               by_type boolean)
returns void language plpgsql as $$
begin
    set local session_replication_role = replica;
    create temporary table bare on commit drop as
    select property_id from property p
     where not exists (select from account a where a.property_id = p.property_id);
    -- No night is to be born, and no day to be rolled over.
    update property set horizon_days = nights, nights_until = first + nights, rolled_over_to = first
     where property_id in (select property_id from bare);
    insert into rate_plan (property_id, code, name)
    select property_id, 'plan-' || n, 'Plan' from bare, generate_series(1, plans) n order by 1, 2;
    insert into rate_night (property_id, room_type_id, rate_plan_id, account_id, stay_date, amount_minor)
    select property_id, t.room_type_id, rate_plan_id, 0, first + d, amount
      from bare join rate_plan using (property_id)
      join (select property_id, room_type_id from room_type where by_type union all
            select property_id, 0 from property where not by_type) t using (property_id),
           generate_series(0, nights - 1) d order by 1, 2, 5, 3;
    insert into account (property_id, code, connection_id, channel, hotel_code, state, import_done)
    select property_id, c.code, connection_id, channel, property_id || '-' || connection_id, 'live', true
      from bare, (select * from connection order by connection_id limit connections) c order by 1, 3;
    insert into mapping (property_id, account_id, room_type_id, rate_plan_id, channel_room_code, channel_rate_code)
    select property_id, account_id, room_type_id, rate_plan_id, room_type_id, rate_plan_id
      from bare join account using (property_id) join room_type using (property_id)
      join rate_plan using (property_id) where room_type.code <> 'type-full' order by 1, 2, 3, 4;
    insert into push_state (account_id, property_id, connection_id, resynced_on, resync_next_at)
    select account_id, property_id, connection_id, first, ledger_now() + interval '1 day'
      from bare join account using (property_id);
    analyze property, room_type, rate_plan, rate_night, account, mapping, push_state, night;
end
$$;

-- The accounts of some hotels were told of some nights and types, as the ledger has them now; `detail` is what their
-- plans were told.
create function bench_told(hotels bigint[], types integer, first date, nights integer, detail_ jsonb)
returns void language plpgsql as $$
declare
    -- Asked once: the clock is a look into a table.
    at_once timestamptz := ledger_now();
begin
    insert into told (account_id, room_type_id, rate_plan_id, stay_date, rooms, closed, detail, openness_min,
                      openness_max, due_at, sent_at, acknowledged_at, attempt_id)
    select account_id, room_type_id, plan, stay_date, case when plan = 0 then free end, false,
           case when plan > 0 then detail_ end, case when plan = 0 then free else 1 end,
           case when plan = 0 then free else 1 end, at_once, at_once, at_once, 0
      from account join night using (property_id)
      join (select property_id, room_type_id, row_number() over (partition by property_id order by room_type_id) as at
              from room_type where code <> 'type-full') t using (property_id, room_type_id)
      cross join lateral (select physical - held - sold as free) f
      join (select property_id, 0 as plan from property union all
            select property_id, rate_plan_id from rate_plan) p using (property_id)
     where property_id = any(hotels) and at <= types and stay_date >= first and stay_date < first + nights
     order by 1, 2, 3, 4
    on conflict do nothing;
    analyze told;
end
$$;

-- What the accounts were told last that is not what the ledger has.
create function bench_untrue() returns setof text language sql as $$
    select format('account %s was told %s rooms of type %s on %s, and %s are free', account_id, rooms, room_type_id,
                  stay_date, physical - held - sold)
      from told join account using (account_id) join night using (property_id, room_type_id, stay_date)
     where rate_plan_id = 0 and (rooms <> physical - held - sold or acknowledged_at is null)
$$;

-- The feed has read everything: what was written so far is told already.
create function bench_all_read() returns void language sql as $$
    insert into feed_cursor (system_identifier, entry_tx, entry_seq, rate_tx, rate_seq, read_at)
    select (select system_identifier from pg_control_system()), h, 9223372036854775807, h, 9223372036854775807,
           ledger_now()
      from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 as h) horizon
    on conflict (one) do update set entry_tx = excluded.entry_tx, entry_seq = excluded.entry_seq,
                                    rate_tx = excluded.rate_tx, rate_seq = excluded.rate_seq
$$;
