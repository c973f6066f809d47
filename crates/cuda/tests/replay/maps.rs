//! `index.cuh`: destinations of super-elements. Values that a kernel computes in 32 bits must fit.

use turntile_cuda::args::{Axes32, Axes64, SlotMap32, SlotMap64, SmallSwap, TileRunMap};

use super::device::{div32, div64};
use super::{Answer, Broken, aligned, need};

/// Largest value of the kernel's index type. An operation with a larger result is an error.
#[derive(Clone, Copy)]
pub struct Width(pub u64);

impl Width {
    fn fit(self, n: u128) -> Answer<u64> {
        let most = u128::from(self.0);
        need(n <= most, || format!("{n} in numbers to {most}"))?;
        Ok(n as u64)
    }
    fn add(self, a: u64, b: u64) -> Answer<u64> {
        self.fit(u128::from(a) + u128::from(b))
    }
    pub fn mul(self, a: u64, b: u64) -> Answer<u64> {
        self.fit(u128::from(a) * u128::from(b))
    }
    fn sub(self, a: u64, b: u64) -> Answer<u64> {
        a.checked_sub(b).ok_or_else(|| Broken(format!("{a} - {b}")))
    }
}

pub const NARROW: Width = Width(u32::MAX as u64);
pub const WIDE: Width = Width(u64::MAX);

/// A divisor, with division as the device computes it.
pub struct Div<'a> {
    pub divisor: u64,
    by: Box<dyn Fn(u64) -> u64 + 'a>,
}

impl Div<'_> {
    pub fn div(&self, n: u64) -> u64 {
        (self.by)(n)
    }
}

/// An index map of super-elements, as kernels use it.
pub trait Map {
    fn width(&self) -> Width;
    /// Returns the destination of super-element `s`.
    fn succ(&self, s: u64) -> Answer<u64>;
    /// Returns the super-element at `offset`, and the offset within it.
    fn find(&self, offset: u64) -> (u64, u64);
    /// Returns the offset of super-element `s`.
    fn offset(&self, s: u64) -> u64;
    /// Checks that each of `units` super-elements is a possible start, and that strides are
    /// multiples of `word`.
    fn check(&self, units: u64, word: u64) -> Answer<()>;
}

impl Map for TileRunMap {
    fn width(&self) -> Width {
        NARROW
    }
    fn succ(&self, s: u64) -> Answer<u64> {
        let x = div32(&self.from, s as u32);
        let tile = div32(&self.side, x);
        let y = s - u64::from(x) * u64::from(self.from.divisor);
        let row = y * u64::from(self.side.divisor) + u64::from(x - tile * self.side.divisor);
        NARROW.fit(u128::from(row) * u128::from(self.to) + u128::from(tile))
    }
    fn find(&self, offset: u64) -> (u64, u64) {
        (offset / self.unit_bytes, offset % self.unit_bytes)
    }
    fn offset(&self, s: u64) -> u64 {
        s * self.unit_bytes
    }
    fn check(&self, units: u64, word: u64) -> Answer<()> {
        aligned(word, &[self.unit_bytes])?;
        let places = u64::from(self.rows) * u64::from(self.from.divisor);
        need(places == units, || format!("{units} of {places} places"))
    }
}

macro_rules! axes {
    ($map:ident, $width:ident, $div:ident, $number:ty) => {
        impl Map for $map {
            fn width(&self) -> Width {
                $width
            }
            fn succ(&self, s: u64) -> Answer<u64> {
                let most = i128::from(self.width().0);
                need(self.digits <= 7, || format!("{} digits", self.digits))?;
                // With reversed axes, strides of more than half of the numbers are negative.
                let step = |stride: u64| match i128::from(stride) {
                    stride if self.start > 0 && stride > most / 2 => stride - most - 1,
                    stride => stride,
                };
                let (mut s, mut to) = (s, i128::from(self.start));
                for d in &self.d[..self.digits.max(1) as usize] {
                    let rest = u64::from($div(&d.by, s as $number));
                    let digit = self.width().sub(s, rest * u64::from(d.by.divisor))?;
                    to += i128::from(digit) * step(d.stride.into());
                    s = rest;
                }
                to += i128::from(s) * step(self.first.into());
                need((0..=most).contains(&to), || format!("{to} in numbers to {most}"))?;
                Ok(to as u64)
            }
            fn find(&self, offset: u64) -> (u64, u64) {
                (offset / self.unit_bytes, offset % self.unit_bytes)
            }
            fn offset(&self, s: u64) -> u64 {
                s * self.unit_bytes
            }
            fn check(&self, units: u64, word: u64) -> Answer<()> {
                aligned(word, &[self.unit_bytes])?;
                // Starts alternate between instances.
                let picked = u64::from(self.batch.divisor) * u64::from(self.instance.divisor);
                let is_one = self.batch.divisor == 1;
                need(is_one || picked == units, || format!("{picked} of {units}"))
            }
        }
    };
}
axes!(Axes32, NARROW, div32, u32);
axes!(Axes64, WIDE, div64, u64);

