-- Reservations that have ended, long enough ago, and that nothing hangs on: their last departure is over by a day,
-- nothing changed since an instant, no night of theirs has an open case, the roll-over will not look at them again,
-- and the feed has passed all of their entries. In order of id; of some ids, or of all behind one.
select r.reservation_id
  from reservation r
 where r.property_id = $1
   and ($2::uuid[] is null or r.reservation_id = any($2))
   and ($3::uuid is null or r.reservation_id > $3)
   and r.status in ('completed', 'no_show', 'cancelled', 'expired')
   and r.updated_at <= (select ledger_now()) - make_interval(days => $5)
   and not exists (select from room_stay s
                    where s.property_id = r.property_id and s.reservation_id = r.reservation_id
                      and (greatest(s.departure, s.taken_until) > $4
                           or (r.status = 'no_show' and not 'no_show_keeps_nights' = any(r.flags)
                               and not s.is_given_back and s.taken_until > s.taken_from + 1)))
   and not exists (select from room_stay s
                     join overbooking_case_night c on c.property_id = s.property_id
                                                  and c.stay_date >= s.taken_from and c.stay_date < s.taken_until
                    where s.property_id = r.property_id and s.reservation_id = r.reservation_id
                      and not s.is_given_back and c.cured_at is null
                      and r.status in ('completed', 'no_show'))
   and not exists (select from ledger_entry e
                    where e.property_id = r.property_id and e.reservation_id = r.reservation_id
                      and (e.tx, e.seq) > ($6::text::xid8, $7))
 order by r.reservation_id
 limit $8
