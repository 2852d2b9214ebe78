//! How each channel says it: bytes to values and back.
