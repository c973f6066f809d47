//! Measured speeds as fractions of a copy of the same bytes: the constants of the cost model.
//!
//! A constant never affects correctness, only which plan is tried first. Each table says where it
//! was measured; `docs/cost-model.md` says how to measure it again.

/// `(bytes, fraction of copy speed)`, ascending in bytes; between points the fraction is
/// interpolated over the logarithm of the bytes, beyond the ends it stays.
pub type Curve = &'static [(usize, f64)];

/// Speeds of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Bytes a second of a copy, read plus write.
    pub copy: f64,
    /// Seconds that starting a stage takes.
    pub start: f64,
    /// Seconds that each further thread of a host costs a stage.
    pub fork: f64,
    /// Seconds that all groups of a GPU take to wait for each other.
    pub wait: f64,
    /// Tile-pair swap of a square matrix, by bytes of an element.
    pub swap: Curve,
    /// Square tiles transposed where they lie (0210!), by bytes of a tile row.
    pub tiles: Curve,
    /// The same on a GPU for sides that have no kernel of their own, by bytes of an element.
    pub bands: Curve,
    /// Barrier-sync of a tile held by one group, by bytes of an element.
    pub group: Curve,
    /// Barrier-sync over a cluster, by bytes of an element.
    pub cluster: Curve,
    /// Barrier-sync over the whole grid, by bytes of an element.
    pub grid: Curve,
    /// Slot gather on a host, by bytes of a slot.
    pub gather: Curve,
    /// Slot gather of few columns by the groups of a GPU, by bytes of an element.
    pub runs: Curve,
    /// Slot gather of more columns by teams of groups of a GPU, by bytes of a group's part of a
    /// chunk.
    pub strips: Curve,
    /// Super-elements moved by PTTWAC with flags in memory, by bytes of a super-element.
    pub moves: Curve,
    /// Elements moved by PTTWAC with flags on chip, by bytes of an element.
    pub on_chip_moves: Curve,
    /// Most that tiles moved and transposed at once reach on a GPU.
    pub fused: f64,
    /// Cycle following without flags (P-IPT), by bytes of a super-element.
    pub per_cycle: Curve,
    /// Rows padded or unpadded, in steps of many or by sliding, by bytes of a row.
    pub pad: Curve,
}

impl Rates {
    /// The highest fraction that any method reaches.
    pub fn peak(&self) -> f64 {
        let curves = [
            self.swap,
            self.tiles,
            self.bands,
            self.group,
            self.cluster,
            self.grid,
            self.gather,
            self.runs,
            self.strips,
            self.moves,
            self.on_chip_moves,
            self.per_cycle,
            self.pad,
        ];
        curves.into_iter().flatten().fold(0.0, |peak, &(_, fraction)| fraction.max(peak))
    }
}

/// The fraction that `curve` gives for `bytes`.
pub fn at(curve: Curve, bytes: usize) -> f64 {
    let above = curve.partition_point(|&(point, _)| point < bytes);
    match (above.checked_sub(1).map(|below| curve[below]), curve.get(above)) {
        (Some((x0, y0)), Some(&(x1, y1))) => {
            let share = (bytes as f64 / x0 as f64).ln() / (x1 as f64 / x0 as f64).ln();
            y0 + share * (y1 - y0)
        }
        (Some((_, last)), None) => last,
        (None, Some(&(_, first))) => first,
        (None, None) => unreachable!("a curve has points"),
    }
}

/// Two cores of an Intel Xeon (Sapphire Rapids: 48 KiB, 2 MiB), one thread, pages of 2 MiB, 2026-11.
/// Copies run at 16-28 GB/s; the fractions are of one at 20-25, at 400-960 MB, where the caches shared
/// with others do not help. `docs/cpu.md` has the figures and how they were taken.
///
/// | curve | from |
/// |---|---|
/// | swap | 10000x10000 and 8192x8192 |
/// | tiles, moves | 20000x12000 and 16000x9600 in tiles of 50 to 3200; short super-elements from 10007x9973 |
/// | group | 1000000x8 and 4000000x3, tiles of 20-50 KB |
/// | gather | 8191x4093, 7919x3001, 10007x9973, in row order |
pub const HOST: Rates = Rates {
    copy: 2.5e10,
    start: 2.0e-7,
    fork: 5.0e-6,
    wait: 0.0,
    swap: &[(1, 0.42), (2, 0.52), (4, 0.73), (8, 0.66), (16, 0.68)],
    tiles: &[
        (32, 0.2),
        (100, 0.6),
        (200, 1.1),
        (320, 1.02),
        (640, 0.98),
        (1000, 0.84),
        (1600, 0.72),
        (12_800, 0.75),
    ],
    bands: &[(1, 0.1)],
    group: &[(1, 0.38), (2, 0.8), (4, 0.95), (8, 1.04), (16, 1.1)],
    cluster: &[(1, 0.1)],
    grid: &[(1, 0.1)],
    gather: &[(16, 0.1), (64, 0.4), (128, 0.48), (256, 0.55), (512, 0.5), (1024, 0.4)],
    runs: &[(1, 0.1)],
    strips: &[(1, 0.1)],
    moves: &[
        (1, 0.002),
        (4, 0.006),
        (16, 0.025),
        (64, 0.15),
        (128, 0.38),
        (256, 0.5),
        (320, 0.54),
        (640, 0.64),
        (1600, 0.7),
        (6400, 0.75),
        (16_000, 0.8),
        (128_000, 0.8),
        (320_000, 0.68),
    ],
    on_chip_moves: &[(1, 0.01), (4, 0.04), (16, 0.15)],
    fused: 1.0,
    per_cycle: &[(1, 0.0005), (4, 0.002), (64, 0.02), (1024, 0.1), (4096, 0.2)],
    pad: &[(16, 0.1), (256, 0.5), (4096, 0.8)],
};

