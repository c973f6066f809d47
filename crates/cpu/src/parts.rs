//! Splitting work over rayon's threads.

pub use turntile_perm::shares::share;
use turntile_simd::Byte;

/// Runs `work(share, scratch)` for every share, each with `each` bytes of `scratch`.
///
/// One share runs in the calling thread and touches no thread pool; more run in the rayon pool
/// that the call is made in.
pub fn run_on<S: Send>(
    shares: impl IntoIterator<Item = S, IntoIter: ExactSizeIterator>,
    scratch: &mut [Byte],
    each: usize,
    work: impl Fn(S, &mut [Byte]) + Sync,
) {
    let shares = shares.into_iter();
    if shares.len() <= 1 {
        shares.for_each(|share| work(share, &mut scratch[..each]));
        return;
    }
    let work = &work;
    rayon::in_place_scope(|scope| {
        let mut rest = scratch;
        for share in shares {
            let (mine, others) = rest.split_at_mut(each);
            rest = others;
            scope.spawn(move |_| work(share, mine));
        }
    });
}

/// Bytes cut into pieces of those lengths, which add up to at most all of them.
pub fn cut(bytes: &mut [Byte], lens: impl Iterator<Item = usize>) -> Vec<&mut [Byte]> {
    let mut rest = bytes;
    lens.map(|len| rest.split_off_mut(..len).expect("pieces add up")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_part_runs_with_scratch_of_its_own() {
        for parts in 1..5 {
            let mut scratch = vec![Byte::new(0); parts * 3];
            let seen = AtomicUsize::new(0);
            run_on(0..parts, &mut scratch, 3, |part, mine| {
                mine.fill(Byte::new(part as u8));
                seen.fetch_add(1 << (8 * part), Ordering::Relaxed);
            });
            assert_eq!(seen.into_inner(), (0..parts).map(|part| 1 << (8 * part)).sum::<usize>());
        }
    }
}
