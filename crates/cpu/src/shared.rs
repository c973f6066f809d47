//! Movers in which several threads work on one matrix, and views of memory as bytes: the crate's
//! only `unsafe`.
//!
//! Who may touch which bytes is decided before they are touched: by a claim ([`Claims`]), by being
//! the leader of a cycle, or by being the one part that a pair of tiles belongs to. Every span is
//! checked against the matrix's length before its pointer is made.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::AtomicU32;

use turntile_perm::{Elementary, cycles};
use turntile_plan::StageShape;

use crate::Byte;
use crate::claims::Claims;
use crate::executor::{Executor, RunError, Workspace};
use crate::parts;
use crate::path::Path;
use turntile_simd::{self as simd, Block};

/// Runs `executor` on initialised bytes.
pub(crate) fn run_on_bytes(
    executor: &Executor,
    data: &mut [u8],
    workspace: &mut Workspace,
) -> Result<(), RunError> {
    // SAFETY: the layout is the same, and an executor permutes the bytes that it is given, so that
    // all of them are initialised again when the borrow ends.
    let bytes = unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), data.len()) };
    executor.run(bytes, workspace, |_| ())
}

/// The first `count` 32-bit words of a workspace, zeroed, as flags, and its other bytes.
pub(crate) fn split_flags(
    workspace: &mut [MaybeUninit<u64>],
    count: usize,
) -> (&[AtomicU32], &mut [Byte]) {
    let bytes = size_of_val(workspace);
    assert!(count <= bytes / 4, "the workspace holds the flags");
    let start = workspace.as_mut_ptr();
    // SAFETY: `start` is valid for `bytes` bytes and aligned to 8; the words are zeroed, hence
    // initialised, before a reference to them exists; the two slices do not overlap and both borrow
    // the workspace exclusively.
    unsafe {
        start.cast::<u32>().write_bytes(0, count);
        let flags = std::slice::from_raw_parts(start.cast::<AtomicU32>(), count);
        let rest = start.cast::<Byte>().add(count * 4);
        (flags, std::slice::from_raw_parts_mut(rest, bytes - count * 4))
    }
}

/// A matrix that several threads work on.
#[derive(Clone, Copy)]
struct Shared<'a> {
    start: *mut Byte,
    len: usize,
    life: PhantomData<&'a mut [Byte]>,
}

