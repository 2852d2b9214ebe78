//! Where push channels deliver.
