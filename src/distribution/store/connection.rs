//! The table connection.
