//! The sync engine: intake, poll, feed, push, resync, timetable.
