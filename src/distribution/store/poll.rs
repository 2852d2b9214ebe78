//! The table poll_state.
