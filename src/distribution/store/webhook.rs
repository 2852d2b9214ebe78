//! Webhooks and their deliveries.