// SAFETY: it is a `&mut [Byte]` in parts; bytes have no thread affinity, and which thread touches
// which of them is settled by the movers of this file.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn new(data: &'a mut [Byte]) -> Self {
        Shared { start: data.as_mut_ptr(), len: data.len(), life: PhantomData }
    }

    /// The start of `bytes` bytes at `offset`, checked.
    fn span(&self, offset: usize, bytes: usize) -> *mut Byte {
        assert!(offset <= self.len && bytes <= self.len - offset, "a span lies in the matrix");
        // SAFETY: in bounds of the slice that `start` was made from, by the line above.
        unsafe { self.start.add(offset) }
    }

    /// Swaps two spans.
    ///
    /// # Safety
    /// - The spans do not overlap.
    /// - No other thread touches either meanwhile.
    unsafe fn swap(&self, a: usize, b: usize, bytes: usize) {
        // SAFETY: both are in bounds; the rest is the caller's.
        unsafe {
            std::ptr::swap_nonoverlapping(self.span(a, bytes), self.span(b, bytes), bytes);
        }
    }

    /// The span as a slice.
    ///
    /// # Safety
    /// No other thread writes the span while the slice lives.
    unsafe fn slice(&self, offset: usize, bytes: usize) -> &[Byte] {
        // SAFETY: in bounds; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.span(offset, bytes), bytes) }
    }

    /// The span as a slice to write.
    ///
    /// # Safety
    /// No other thread touches the span while the slice lives, and no other slice overlaps it.
    #[expect(clippy::mut_from_ref, reason = "exclusive by the caller's promise")]
    unsafe fn slice_mut(&self, offset: usize, bytes: usize) -> &mut [Byte] {
        // SAFETY: in bounds; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.span(offset, bytes), bytes) }
    }

    /// Asks for the first lines of a span that will be read or written soon.
    #[inline]
    fn prefetch(&self, offset: usize, bytes: usize) {
        let start = self.span(offset, bytes);
        for at in (0..bytes.min(MOST_PREFETCHED)).step_by(LINE) {
            simd::prefetch(start.wrapping_add(at));
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of a super-element that are asked for ahead: from there on the hardware sees a stream.
const MOST_PREFETCHED: usize = 4096;

/// PTTWAC: `parts` threads, each with as many chains in flight as its scratch holds super-elements
/// less one, start at their own share of the positions and follow the cycles until they arrive
/// where another chain started.
///
/// `flags` must be zero; `scratch` holds at least two super-elements for each part.
pub(crate) fn follow_chains(
    data: &mut [Byte],
    path: Path,
    claims: Claims,
    parts: usize,
    scratch: &mut [Byte],
) {
    let shared = Shared::new(data);
    let claims = if parts == 1 { claims.alone() } else { claims };
    let each = scratch.len() / parts;
    parts::run_on(0..parts, scratch, each, |part, scratch| {
        let starters = parts::share(path.positions(), parts, part);
        Worker { shared, path, claims }.run(starters, scratch);
    });
}

/// What a thread of [`follow_chains`] works with.
struct Worker<'a> {
    shared: Shared<'a>,
    path: Path,
    claims: Claims<'a>,
}

/// Chains in flight at most; scratch usually sets fewer.
const MOST_CHAINS: usize = 32;

/// Chains that step before their next places are asked for.
const GROUP: usize = 8;

/// What a chain does next.
#[derive(Clone, Copy)]
enum Chain {
    /// Looks for a place to start.
    Idle,
    /// Starts there, if it is still free.
    Starts(usize),
    /// Arrives there with what it carries.
    Arrives(usize),
}

impl Worker<'_> {
    fn lean(&self, mut starters: Range<usize>, scratch: &mut [Byte], mode: u32) {
        let u = self.path.unit_bytes();
        let d = scratch.len() / u - 1;
        let n = self.path.positions();
        let mut next = [usize::MAX; 32];
        let mut live = 0usize;
        let t = std::time::Instant::now();
        let mut ord: Vec<u32> = Vec::new();
        if mode == 2 {
            loop {
                for k in 0..d {
                    let mut p = next[k];
                    if p == usize::MAX {
                        let Some(s) =
                            starters.find(|&s| !self.claims.is_taken(s) && self.path.succ(s) != s)
                        else {
                            continue;
                        };
                        self.claims.take(s);
                        ord.push(s as u32);
                        p = self.path.succ(s);
                        live += 1;
                    } else {
                        ord.push(p as u32);
                        if self.claims.take(p) {
                            p = self.path.succ(p);
                        } else {
                            next[k] = usize::MAX;
                            live -= 1;
                            continue;
                        }
                    }
                    next[k] = p;
                }
                if live == 0 && starters.is_empty() {
                    break;
                }
            }
            eprintln!("order {:?} {}", t.elapsed(), ord.len());
            let t = std::time::Instant::now();
            for i in 0..ord.len() - d {
                let p = ord[i] as usize;
                let q = ord[i + d] as usize;
                let place = unsafe { self.shared.slice_mut(p * u, u) };
                simd::swap(&mut scratch[(i % d) * u..][..u], place);
                self.shared.prefetch(q * u, u);
            }
            eprintln!("moved {:?}", t.elapsed());
            let t = std::time::Instant::now();
            for i in 0..ord.len() - d {
                let p = ord[i] as usize;
                let q = ord[i + d] as usize;
                let place = unsafe { self.shared.slice_mut(p * u, u) };
                simd::swap(&mut scratch[(i % d) * u..][..u], place);
                self.shared.prefetch(q * u, u);
            }
            eprintln!("moved again {:?}", t.elapsed());
            return;
        }
        loop {
            for k in 0..d {
                let mut p = next[k];
                if p == usize::MAX {
                    let Some(s) =
                        starters.find(|&s| !self.claims.is_taken(s) && self.path.succ(s) != s)
                    else {
                        continue;
                    };
                    self.claims.take(s);
                    unsafe {
                        self.shared
                            .slice(s * u, u)
                            .as_ptr()
                            .copy_to(scratch.as_mut_ptr().add(k * u), u)
                    };
                    p = self.path.succ(s);
                    live += 1;
                } else {
                    let place = unsafe { self.shared.slice_mut(p * u, u) };
                    simd::swap(&mut scratch[k * u..][..u], place);
                    if self.claims.take(p) {
                        p = self.path.succ(p);
                    } else {
                        next[k] = usize::MAX;
                        live -= 1;
                        continue;
                    }
                }
                next[k] = p;
                simd::prefetch(self.claims.flag(p).cast());
                self.shared.prefetch(p * u, u);
            }
            if live == 0 && starters.is_empty() {
                break;
            }
        }
        eprintln!("lean {:?} of {n}", t.elapsed());
    }

    fn run(&self, mut starters: Range<usize>, scratch: &mut [Byte]) {
        if let Ok(l) = std::env::var("LEAN") {
            return self.lean(starters, scratch, l.parse().unwrap());
        }
        let unit_bytes = self.path.unit_bytes();
        let (spare, carried) = scratch.split_at_mut(unit_bytes);
        let mut chains = [Chain::Idle; MOST_CHAINS];
        loop {
            let mut alive = false;
            let mut carried = carried.chunks_exact_mut(unit_bytes);
            for group in chains.chunks_mut(GROUP) {
                for (chain, carried) in group.iter_mut().zip(&mut carried) {
                    *chain = match *chain {
                        Chain::Idle => self.look(&mut starters),
                        Chain::Starts(s) => self.start(s, carried, spare),
                        Chain::Arrives(p) => self.arrive(p, carried, spare),
                    };
                }
                // The lines of a group's next steps are asked for together, a round ahead: their
                // address translations overlap.
                for chain in group {
                    if let Chain::Starts(p) | Chain::Arrives(p) = *chain {
                        simd::prefetch(self.claims.flag(p).cast());
                        self.shared.prefetch(self.path.offset(p), unit_bytes);
                        alive = true;
                    }
                }
            }
            if !alive && starters.is_empty() {
                return;
            }
        }
    }

    /// The next place to start at.
    fn look(&self, starters: &mut Range<usize>) -> Chain {
        let turns = self.path.tile().is_some();
        let free = |&s: &usize| !self.claims.is_taken(s) && (turns || self.path.succ(s) != s);
        let Some(s) = starters.find(free) else { return Chain::Idle };
        Chain::Starts(s)
    }

    /// Starts a chain at `s`, unless it has been taken meanwhile.
    fn start(&self, s: usize, carried: &mut [Byte], spare: &mut [Byte]) -> Chain {
        let bytes = self.path.unit_bytes();
        let at = self.path.offset(s);
        // SAFETY: this worker has taken `s`, and whoever writes it waits for `s` to be marked read.
        let read = || self.take_up(unsafe { self.shared.slice(at, bytes) }, carried);
        if !self.claims.start(s, read) {
            return Chain::Idle;
        }
        let next = self.path.succ(s);
        if next == s {
            return self.arrive(s, carried, spare);
        }
        Chain::Arrives(next)
    }

    /// Brings what is carried to `p`, and goes on from there unless the chain ends.
    fn arrive(&self, p: usize, carried: &mut [Byte], spare: &mut [Byte]) -> Chain {
        let bytes = self.path.unit_bytes();
        let at = self.path.offset(p);
        // SAFETY: only the carrier of its predecessor's content writes `p`, and that is this worker;
        // nobody reads it any more: this worker has taken it, or its starter has marked it read.
        // At most one of the two closures below runs, so there is one such slice at a time.
        let place = || unsafe { self.shared.slice_mut(at, bytes) };
        let carried = std::cell::Cell::new(Some(carried));
        let put = || place().copy_from_slice(carried.take().expect("called once"));
        let swap = || {
            let (carried, place) = (carried.take().expect("called once"), place());
            match self.path.tile() {
                None => simd::swap(carried, place),
                Some(_) => {
                    self.take_up(place, spare);
                    place.copy_from_slice(carried);
                    carried.copy_from_slice(spare);
                }
            }
        };
        if !self.claims.arrive(p, swap, put) {
            return Chain::Idle;
        }
        Chain::Arrives(self.path.succ(p))
    }

    /// Reads the content of a place, transposed if tiles are transposed on the way.
    fn take_up(&self, place: &[Byte], into: &mut [Byte]) {
        match self.path.tile() {
            None => into.copy_from_slice(place),
            Some(tile) => simd::transpose(place, into, tile, self.path.elem_bytes()),
        }
    }
}

