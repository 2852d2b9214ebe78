-- keyrack-ledger owns: clock_shift.
--
-- The same clock, asked faster. A function in SQL with a body of its own is read, parsed and planned
-- anew in every statement that calls it; PL/pgSQL keeps its plan for the session.

create or replace function ledger_now() returns timestamptz
    language plpgsql volatile parallel safe as $$
begin
    return clock_timestamp() + (select shift from clock_shift);
end
$$;
