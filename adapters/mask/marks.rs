//! Looks at many bytes at once: what is looked for in a message is rare, and what is not must cost
//! little.

/// How many bytes are looked at together.
pub(super) const BLOCK: usize = 64;
/// They and their neighbours.
const WINDOW: usize = BLOCK + 2;
/// What stands before the first byte and behind the last: parts everything.
const NOTHING: u8 = b'"';

/// A bit for each byte from a place on for which `is` holds, the first one lowest. It is shown the
/// byte before, the byte, and the byte behind; comparisons alone, or it is slow.
#[inline]
pub(super) fn marks(bytes: &[u8], from: usize, is: impl Fn(u8, u8, u8) -> bool) -> u64 {
    let padded;
    let before = from.checked_sub(1);
    let window: &[u8; WINDOW] = match before.and_then(|at| bytes.get(at..)?.first_chunk()) {
        Some(window) => window,
        None => {
            padded = at_an_edge(bytes, from);
            &padded
        }
    };
    let mut hits = [0_u8; BLOCK];
    let before = &window[..BLOCK];
    let here = &window[1..BLOCK + 1];
    let behind = &window[2..];
    for (place, hit) in hits.iter_mut().enumerate() {
        *hit = u8::from(is(before[place], here[place], behind[place]));
    }
    let (eights, _) = hits.as_chunks::<8>();
    let eights = eights.iter().map(|eight| u64::from_le_bytes(*eight));
    if eights.clone().fold(0, |any, eight| any | eight) == 0 {
        return 0;
    }
    // Moves the lowest bit of each byte into the highest byte, in order.
    let bits = eights.map(|eight| eight.wrapping_mul(0x0102_0408_1020_4080) >> 56);
    bits.rev().fold(0, |marks, eight| marks << 8 | eight)
}

/// Where the first byte from a place on stands for which `is` holds.
#[inline]
pub(super) fn next(bytes: &[u8], from: usize, is: impl Fn(u8, u8, u8) -> bool) -> Option<usize> {
    let blocks = (from..bytes.len()).step_by(BLOCK);
    blocks
        .map(|block| (block, marks(bytes, block, &is)))
        .find(|(_, marks)| *marks != 0)
        .map(|(block, marks)| block + lowest(marks))
}

/// The place of the lowest mark.
pub(super) fn lowest(marks: u64) -> usize {
    usize::try_from(marks.trailing_zeros()).unwrap_or(BLOCK)
}

/// The bytes of a window of which a part lies outside.
#[cold]
fn at_an_edge(bytes: &[u8], from: usize) -> [u8; WINDOW] {
    let mut window = [NOTHING; WINDOW];
    for (slot, byte) in window.iter_mut().enumerate() {
        let place = (from + slot).checked_sub(1);
        if let Some(there) = place.and_then(|place| bytes.get(place)) {
            *byte = *there;
        }
    }
    window
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn marks_are_those_of_each_byte(bytes in any::<Vec<u8>>(), from in 0..200_usize) {
            let at = |place: usize| bytes.get(place).copied().unwrap_or(NOTHING);
            let is = |before: u8, here: u8, behind: u8| before < here && behind > b'0';
            let from = from.min(bytes.len());
            let marked = marks(&bytes, from, is);
            let mut first = None;
            for place in from..bytes.len().min(from + BLOCK) {
                let before = place.checked_sub(1).map_or(NOTHING, at);
                let holds = is(before, at(place), at(place + 1));
                prop_assert_eq!(marked >> (place - from) & 1 == 1, holds);
                first = first.or(holds.then_some(place));
            }
            if first.is_some() {
                prop_assert_eq!(next(&bytes, from, is), first);
            }
        }
    }
}