/// P-IPT: every cycle is moved by the thread whose share its leader lies in. No flags, no scratch:
/// contents are swapped through the leader's own place.
pub(crate) fn rotate_cycles(data: &mut [Byte], all: Path, parts: usize) {
    let shared = Shared::new(data);
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        for leader in parts::share(all.positions(), parts, part) {
            if !cycles::is_leader(leader, |p| all.succ(p)) {
                continue;
            }
            let mut p = all.succ(leader);
            while p != leader {
                // SAFETY: two positions of one cycle, which only the finder of its leader moves.
                unsafe { shared.swap(all.offset(leader), all.offset(p), all.unit_bytes()) };
                p = all.succ(p);
            }
        }
    });
    if let Some(Block { rows, cols, .. }) = all.tile() {
        let batch = all.positions();
        let shape = StageShape::Elementary(Elementary { batch, rows, mid: 1, cols, unit: 1 });
        rotate_cycles(data, Path::new(shape, all.elem_bytes()), parts);
    }
}

/// Squares of `side` elements, `mid` of them side by side in each of `batch` bands, every one
/// transposed where it lies: 010! for one square matrix (`mid = 1`), 0210! for square tiles.
#[derive(Clone, Copy)]
pub(crate) struct Squares {
    /// Bands.
    pub batch: usize,
    /// Rows and columns of a square.
    pub side: usize,
    /// Squares of a band.
    pub mid: usize,
    /// Bytes of an element.
    pub elem_bytes: usize,
}

