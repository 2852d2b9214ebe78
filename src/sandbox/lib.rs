//! The other side of the wire: fake channels that sell rooms, lag, fail and repeat.
