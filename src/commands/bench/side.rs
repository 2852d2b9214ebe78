//! Two sides measured side by side, A B A B, so that a noisy machine is noisy for both.

use anyhow::Result;

/// What each side measured in so many rounds, after a first one that is thrown away. A round gets
/// its number; 0 is the warm-up.
pub async fn side_by_side<A, B>(
    rounds: usize,
    mut ours: impl AsyncFnMut(usize) -> Result<A>,
    mut plain: impl AsyncFnMut(usize) -> Result<B>,
) -> Result<Vec<(A, B)>> {
    let mut pairs = Vec::new();
    for number in 0..=rounds {
        let pair = (ours(number).await?, plain(number).await?);
        if number > 0 {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}
