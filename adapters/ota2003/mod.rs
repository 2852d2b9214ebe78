//! The OpenTravel (OTA 2003) message family, as far as several channels speak it alike. What they
//! do differently is an argument.

pub(crate) mod avail_notif;
pub(crate) mod message;
pub(crate) mod rate_amount_notif;
pub(crate) mod res_notif;
pub(crate) mod verdict;
