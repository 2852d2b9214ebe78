//! The words of the trade, and the contract of an adapter.
