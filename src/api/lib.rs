//! The HTTP contract for programs.
