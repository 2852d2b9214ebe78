//! Under the roof: one file per subcommand.
