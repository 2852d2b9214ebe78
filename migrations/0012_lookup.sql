-- keyrack-ledger owns: indexes of reservation and room_stay.
--
-- What staff look for besides arrivals: who departs or sleeps in the house on a day (stays that end from that day
-- on are few, those that ever began are many), who is in the house, and whose hold it is in the caller's words.

create index room_stay_departure on room_stay (property_id, departure);
create index reservation_in_house on reservation (property_id) where status = 'checked_in';
create index reservation_owner on reservation (property_id, owner_id) where owner_id is not null;
