//! The architecture of keyrack: the plan of the house, its rules, and the walks through it.
//!
//! Keyrack keeps one reservation ledger for a hotel that sells the same rooms at its desk and
//! through channels. Each sale is written into the ledger; what is left is told to everybody
//! else.
//!
//! # The plan
//!
//! ```text
//!                         ┌───────────────────────────┐
//!    roof                 │ src/main.rs  src/commands │  reads config, builds the floors,
//!                         └─────────────┬─────────────┘  waits, takes them down
//!                         ┌─────────────┴─────────────┐
//!    floor 4              │    src/api   src/console  │  HTTP in: staff's programs, channel
//!                         └─────────────┬─────────────┘  inbox │ the staff's web pages
//!                         ┌─────────────┴─────────────┐
//!    floor 3              │      src/distribution     │  the sync engine: intake, poll, push,
//!                         └──────┬─────────────┬┄┄┄┄┄┄┘  resync, timetable
//!                         ┌──────┴─────┐ ┌─────┴──────┐
//!    floor 2              │ src/ledger │ │  adapters  │  what is true (Postgres) │
//!                         └──────┬─────┘ └─────┬──────┘  how each channel says it (pure)
//!                         ┌──────┴─────────────┴──────┐
//!    floor 1              │         src/model         │  the words of the trade, and the
//!                         └───────────────────────────┘  contract of an adapter
//!
//!    beside the house:  src/sandbox    fake channels that sell rooms, lag, fail and repeat
//!                       src/embedded   a private Postgres for demo, development and tests
//! ```
//!
//! The dotted arrow: the engine calls adapters, but through the contract that stands on floor 1.
//! Only the roof imports the `adapters` crate, so ledger and adapters are true neighbours:
//! neither knows that the other exists. The buildings beside the house import nothing of it: a
//! simulator that shares the adapters' mistakes would prove nothing.
//!
//! # The four rules
//!
//! 1. **In `src`, a folder is a floor, a floor is a crate.** Each floor's `Cargo.toml` lists what
//!    it sees. Cargo refuses a stair that leads up, so the plan cannot rot.
//! 2. **Arrows run down, values come back.** Nothing below ever calls up: no callbacks, no
//!    listeners, no global registries but `tracing` and `metrics`. What must happen later is a
//!    row, never a call.
//! 3. **Every table has one owner.** SQL that names a table stands in one crate, in one file.
//!    Others ask the owner by verb.
//! 4. **The world enters at the edges only.** Environment and real clock belong to the roof, the
//!    network to the engine's transport and the API, the database to the stores, waiting to the
//!    engine's loops. Everything else is a function of its arguments.
//!
//! `tests/tidy` reads the tree and refuses what breaks them.
//!
//! # Two ideas that carry the house
//!
//! **Double entry.** On each night of a room type the rooms lie in pools: free, allotted, held,
//! sold, out of order. An entry moves rooms from one pool to another; it never makes or loses any.
//! That one line is a check of the schema, an assertion of the code, and what `keyrack verify`
//! replays.
//!
//! **The ledger is the outbox.** A booking writes nothing but the truth. What must be told is
//! derived: the feed reads what the ledger has newly written, behind a cursor, and turns it into
//! *marks*: one per cell at most. A mark says where to look, never what was seen, so a hundred
//! changes of a night cost one push, order does not matter, and a crash costs a repeat and not a
//! lie.
//!
//! # The walks
//!
//! **A channel's reservation comes in.** Its bytes are delivered to the inbox or fetched by a poll;
//! from there both go the same way.
//!
//! | room | luggage on entry → on leaving |
//! | --- | --- |
//! | `api`, channel inbox, or `distribution::poll` | HTTP → `Inbound`: bytes, headers, connection |
//! | `distribution::intake` | a raw row first, card data masked, so that nothing is ever lost |
//! | `adapters/<channel>/parse.rs` | bytes → `ReservationReport`, in the channel's own codes |
//! | `distribution::intake` | → `ReservationRevision`, codes mapped to our ids |
//! | `ledger::reservations::record` | → a command in its property's lane |
//! | `ledger::decide` | what is there, what is told → entries |
//! | `ledger::store::apply` | sums, reservation and entries, in one transaction |
//! | back up, as return values | receipt → the channel's own "thank you" |
//!
//! **The change goes out.** `distribution::feed` reads the ledger's tail → marks.
//! `distribution::push` claims them, reads the *present* cells, joins neighbours into spans, has
//! the adapter render them, sends, and lets the adapter judge the answer. Accepted: the mark
//! goes, if nothing changed meanwhile. Later: the next due time is a column. Refused: kept and
//! shown to staff. What lowers or closes goes first; what raises waits for a complete poll.
//!
//! **Staff book at the desk.** `api` → `ledger::reservations` → `decide` may refuse (sold out names
//! the nights and what is free instead) → the same transaction → marks → the second walk.
//!
//! **The calendar turns.** `distribution::timetable` lets dead holds go, rolls the day over, asks
//! for full resyncs: commands like any other.
//!
//! **Oversold.** A channel's reservation is a fact and never refused. What the nights do not hold
//! is drawn on the overdraft, a case is opened in the same transaction, and by marks the night
//! closes everywhere. `distribution::evidence` works out why; `ledger::overbookings` ranks who is
//! to be moved and the ways out, and a command of the lanes moves the guest and ends the case.
//!
//! Two doors lead into the ledger, `record` for a fact and `request` for a wish, and one way leads
//! out: marks. All walks meet there and nowhere else.
//!
//! # Where to read on
//!
//! | question | file |
//! | --- | --- |
//! | What are the words? | `src/model/lib.rs` |
//! | When may a room be sold? | `src/ledger/decide/sellable.rs` |
//! | How is a booking written? | `src/ledger/batch/run.rs` |
//! | How many rooms are kept back for safety? | `src/ledger/decide/risk.rs` |
//! | Who is moved when too much is sold? | `src/ledger/decide/overbooking.rs` |
//! | What must an adapter do? | `src/model/adapter.rs` |
//! | What does a channel look like? | `adapters/booking_com/mod.rs` |
//! | How does the daemon start and end? | `src/commands/startup.rs` |
//! | What can be configured? | `config/default.toml` |
