//! Answers of every unfriendly kind, from a server of our own.
