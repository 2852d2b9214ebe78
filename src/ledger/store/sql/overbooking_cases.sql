-- Cases with their nights, what happened to them, and who sleeps on those of their nights that are not cured, in
-- order of booking; of a closed case, on any of them.
select c.case_id, c.room_type_id, t.code as room_type, c.status, c.cause, c.evidence, c.owner, c.deadline, c.opened_at,
       c.closed_at, c.escalated_at, c.outcome, c.by_hand, c.proposal, c.approval, c.cost_minor, c.cost_currency,
       -- Whoever was moved into another type: its code, its id is nobody's outside.
       case when c.resolution ? 'moves' then jsonb_set(c.resolution, '{moves}', (
           select coalesce(jsonb_agg(m.one - 'room_type_id'
                                     || jsonb_strip_nulls(jsonb_build_object('room_type', k.code)) order by m.at), '[]')
             from jsonb_array_elements(c.resolution -> 'moves') with ordinality m(one, at)
             left join room_type k on k.property_id = c.property_id
                                  and k.room_type_id = (m.one ->> 'room_type_id')::bigint))
            else c.resolution end as resolution, c.version,
       coalesce((select jsonb_agg(jsonb_build_array(n.stay_date, n.rooms, n.cured_at, n.accepted_rooms)
                                  order by n.stay_date)
                   from overbooking_case_night n
                  where n.property_id = c.property_id and n.case_id = c.case_id), '[]') as nights,
       coalesce((select array_agg(who.reservation_id order by who.since, who.reservation_id)
                   from (select distinct r.reservation_id, coalesce(r.booked_at, r.created_at) as since
                           from overbooking_case_night n
                           join room_stay s on s.property_id = n.property_id
                                           and s.departure > n.stay_date and s.arrival <= n.stay_date
                                           and s.taken_from <= n.stay_date and s.taken_until > n.stay_date
                                           and not s.is_given_back
                           join reservation r on r.property_id = s.property_id
                                             and r.reservation_id = s.reservation_id
                          where n.property_id = c.property_id and n.case_id = c.case_id
                            and (n.cured_at is null or c.status = 'closed')
                            and r.status in ('confirmed', 'checked_in')
                            and (s.room_type_id = c.room_type_id and s.components is null
                                 or exists (select from jsonb_array_elements(s.components) p
                                             where (p ->> 0)::bigint = c.room_type_id))) who), '{}') as concerned,
       coalesce((select jsonb_agg(jsonb_build_array(e.kind, e.actor, e.detail, e.at) order by e.seq)
                   from overbooking_case_event e
                  where e.property_id = c.property_id and e.case_id = c.case_id), '[]') as events
  from overbooking_case c
  join room_type t using (property_id, room_type_id)
 where c.property_id = $1 and ($2::bigint is null or c.case_id = $2) 
   and ($3::boolean is null or $3 = (c.status = 'open')) and ($5::bigint is null or c.case_id < $5)
 order by c.case_id desc
 limit $4
