//! Chunks of long records, gathered and scattered section by section in the chunk's memory. The
//! neighbouring section is buffered too, before the current one overwrites it. Forward, slots of
//! the current section contain the first words of the next. Backward, slots of the section before
//! contain the first words of the current one.

use std::mem::swap;
use std::ops::Range;

use turntile_simd::Byte;

use crate::record_gather::RecordGather;

impl RecordGather {
    /// Returns the bytes of the longest section with one more slot per field.
    pub fn section_bytes(&self) -> usize {
        let adjacent_slots = self.slots.schema().count() * self.slots.slot() * self.word_bytes;
        self.slots.longest_section() * self.record_bytes() + adjacent_slots
    }

    /// Returns the byte range in chunk `c` of the records of section `q`.
    fn records_of(&self, c: usize, q: usize) -> Range<usize> {
        let records = self.slots.section_records(c, q);
        records.start * self.record_bytes()..records.end * self.record_bytes()
    }

    /// Returns the byte range in the gathered chunk `c` of the slots of section `q`; `chunk` is the
    /// chunk's length in bytes.
    fn slots_of(&self, c: usize, q: usize, chunk: usize) -> Range<usize> {
        let slots = |q| self.slots.section_place(c, q) * self.slots.slot() * self.word_bytes;
        slots(q)..slots(q + 1).min(chunk)
    }

    /// Gathers the slots of chunk `c` in its own memory; `heads` contains the words of each field
    /// that follow the chunk.
    pub fn gather_sections(
        &self,
        c: usize,
        chunk: &mut [Byte],
        heads: &[Byte],
        buffer: &mut [Byte],
    ) {
        let (mut here, mut next) = buffer.split_at_mut(self.section_bytes());
        let bytes = |words: usize| words * self.word_bytes;
        let (slots, sections) = (&self.slots, self.slots.sections(c));
        let all = slots.chunk_records(c).1;
        let load = |chunk: &[Byte], q: usize, buffer: &mut [Byte]| {
            let records = self.records_of(c, q);
            buffer[..records.len()].copy_from_slice(&chunk[records]);
        };
        load(chunk, 0, here);
        for q in 0..sections {
            if q + 1 < sections {
                load(chunk, q + 1, next);
            }
            let own = slots.section_records(c, q);
            let next_end = if q + 1 < sections { slots.section_records(c, q + 1).end } else { all };
            let mut to = bytes(slots.section_place(c, q) * slots.slot());
            for f in 0..slots.schema().count() {
                let (span, _) = self.span(c, f);
                let word = |q| span.end.min(span.start + slots.begun(c, f, q) * slots.slot());
                let (words, width) = (word(q)..word(q + 1), slots.schema().width(f));
                // Words come from this section, then the next, then the halo after the chunk.
                let mut from = words.start;
                for (buffer, records) in [(&*here, own.clone()), (&*next, own.end..next_end)] {
                    let (first, part) =
                        (records.start * width, from..words.end.min(records.end * width));
                    if part.start < part.end {
                        let tiled = self.tiled_view(records.len());
                        let words = part.start - first..part.end - first;
                        tiled.read(buffer, f, words, &mut chunk[to..][..bytes(part.len())]);
                        (to, from) = (to + bytes(part.len()), part.end);
                    }
                }
                let halo_bytes = bytes(words.end.max(from) - from);
                let from_halo = self.saved_offset(f) + bytes(from.saturating_sub(all * width));
                chunk[to..][..halo_bytes].copy_from_slice(&heads[from_halo..][..halo_bytes]);
                to += halo_bytes;
            }
            swap(&mut here, &mut next);
        }
    }

    /// Restores the records of chunk `c` from the slots in its own memory; `tails` contains the
    /// words of each field before its first slot.
    pub fn scatter_sections(
        &self,
        c: usize,
        chunk: &mut [Byte],
        tails: &[Byte],
        buffer: &mut [Byte],
    ) {
        let (mut here, mut before) = buffer.split_at_mut(self.section_bytes());
        let bytes = |words: usize| words * self.word_bytes;
        let (slots, sections) = (&self.slots, self.slots.sections(c));
        let load = |chunk: &[Byte], q: usize, buffer: &mut [Byte]| {
            let slots = self.slots_of(c, q, chunk.len());
            buffer[..slots.len()].copy_from_slice(&chunk[slots]);
        };
        load(chunk, sections - 1, here);
        // Sections go from last to first, so the section before still contains its slots.
        for q in (0..sections).rev() {
            if q > 0 {
                load(chunk, q - 1, before);
            }
            let own = slots.section_records(c, q);
            let tiled = self.tiled_view(own.len());
            let records = &mut chunk[self.records_of(c, q)];
            let (mut here_at, mut before_at) = (0, 0);
            for f in 0..slots.schema().count() {
                let (lead, width) = (slots.lead(c, f), slots.schema().width(f));
                let all = own.start * width..own.end * width;
                let started = slots.begun(c, f, q);
                // Start of the first slot of this section. Words before it are in the last slot of
                // the section before, or in `tails`.
                let first_slot = (lead + started * slots.slot()).min(all.end);
                let relative = |words: Range<usize>| words.start - all.start..words.end - all.start;
                if q > 0 {
                    before_at += started - slots.begun(c, f, q - 1);
                }
                if all.start < first_slot {
                    let from = match q {
                        0 => &tails[self.saved_offset(f) + bytes(all.start)..],
                        _ => {
                            let within = all.start - (lead + (started - 1) * slots.slot());
                            &before[bytes((before_at - 1) * slots.slot() + within)..]
                        }
                    };
                    let part = all.start..first_slot;
                    tiled.write(records, f, relative(part.clone()), &from[..bytes(part.len())]);
                }
                if first_slot < all.end {
                    let from =
                        &here[bytes(here_at * slots.slot())..][..bytes(all.end - first_slot)];
                    tiled.write(records, f, relative(first_slot..all.end), from);
                }
                here_at += slots.begun(c, f, q + 1) - started;
            }
            swap(&mut here, &mut before);
        }
    }
}
