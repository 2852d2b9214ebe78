//! The one provider of cryptography for TLS: ring.
//!
//! The database's client and the mailer name it themselves; the HTTP client takes what the process
//! has chosen, so it is chosen before the first of them is made.

use rustls::crypto::ring;

/// Chooses ring for the process. Whoever chose before is left alone; asked again, it changes
/// nothing.
pub fn use_ring() {
    if ring::default_provider().install_default().is_err() {
        tracing::trace!("the provider of TLS was chosen before");
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn clients_find_a_provider() {
        use_ring();
        use_ring();
        assert!(CryptoProvider::get_default().is_some());
    }
}
