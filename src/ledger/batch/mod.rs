//! Lanes and batches: read, decide, apply.
