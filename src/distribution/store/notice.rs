//! The table notice.
