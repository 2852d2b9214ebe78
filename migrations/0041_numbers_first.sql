-- keyrack-ledger owns: reservation, archived_reservation.
--
-- Numbers rise, so an index that begins with them grows at its end alone: fewer pages are touched for each hold. And a
-- plan that was made over a young table cannot take it for the way to a reservation of a property, and then read all
-- reservations of that property for each: it is no way to one without its number.

alter table reservation drop constraint reservation_number_is_unique;
alter table reservation add constraint reservation_number_is_unique unique (number);
alter table archived_reservation drop constraint archived_reservation_number_is_unique;
alter table archived_reservation add constraint archived_reservation_number_is_unique unique (number);
