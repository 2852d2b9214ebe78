//! Maps by ids that this house gives: nobody outside chooses what collides, so they need no hash
//! that withstands it.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A map by ids.
pub type IdMap<K, V> = HashMap<K, V, RandomState>;

/// A set of ids.
pub type IdSet<K> = HashSet<K, RandomState>;
