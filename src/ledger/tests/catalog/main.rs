//! The catalog, rates, what is read and what is told, against a real Postgres.

mod accounts;
mod blocks;
mod days;
mod desk;
mod hotel;
mod keys;
mod pools;
mod properties;
mod rate_plans;
mod rates;
mod rooms;
mod safety;
mod swept;
mod told;
mod upgrade;
