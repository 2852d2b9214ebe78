//! The raw messages, for people: listed, shown, replayed.
