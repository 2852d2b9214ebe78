//! Connections: one login at a channel, for one hotel or many.