/// NVIDIA H200, driver 580, 2026-11; every point from `benches/records/h200`, at 1-2 GiB beside a
/// copy at 4.2 TB/s in the same run.
///
/// | curve | from |
/// |---|---|
/// | start | whole plans of 52 MB less what their bytes take: 8 µs a stage, its flags cleared |
/// | swap, group | `words.csv` |
/// | tiles | `tiles.csv`, sides that are powers of two |
/// | bands | `sweeps.csv`, 20000x12000 in tiles of 80 to 400, less the second pass |
/// | per_cycle | `capped.csv`, and P-IPT's longest cycles in `docs/report/h200/figure-4.19.csv` |
/// | cluster, moves | `barrier.csv`; figure 4.20 in `docs/report/h200/figure-4.20.csv`, units of whole lines |
/// | grid | `on_chip.csv`, less the start |
/// | pad | `docs/report/h200/padding.csv`, rows of 20 to 48 KB; shorter ones not measured |
/// | fused | `thesis.csv`: whole plans at 110-300 GB/s, since tiles of tens of KB pass shared memory one at a time |
/// | runs | `slot_runs.csv` |
/// | strips | `slots.csv` |
pub const H200: Rates = Rates {
    copy: 4.2e12,
    start: 8.0e-6,
    fork: 0.0,
    wait: 2.0e-6,
    swap: &[(1, 0.87), (2, 0.95), (4, 0.95), (8, 0.93), (16, 0.93)],
    tiles: &[(32, 0.5), (64, 0.8), (128, 0.977), (256, 0.997), (512, 0.995)],
    bands: &[(1, 0.5), (2, 0.6), (4, 0.78), (8, 0.86), (16, 0.93)],
    group: &[(1, 0.83), (2, 0.86), (4, 0.92), (8, 0.97), (16, 0.97)],
    cluster: &[(1, 0.5), (2, 0.62), (4, 0.78), (8, 0.80), (16, 0.82)],
    grid: &[(1, 0.57), (2, 0.70), (4, 0.73), (8, 0.87), (16, 0.90)],
    gather: &[(1, 0.1)],
    runs: &[(1, 0.25), (2, 0.4), (4, 0.75), (16, 0.9)],
    strips: &[(10_000, 0.45), (20_000, 0.64), (40_000, 0.88), (64_000, 0.90)],
    moves: &[
        (4, 0.02),
        (16, 0.10),
        (32, 0.21),
        (64, 0.41),
        (128, 0.70),
        (256, 0.85),
        (512, 0.885),
        (1024, 0.89),
        (2048, 0.90),
        (4096, 0.90),
        (8192, 0.88),
    ],
    on_chip_moves: &[(1, 0.02), (4, 0.10), (16, 0.2)],
    fused: 0.06,
    per_cycle: &[(4, 0.00003), (64, 0.0005), (256, 0.003), (1024, 0.01)],
    pad: &[(16, 0.05), (256, 0.4), (4096, 0.75), (40_000, 0.83)],
};

/// NVIDIA A100: not measured; the fractions of the H200 over its datasheet bandwidth.
pub const A100: Rates = Rates { copy: 1.7e12, ..H200 };

/// NVIDIA Tesla K20: the thesis's figures (section 4.8.3: 12.5, 24.5, 47.6, 69 GB/s for
/// super-elements of 8 to 64 floats) over its copy speed (table 4.3: 19.06 GB/s is 11.6%).
pub const K20: Rates = Rates {
    copy: 1.64e11,
    start: 8.0e-6,
    fork: 0.0,
    wait: 0.0,
    swap: &[(4, 0.5), (8, 0.5)],
    tiles: &[(128, 0.5), (256, 0.5)],
    bands: &[(1, 0.5)],
    group: &[(1, 0.2), (4, 0.6)],
    cluster: &[(1, 0.2)],
    grid: &[(1, 0.2)],
    gather: &[(1, 0.1)],
    runs: &[(1, 0.2)],
    strips: &[(1, 0.2)],
    moves: &[(4, 0.01), (32, 0.076), (64, 0.15), (128, 0.29), (256, 0.42)],
    on_chip_moves: &[(1, 0.05), (4, 0.2)],
    fused: 1.0,
    per_cycle: &[(4, 0.002), (128, 0.04)],
    pad: &[(16, 0.05), (4096, 0.4)],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_interpolate_over_the_logarithm() {
        let curve: Curve = &[(4, 0.2), (16, 0.4)];
        assert_eq!(at(curve, 1), 0.2);
        assert_eq!(at(curve, 4), 0.2);
        assert!((at(curve, 8) - 0.3).abs() < 1e-12);
        assert_eq!(at(curve, 16), 0.4);
        assert_eq!(at(curve, 99), 0.4);
    }

    #[test]
    fn curves_ascend_in_bytes() {
        for rates in [HOST, H200, A100, K20] {
            for curve in [
                rates.swap,
                rates.tiles,
                rates.bands,
                rates.group,
                rates.cluster,
                rates.grid,
                rates.gather,
                rates.runs,
                rates.strips,
                rates.moves,
                rates.on_chip_moves,
                rates.per_cycle,
                rates.pad,
            ] {
                assert!(curve.is_sorted_by(|a, b| a.0 < b.0));
                assert!(curve.iter().all(|&(_, fraction)| fraction > 0.0 && fraction < 1.5));
            }
        }
    }
}