/// Bytes of a row of the tiles that change places, and rows of one: both together fill 16 KiB.
const TILE_ROW_BYTES: usize = 256;
const TILE_ROWS: usize = 64;

/// Tiles of one thread on its stack.
struct TileBuffers {
    upper: [Byte; TILE_ROW_BYTES * TILE_ROWS],
    lower: [Byte; TILE_ROW_BYTES * TILE_ROWS],
    turned: [Byte; TILE_ROW_BYTES * TILE_ROWS],
}

/// Transposes all squares, tile pair by tile pair.
pub(crate) fn swap_tile_pairs(data: &mut [Byte], squares: Squares, parts: usize) {
    let shared = Shared::new(data);
    let Squares { batch, side, mid, elem_bytes } = squares;
    let tile = (TILE_ROW_BYTES / elem_bytes).clamp(1, TILE_ROWS);
    let (count, down) = (batch * mid, side.div_ceil(tile));
    parts::run_on(0..parts, &mut [], 0, |part, _| {
        const EMPTY: [Byte; TILE_ROW_BYTES * TILE_ROWS] =
            [Byte::uninit(); TILE_ROW_BYTES * TILE_ROWS];
        let mut buffers = TileBuffers { upper: EMPTY, lower: EMPTY, turned: EMPTY };
        // Many squares: a run of them each. Few: every so-many-th row of tiles, which balances the
        // triangle.
        let (own_squares, own_rows) = if count >= 2 * parts {
            (parts::share(count, parts, part), (0..down).step_by(1))
        } else {
            (0..count, (part..down.max(part)).step_by(parts))
        };
        for square in own_squares {
            let first = (square / mid * side * mid + square % mid) * side;
            for i in own_rows.clone() {
                for j in i..down {
                    let pair = TilePair {
                        first,
                        pitch: mid * side,
                        i: i * tile,
                        j: j * tile,
                        tile,
                        squares,
                    };
                    // SAFETY: the pair belongs to this part alone: its square does, or its tile row.
                    unsafe { pair.swap(shared, &mut buffers) };
                }
            }
        }
    });
}

/// The tiles at rows `i`, columns `j` and at rows `j`, columns `i` of a square.
struct TilePair {
    first: usize,
    pitch: usize,
    i: usize,
    j: usize,
    tile: usize,
    squares: Squares,
}

impl TilePair {
    /// Puts each tile, transposed, in the other's place.
    ///
    /// # Safety
    /// No other thread touches either tile meanwhile.
    unsafe fn swap(&self, shared: Shared, buffers: &mut TileBuffers) {
        let Squares { side, elem_bytes, .. } = self.squares;
        let (rows, cols) = (self.tile.min(side - self.i), self.tile.min(side - self.j));
        let at = |row: usize, col: usize| (self.first + row * self.pitch + col) * elem_bytes;
        if elem_bytes > TILE_ROW_BYTES {
            if self.i != self.j {
                // SAFETY: tiles of one element, off the diagonal; the rest is the caller's.
                unsafe { shared.swap(at(self.i, self.j), at(self.j, self.i), elem_bytes) };
            }
            return;
        }
        let load = |row: usize, col: usize, height: usize, width: usize, buffer: &mut [Byte]| {
            for (r, line) in buffer.chunks_exact_mut(width * elem_bytes).take(height).enumerate() {
                // SAFETY: part of one of the two tiles, which are the caller's.
                line.copy_from_slice(unsafe { shared.slice(at(row + r, col), line.len()) });
            }
        };
        let store = |row: usize, col: usize, height: usize, width: usize, buffer: &[Byte]| {
            for (r, line) in buffer.chunks_exact(width * elem_bytes).take(height).enumerate() {
                // SAFETY: as above.
                unsafe { shared.slice_mut(at(row + r, col), line.len()) }.copy_from_slice(line);
            }
        };
        let turn = |rows, cols, from: &[Byte], to: &mut [Byte]| {
            simd::transpose(
                from,
                to,
                Block { rows, cols, from_pitch: cols, to_pitch: rows },
                elem_bytes,
            );
        };
        load(self.i, self.j, rows, cols, &mut buffers.upper);
        if self.i != self.j {
            load(self.j, self.i, cols, rows, &mut buffers.lower);
            turn(cols, rows, &buffers.lower, &mut buffers.turned);
            store(self.i, self.j, rows, cols, &buffers.turned);
        }
        turn(rows, cols, &buffers.upper, &mut buffers.turned);
        store(self.j, self.i, cols, rows, &buffers.turned);
    }
}
