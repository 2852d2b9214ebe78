//! Accounts as staff see them: state, lag, what was told.
