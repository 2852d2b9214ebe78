//! Hands the arguments to a command and its answer to the exit code.

fn main() {}
