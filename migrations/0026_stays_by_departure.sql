-- keyrack-ledger owns: nothing new.
--
-- One index of the stays that are not archived instead of two: each booking writes it, and who arrives or sleeps on a
-- date is found among those who depart from then on.

create index room_stay_by_departure on room_stay (property_id, departure, arrival);
drop index room_stay_arrival;
drop index room_stay_departure;
