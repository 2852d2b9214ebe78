//! Which of the schema's named constraints said no: the name is how an error becomes a refusal.

/// The constraint that a statement ran against.
pub(crate) fn violated(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error()?.constraint()
}
