//! Signing in: what it learned is kept, sealed.
