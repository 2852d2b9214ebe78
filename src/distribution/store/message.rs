//! The table channel_message.