impl Map for SmallSwap {
    fn width(&self) -> Width {
        NARROW
    }
    fn succ(&self, s: u64) -> Answer<u64> {
        let outer = u64::from(div32(&self.cols, s as u32));
        let inner = NARROW.sub(s, outer * u64::from(self.cols.divisor))?;
        NARROW.add(NARROW.mul(inner, u64::from(self.rows))?, outer)
    }
    fn find(&self, offset: u64) -> (u64, u64) {
        (offset / u64::from(self.unit_bytes), offset % u64::from(self.unit_bytes))
    }
    fn offset(&self, s: u64) -> u64 {
        s * u64::from(self.unit_bytes)
    }
    fn check(&self, units: u64, word: u64) -> Answer<()> {
        aligned(word, &[u64::from(self.unit_bytes)])?;
        NARROW.mul(units, u64::from(self.unit_bytes)).map(|_| ())
    }
}

/// Slot map of a matrix, with indices of either width.
pub struct SlotsOf<'a> {
    pub width: Width,
    pub rows: u64,
    pub cols: u64,
    pub slot: u64,
    pub chunk: u64,
    pub last_chunk: u64,
    pub last_rows: u64,
    pub rows_div: Div<'a>,
    pub slot_div: Div<'a>,
    last_rows_div: Div<'a>,
    chunk_div: Div<'a>,
    pub per_chunk: Div<'a>,
    count: Div<'a>,
    unit_bytes: u64,
    instance_bytes: u64,
    backward: bool,
    batched: bool,
}

macro_rules! slots_of {
    ($map:ident, $width:ident, $div:ident, $number:ty) => {
        impl<'a> From<&'a $map> for SlotsOf<'a> {
            fn from(m: &'a $map) -> Self {
                macro_rules! division {
                    ($by:ident) => {
                        Div {
                            divisor: u64::from(m.$by.divisor),
                            by: Box::new(|n| u64::from($div(&m.$by, n as $number))),
                        }
                    };
                }
                SlotsOf {
                    width: $width,
                    rows: u64::from(m.rows),
                    cols: u64::from(m.cols),
                    slot: u64::from(m.slot),
                    chunk: u64::from(m.chunk),
                    last_chunk: u64::from(m.last_chunk),
                    last_rows: u64::from(m.last_rows),
                    rows_div: division!(rows_div),
                    slot_div: division!(slot_div),
                    last_rows_div: division!(last_rows_div),
                    chunk_div: division!(chunk_div),
                    per_chunk: division!(per_chunk),
                    count: division!(count),
                    unit_bytes: m.unit_bytes,
                    instance_bytes: m.instance_bytes,
                    backward: m.backward != 0,
                    batched: m.batched != 0,
                }
            }
        }
    };
}
slots_of!(SlotMap32, NARROW, div32, u32);
slots_of!(SlotMap64, WIDE, div64, u64);

impl SlotsOf<'_> {
    fn up(&self, n: u64) -> Answer<u64> {
        Ok(self.slot_div.div(self.width.add(n, self.slot - 1)?))
    }
    /// Returns the final number of column `j`'s first slot in chunk `c`, and the slot's place in
    /// the chunk.
    fn column(&self, c: u64, j: u64) -> Answer<(u64, u64)> {
        let (w, per_column) = (self.width, self.slot_div.div(self.chunk));
        let first = w.add(self.up(w.mul(j, self.rows)?)?, w.mul(c, per_column)?)?;
        let place = match c == self.last_chunk {
            true => self.up(w.mul(j, self.last_rows)?)?,
            false => w.mul(j, per_column)?,
        };
        Ok((first, place))
    }
    /// Returns the final number of the slot at place `s`.
    pub fn dest(&self, s: u64) -> Answer<u64> {
        let w = self.width;
        let c = self.per_chunk.div(s).min(self.last_chunk);
        let before = w.mul(c, self.per_chunk.divisor)?;
        let within = w.mul(w.sub(s, before)?, self.slot)?;
        let by = if c == self.last_chunk { &self.last_rows_div } else { &self.chunk_div };
        let (first, place) = self.column(c, by.div(within))?;
        w.sub(w.add(first, s - before)?, place)
    }
    /// Returns the place of the slot with final number `t`.
    pub fn source(&self, t: u64) -> Answer<u64> {
        let w = self.width;
        let at = w.mul(t, self.slot)?;
        let j = self.rows_div.div(at);
        let i = w.sub(at, w.mul(j, self.rows)?)?;
        let c = self.chunk_div.div(i).min(self.last_chunk);
        let (first, place) = self.column(c, j)?;
        w.sub(w.add(w.add(w.mul(c, self.per_chunk.divisor)?, place)?, t)?, first)
    }
}

impl Map for SlotsOf<'_> {
    fn width(&self) -> Width {
        self.width
    }
    fn succ(&self, s: u64) -> Answer<u64> {
        let go = |s| if self.backward { self.source(s) } else { self.dest(s) };
        if !self.batched {
            return go(s);
        }
        let first = self.count.div(s) * self.count.divisor;
        self.width.add(first, go(s - first)?)
    }
    fn find(&self, offset: u64) -> (u64, u64) {
        let matrix = if self.batched { offset / self.instance_bytes } else { 0 };
        let rest = offset - matrix * self.instance_bytes;
        (matrix * self.count.divisor + rest / self.unit_bytes, rest % self.unit_bytes)
    }
    fn offset(&self, s: u64) -> u64 {
        let matrix = if self.batched { self.count.div(s) } else { 0 };
        matrix * self.instance_bytes + (s - matrix * self.count.divisor) * self.unit_bytes
    }
    fn check(&self, _: u64, word: u64) -> Answer<()> {
        aligned(word, &[self.unit_bytes, if self.batched { self.instance_bytes } else { 0 }])
    }
}
