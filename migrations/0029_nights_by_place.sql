-- keyrack-ledger owns: the function ledger_apply.
--
-- As before, but that nights are found where they were read: by their key each was looked up twice, once to be read
-- and once to be written.

drop function ledger_apply(timestamptz, bigint[], bigint[], text[], text[], text[], text[], bigint[], uuid[],
    bigint[], text[], text[], bigint[], text[], timestamptz[], timestamptz[], text[], text[], timestamptz[],
    text[], text[], bigint[], uuid[], integer[], bigint[], bigint[], date[], date[], date[], date[], integer[],
    integer[], text[], bigint[], bigint[], date[], bigint[], integer[], integer[], integer[], integer[],
    integer[], integer[], bigint[], uuid[], integer[], uuid[], bigint[], text[], bigint[], date[], date[],
    integer[], text[], text[], text[], text[], text[], jsonb);

create function ledger_apply(
    at_ timestamptz,
    rule_property bigint[], rule_version bigint[],
    key_scope text[], key_key text[], key_fingerprint text[], key_receipt text[],
    new_property bigint[], new_id uuid[], new_number bigint[], new_status text[], new_source text[],
    new_account bigint[], new_reference text[], new_hold_until timestamptz[], new_hold_dead_at timestamptz[],
    new_owner text[], new_payment text[], new_booked_at timestamptz[], new_flags text[], new_detail text[],
    stay_property bigint[], stay_reservation uuid[], stay_id integer[], stay_type bigint[], stay_plan bigint[],
    stay_arrival date[], stay_departure date[], stay_from date[], stay_until date[], stay_quantity integer[],
    stay_adults integer[], stay_more text[],
    night_property bigint[], night_type bigint[], night_date date[], night_version bigint[],
    night_physical integer[], night_out_of_order integer[], night_limit integer[],
    night_held integer[], night_sold integer[], night_oversold integer[],
    entry_property bigint[], entry_command uuid[], entry_line integer[], entry_reservation uuid[],
    entry_version bigint[], entry_kind text[], entry_type bigint[], entry_from date[], entry_until date[],
    entry_quantity integer[], entry_from_pool text[], entry_to_pool text[], entry_actor text[],
    entry_request text[], entry_reason text[],
    more jsonb,
    -- Where the rows of the nights were read; null from a daemon of before, which is served by their keys.
    night_place text[] default null
) returns void language plpgsql as $$
declare
    affected bigint;
