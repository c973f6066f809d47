//! Chunks of long records, gathered and scattered section by section: the section beside the one that is worked on is held too, since its
//! words are in slots of this one, and its place is written to.

use std::mem::swap;
use std::ops::Range;

use turntile_simd::Byte;

use crate::record_gather::RecordGather;

impl RecordGather {
    /// Bytes of the longest section, with the slots that lie beside it.
    pub fn section_bytes(&self) -> usize {
        let beside = self.slots.fields().count() * self.slots.slot() * self.word_bytes;
        self.slots.longest_section() * self.record_bytes() + beside
    }

    /// The bytes of the records of section `q` of chunk `c`.
    fn records_of(&self, c: usize, q: usize) -> Range<usize> {
        let records = self.slots.section_records(c, q);
        records.start * self.record_bytes()..records.end * self.record_bytes()
    }

    /// The bytes of the slots of section `q` of chunk `c`, which has so many.
    fn slots_of(&self, c: usize, q: usize, chunk: usize) -> Range<usize> {
        let slots = |q| self.slots.section_place(c, q) * self.slots.slot() * self.word_bytes;
        slots(q)..slots(q + 1).min(chunk)
    }

    /// The slots of chunk `c` in its own memory; `heads` are the words that come after it.
    pub fn gather_sections(&self, c: usize, chunk: &mut [Byte], heads: &[Byte], held: &mut [Byte]) {
        let (mut here, mut next) = held.split_at_mut(self.section_bytes());
        let bytes = |words: usize| words * self.word_bytes;
        let (slots, sections) = (self.slots, self.slots.sections(c));
        let all = slots.chunk_records(c).1;
        let hold = |chunk: &[Byte], q: usize, held: &mut [Byte]| {
            let records = self.records_of(c, q);
            held[..records.len()].copy_from_slice(&chunk[records]);
        };
        hold(chunk, 0, here);
        for q in 0..sections {
            if q + 1 < sections {
                hold(chunk, q + 1, next);
            }
            let own = slots.section_records(c, q);
            let then = if q + 1 < sections { slots.section_records(c, q + 1).end } else { all };
            let mut to = bytes(slots.section_place(c, q) * slots.slot());
            for f in 0..slots.fields().count() {
                let (stretch, _) = self.stretch(c, f);
                let word = |q| stretch.end.min(stretch.start + slots.begun(c, f, q) * slots.slot());
                let (words, width) = (word(q)..word(q + 1), slots.fields().width(f));
                // From this section, from the next, from behind the chunk.
                let mut from = words.start;
                for (held, records) in [(&*here, own.clone()), (&*next, own.end..then)] {
                    let (first, part) =
                        (records.start * width, from..words.end.min(records.end * width));
                    if part.start < part.end {
                        let tiled = self.some_tiled(records.len());
                        let words = part.start - first..part.end - first;
                        tiled.read(held, f, words, &mut chunk[to..][..bytes(part.len())]);
                        (to, from) = (to + bytes(part.len()), part.end);
                    }
                }
                let behind = bytes(words.end.max(from) - from);
                let kept = self.kept_of(f) + bytes(from.saturating_sub(all * width));
                chunk[to..][..behind].copy_from_slice(&heads[kept..][..behind]);
                to += behind;
            }
            swap(&mut here, &mut next);
        }
    }

    /// The records of chunk `c` from the slots in its own memory; `tails` are the words that come before them.
    pub fn scatter_sections(
        &self,
        c: usize,
        chunk: &mut [Byte],
        tails: &[Byte],
        held: &mut [Byte],
    ) {
        let (mut here, mut before) = held.split_at_mut(self.section_bytes());
        let bytes = |words: usize| words * self.word_bytes;
        let (slots, sections) = (self.slots, self.slots.sections(c));
        let hold = |chunk: &[Byte], q: usize, held: &mut [Byte]| {
            let slots = self.slots_of(c, q, chunk.len());
            held[..slots.len()].copy_from_slice(&chunk[slots]);
        };
        hold(chunk, sections - 1, here);
        // Slots of the section before are where they were: sections go from last to first.
        for q in (0..sections).rev() {
            if q > 0 {
                hold(chunk, q - 1, before);
            }
            let own = slots.section_records(c, q);
            let tiled = self.some_tiled(own.len());
            let records = &mut chunk[self.records_of(c, q)];
            let (mut here_at, mut before_at) = (0, 0);
            for f in 0..slots.fields().count() {
                let (lead, width) = (slots.lead(c, f), slots.fields().width(f));
                let all = own.start * width..own.end * width;
                let begun = slots.begun(c, f, q);
                // Where the slots of this section begin; what is before is in the last slot of the section before, or in none.
                let begins = (lead + begun * slots.slot()).min(all.end);
                let relative = |words: Range<usize>| words.start - all.start..words.end - all.start;
                if q > 0 {
                    before_at += begun - slots.begun(c, f, q - 1);
                }
                if all.start < begins {
                    let from = match q {
                        0 => &tails[self.kept_of(f) + bytes(all.start)..],
                        _ => {
                            let within = all.start - (lead + (begun - 1) * slots.slot());
                            &before[bytes((before_at - 1) * slots.slot() + within)..]
                        }
                    };
                    let part = all.start..begins;
                    tiled.write(records, f, relative(part.clone()), &from[..bytes(part.len())]);
                }
                if begins < all.end {
                    let from = &here[bytes(here_at * slots.slot())..][..bytes(all.end - begins)];
                    tiled.write(records, f, relative(begins..all.end), from);
                }
                here_at += slots.begun(c, f, q + 1) - begun;
            }
            swap(&mut here, &mut before);
        }
    }
}
