//! Random test cases of out-of-core permutations, from one storage in memory into another, with
//! small buffers.

use std::io;

use turntile::stored::{ReadAt, StoredError, WriteAt};

use crate::about;
use crate::draw::Draw;
use crate::guarded::Guarded;
use crate::wishes::{What, Wish, kind};

/// Scratch storage in memory.
struct Scratch(Vec<u8>);

impl ReadAt for Scratch {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.0[..].read_exact_at(bytes, offset)
    }
}

impl WriteAt for Scratch {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0[..].write_all_at(bytes, offset)
    }
}

pub fn draw(draw: &mut Draw) -> &'static str {
    let wish = Wish::draw(draw);
    let memory = draw.of(&[0, 100, 3000, 60_000, 1 << 20, 20 << 20]);
    let threads = draw.threads();
    about(format_args!("stored in {memory} on {threads} threads: {wish:?}"));
    let mut reasons = wish.reasons();
    let mut because = |reason, holds: bool| reasons.extend(holds.then_some(reason));
    because("with leading", wish.leading.is_some());
    because("with records", matches!(wish.what, What::Records(_)));
    because("stored", wish.out_of_place || wish.alignment.is_some() || wish.cap.is_some());
    // An out-of-core plan lists its passes one by one, so plan only arrays that are small enough to
    // run.
    if reasons.is_empty() && !wish.is_runnable() {
        return "too large";
    }
    let stored = wish.transpose().and_then(|transpose| transpose.threads(threads).stored(memory));
    let stored = match stored {
        Ok(stored) => stored,
        Err(error) => {
            let kind = kind(&error);
            assert!(reasons.contains(&kind), "{kind}: {error}, not for {reasons:?}");
            return "refused";
        }
    };
    assert!(reasons.is_empty(), "planned, not refused for {reasons:?}");
    let moved = wish.moved();
    let mut to = Guarded::new(&vec![0x5A; moved.before.len()], 0);
    let scratch = stored.scratch_bytes() as usize;
    let need = stored.buffer_bytes();
    let mut buffer = vec![0xEE; need];
    if need > 0 && draw.one_in(3) {
        let few = &mut buffer[..need - 1];
        let error = stored.run_in(few, &moved.before[..], to.data(), None::<&mut Scratch>, |_| ());
        assert!(matches!(error, Err(StoredError::Memory { have, .. }) if have == need - 1));
        to.check(&vec![0x5A; moved.before.len()], "refused");
    }
    if scratch > 0 {
        let error = stored.run(&moved.before[..], to.data());
        assert!(matches!(error, Err(StoredError::NoScratch { .. })), "{error:?}");
    }
    let (mut scratch, mut done) = (Scratch(vec![0xDD; scratch]), 0);
    let told = |bytes| done += bytes;
    stored.run_in(&mut buffer, &moved.before[..], to.data(), Some(&mut scratch), told).unwrap();
    assert_eq!(done, 2 * (stored.passes() * moved.before.len()) as u64, "bytes told");
    to.check(&moved.after, "stored");
    "ran"
}
