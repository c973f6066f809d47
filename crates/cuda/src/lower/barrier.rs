//! Barrier-sync at block scope.

use turntile_perm::Elementary;

use super::{At, field, groups, pitch, shared, threads_for, tiles, vector_bytes};
use crate::call::{Call, Workspace, widest_word};
use crate::error::Infeasible;
use crate::family::Family;
use crate::params::Params;

/// Bytes that small instances are stacked to in a block: 16 to 64 KB measured alike on an H200.
const STACK_BYTES: usize = 24 << 10;

/// A block holds a whole instance, or several small ones.
pub fn block(e: Elementary, at: At) -> Result<Call, Infeasible> {
    // A super-element of a word's size is a word.
    let unit_bytes = e.unit * at.elem_bytes;
    let word = widest_word(&[unit_bytes, at.alignment]);
    let e = Elementary { unit: unit_bytes / word, ..e };
    if let Some(call) = tiles::in_place(e, word, at) {
        return call;
    }
    if e.unit > 1 || (e.mid > 1 && e.rows != e.cols) {
        return any(e, word, at);
    }
    let instances = e.batch * e.mid;
    let bytes = e.rows * e.cols * word;
    let stacked = if e.mid > 1 { 1 } else { (STACK_BYTES / bytes).clamp(1, instances.max(1)) };
    let (row_bytes, column_bytes) = (e.mid * e.cols * word, e.mid * e.rows * word);
    let instance_bytes = if e.mid > 1 { e.cols * word } else { bytes };
    let vector = vector_bytes(word);
    let micro = vector / word;
    let aligned = at.alignment >= vector && e.rows % micro == 0 && e.cols % micro == 0;

    let (entry, threads, shared_bytes, pitch, wide, down) = if aligned {
        let (rows, cols) = (e.rows / micro, e.cols / micro);
        // Strips 4 micro-blocks high: as fast as 8 where two blocks share a multiprocessor, and 8 to
        // 14 points faster where they do not (instances beyond half of shared memory).
        let down = rows.ilog2().min(2);
        let places = stacked * (rows.div_ceil(1 << down) << down) * cols;
        let threads = threads_for(stacked * bytes, 512);
        let slots = places.div_ceil(threads) * threads;
        ("barrier_micro", threads, slots * micro * vector, 0, 0, down)
    } else {
        let aligned4 = |quantity: usize| word < 4 && quantity.is_multiple_of(4) && at.alignment >= 4;
        let wide_loads = aligned4(e.cols * word) && aligned4(row_bytes);
        let wide_stores = aligned4(e.rows * word) && aligned4(column_bytes);
        let pitch = pitch(e.cols * word, word);
        let wide = u32::from(wide_loads) | u32::from(wide_stores) << 1;
        let threads = threads_for(stacked * bytes, 1024);
        ("barrier_block", threads, stacked * e.rows * pitch, pitch, wide, 0)
    };
    Ok(Call {
        family: Family::Barrier,
        word,
        entry,
        groups: groups(instances.div_ceil(stacked))?,
        threads: threads as u32,
        shared_bytes: shared(shared_bytes, at.device)?,
        cooperative: false,
        cluster: 1,
        params: Params::new()
            .u64(instances as u64)
            .u32(field(e.rows)?)
            .u32(field(e.cols)?)
            .u32(stacked as u32)
            .u32(pitch as u32)
            .u32(field(e.mid)?)
            .u32(wide)
            .u32(down)
            .u32(0)
            .u64(row_bytes as u64)
            .u64(column_bytes as u64)
            .u64((e.mid * bytes) as u64)
            .u64(instance_bytes as u64),
        workspace: Workspace::None,
    })
}

/// Every extent at will.
fn any(e: Elementary, word: usize, at: At) -> Result<Call, Infeasible> {
    let bytes = e.instance_len() * word;
    Ok(Call {
        family: Family::Barrier,
        word,
        entry: "barrier_any",
        groups: groups(e.batch)?,
        threads: threads_for(bytes, 1024) as u32,
        shared_bytes: shared(bytes, at.device)?,
        cooperative: false,
        cluster: 1,
        params: Params::new()
            .u64(bytes as u64)
            .u32(field(e.rows)?)
            .u32(field(e.mid)?)
            .u32(field(e.cols)?)
            .u32(field(e.unit)?),
        workspace: Workspace::None,
    })
}
