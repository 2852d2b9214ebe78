//! Bytes in, raw log, parse, map, ledger, receipts.
