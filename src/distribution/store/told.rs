//! What was told to an account of each night.
