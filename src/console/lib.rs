//! The staff's pages, rendered by the server.