begin
    select count(*) into affected
      from (select unnest(rule_property) as property_id, unnest(rule_version) as version) k
      join property p on p.property_id = k.property_id and p.rules_version = k.version;
    if affected <> cardinality(rule_property) then
        raise exception 'rules changed' using errcode = 'KR001';
    end if;

    if cardinality(key_scope) > 0 then
        insert into idempotency_key (scope, key, fingerprint, receipt, created_at)
        select k.scope, k.key, k.fingerprint, k.receipt::jsonb, at_
          from (select unnest(key_scope) as scope, unnest(key_key) as key, unnest(key_fingerprint) as fingerprint,
                       unnest(key_receipt) as receipt) k;
    end if;

    if more is not null then
        perform ledger_apply_reservations(at_, more);
    end if;

    if cardinality(new_id) > 0 then
        insert into reservation (property_id, reservation_id, number, status, source, account_id, channel_reference,
                                 hold_until, hold_dead_at, owner_id, payment_reference, booked_at, created_at,
                                 updated_at, flags, detail)
        select k.property_id, k.id, k.number, k.status, k.source, k.account, k.reference,
               k.hold_until, k.hold_dead_at, k.owner, k.payment, k.booked_at, at_,
               at_, coalesce(k.flags::text[], '{}'), k.detail::jsonb
          from (select unnest(new_property) as property_id, unnest(new_id) as id, unnest(new_number) as number,
                       unnest(new_status) as status, unnest(new_source) as source, unnest(new_account) as account,
                       unnest(new_reference) as reference, unnest(new_hold_until) as hold_until,
                       unnest(new_hold_dead_at) as hold_dead_at, unnest(new_owner) as owner,
                       unnest(new_payment) as payment, unnest(new_booked_at) as booked_at,
                       unnest(new_flags) as flags, unnest(new_detail) as detail) k;
        insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, rate_plan_id, arrival,
                               departure, taken_from, taken_until, quantity, adults,
                               components, children_ages, nightly, booked)
        select k.property_id, k.reservation, k.id, k.room_type, k.plan, k.arrival,
               k.departure, k.from_, k.until_, k.quantity, k.adults,
               k.more::jsonb -> 'components', k.more::jsonb -> 'children_ages',
               k.more::jsonb -> 'nightly', k.more::jsonb -> 'booked'
          from (select unnest(stay_property) as property_id, unnest(stay_reservation) as reservation,
                       unnest(stay_id) as id, unnest(stay_type) as room_type, unnest(stay_plan) as plan,
                       unnest(stay_arrival) as arrival, unnest(stay_departure) as departure,
                       unnest(stay_from) as from_, unnest(stay_until) as until_, unnest(stay_quantity) as quantity,
                       unnest(stay_adults) as adults, unnest(stay_more) as more) k;
    end if;

    if night_place is not null and cardinality(night_type) > 0 then
        -- A row that somebody has written since lies elsewhere; another that lies there now has another key.
        update night n
           set physical = k.physical, out_of_order = k.out_of_order, overbooking_limit = k.limit_,
               held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
          from (select unnest(night_property) as property_id, unnest(night_type) as room_type_id,
                       unnest(night_date) as stay_date, unnest(night_version) as version,
                       unnest(night_physical) as physical, unnest(night_out_of_order) as out_of_order,
                       unnest(night_limit) as limit_, unnest(night_held) as held, unnest(night_sold) as sold,
                       unnest(night_oversold) as oversold, unnest(night_place)::tid as place) k
         where n.ctid = k.place and n.property_id = k.property_id and n.room_type_id = k.room_type_id
           and n.stay_date = k.stay_date and n.version = k.version;
        get diagnostics affected = row_count;
        if affected <> cardinality(night_type) then
            raise exception 'nights changed' using errcode = 'KR001';
        end if;
    elsif cardinality(night_type) > 0 then
        update night n
           set physical = k.physical, out_of_order = k.out_of_order, overbooking_limit = k.limit_,
               held = k.held, sold = k.sold, oversold = k.oversold, version = n.version + 1
          from (select unnest(night_property) as property_id, unnest(night_type) as room_type_id,
                       unnest(night_date) as stay_date, unnest(night_version) as version,
                       unnest(night_physical) as physical, unnest(night_out_of_order) as out_of_order,
                       unnest(night_limit) as limit_, unnest(night_held) as held, unnest(night_sold) as sold,
                       unnest(night_oversold) as oversold) k
         where n.property_id = k.property_id and n.room_type_id = k.room_type_id
           and n.stay_date = k.stay_date and n.version = k.version;
        get diagnostics affected = row_count;
        if affected <> cardinality(night_type) then
            raise exception 'nights changed' using errcode = 'KR001';
        end if;
    end if;

    insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind, room_type_id,
                              night_from, night_until, quantity, from_pool, to_pool, actor, request_id, reason, at)
    select k.property_id, k.command, k.line, k.reservation, k.version, k.kind, k.room_type,
           k.from_, k.until_, k.quantity, k.from_pool, k.to_pool, k.actor, k.request, k.reason, at_
      from (select unnest(entry_property) as property_id, unnest(entry_command) as command,
                   unnest(entry_line) as line, unnest(entry_reservation) as reservation,
                   unnest(entry_version) as version, unnest(entry_kind) as kind, unnest(entry_type) as room_type,
                   unnest(entry_from) as from_, unnest(entry_until) as until_, unnest(entry_quantity) as quantity,
                   unnest(entry_from_pool) as from_pool, unnest(entry_to_pool) as to_pool,
                   unnest(entry_actor) as actor, unnest(entry_request) as request, unnest(entry_reason) as reason) k;

    if more is not null then
        if jsonb_array_length(more -> 'blocks') > 0 then
            perform ledger_apply_blocks(more);
        end if;
        if jsonb_array_length(more -> 'changed') > 0 then
            perform ledger_apply_assignments(more);
        end if;
        if jsonb_array_length(more -> 'guests') > 0 then
            perform ledger_apply_guests(more);
        end if;
        if jsonb_array_length(more -> 'overbooked') > 0 or jsonb_array_length(more -> 'cured') > 0 then
            perform ledger_apply_cases(at_, more);
        end if;
    end if;
end
$$;
