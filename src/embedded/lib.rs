//! A private Postgres for serve, demo and tests.
//!
//! Finds the server's binaries, makes a cluster in a folder of its own, starts it behind a tiny
//! keeper, settles whatever an earlier run left behind, and hands back connect options. It knows
//! nothing of the house: no table, no setting of another floor.
//!
//! # How it holds together
//!
//! * A state folder has one user at a time: the one that holds the file lock `S/lock`. The lock
//!   goes with its process, however that ends.
//! * The server is the child of a small shell, the keeper, whose standard input is a pipe from
//!   us. When we end, by whatever signal, the pipe closes and the keeper asks the server for a
//!   fast and clean shutdown. Nobody needs to say goodbye.
//! * If the keeper itself is killed, the server stays. The next start finds it by its working
//!   folder, never by the pid in `postmaster.pid`, which may long belong to somebody else.
//! * `S/data` appears by a rename once `initdb` has ended: what exists is whole.
//! * PostgreSQL refuses to run as root. Root starts it as the owner of the data, as `postgres`
//!   or as `nobody`.
//!
//! Only Linux has been tried. Where there is no `/proc`, leftovers are left to the server's own
//! check of its lock file.

mod account;
mod attach;
mod binaries;
mod cluster;
mod error;
mod folders;
mod keeper;
mod leftovers;
mod process;
mod server;
mod settings;
mod socket;
mod state;
mod testing;

pub use attach::{attach, is_made};
pub use error::EmbeddedError;
pub use folders::{default_state_dir, temporary_state_dir};
pub use server::Server;
pub use settings::Settings;
pub use testing::database::{TestDatabase, test_database};
