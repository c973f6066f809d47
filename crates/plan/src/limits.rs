//! Devices as plain data.

use std::borrow::Cow;

use crate::machine;
use crate::problem::Problem;
use crate::rates::{self, Rates};

/// What kind of device the limits describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// CPU threads; on-chip memory is scratch in main memory, small enough to stay in cache, and
    /// counts as workspace.
    Host,
    /// A GPU; on-chip memory is shared memory and registers, and does not.
    Gpu,
}

/// All the planner knows of a device. Plain data: a plan for any device can be made anywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Short name, as `--device` takes it.
    pub name: Cow<'static, str>,
    /// Host or GPU.
    pub kind: DeviceKind,
    /// Streaming multiprocessors, or threads of a host.
    pub units: usize,
    /// Threads that run in lockstep (warp); 1 on a host.
    pub warp: usize,
    /// Most threads of a group (thread block); 1 on a host.
    pub group_threads: usize,
    /// On-chip bytes that one group can use: opt-in shared memory, or a host thread's cache.
    pub group_bytes: usize,
    /// Bytes of registers that one group can hold data in besides; 0 on a host.
    pub register_bytes: usize,
    /// Most groups that can share on-chip memory as a cluster; 1 where there are none.
    pub cluster_groups: usize,
    /// Whether all resident groups can wait for each other (cooperative launch).
    pub grid_barrier: bool,
    /// Bytes of the device's memory; 0 when unknown.
    pub memory_bytes: usize,
    /// Measured speeds, for the cost model.
    pub rates: Rates,
}

/// Threads of a host whose scratch the default cap counts: 32 MiB are enough for more, in smaller
/// shares.
const MOST_MIB: usize = 32;

/// Every preset, host first.
pub fn presets() -> Vec<Limits> {
    vec![Limits::host(1), Limits::k20(), Limits::a100(), Limits::h200()]
}

impl Limits {
    /// A host with `threads` threads.
    ///
    /// `group_bytes` is the scratch a thread may use: 1 MiB, half of the L2 cache of the server
    /// cores of 2023 (2 MiB) and all of that of 2017-2021 (1-1.25 MiB).
    pub fn host(threads: usize) -> Self {
        Limits {
            name: "host".into(),
            kind: DeviceKind::Host,
            units: threads.max(1),
            warp: 1,
            group_threads: 1,
            group_bytes: 1 << 20,
            register_bytes: 0,
            cluster_groups: 1,
            grid_barrier: false,
            memory_bytes: 0,
            rates: rates::HOST,
        }
    }

    /// This machine with `threads` threads: as [`host`](Self::host), with half of the second-level
    /// cache that it says it has for a thread's scratch, from 256 KiB to 1 MiB.
    pub fn this_host(threads: usize) -> Self {
        let preset = Limits::host(threads);
        let half = machine::second_level_cache().map(|bytes| bytes / 2);
        let group_bytes = half.map_or(preset.group_bytes, |half| half.clamp(256 << 10, 1 << 20));
        Limits { group_bytes, ..preset }
    }

    /// NVIDIA Tesla K20 (the thesis's GPU): 13 multiprocessors, 48 KiB shared memory a block.
    pub fn k20() -> Self {
        Limits {
            name: "k20".into(),
            kind: DeviceKind::Gpu,
            units: 13,
            warp: 32,
            group_threads: 1024,
            group_bytes: 48 << 10,
            register_bytes: 32 << 10,
            cluster_groups: 1,
            grid_barrier: false,
            memory_bytes: 5 << 30,
            rates: rates::K20,
        }
    }

    /// NVIDIA A100 (80 GB): 108 multiprocessors, 163 KiB opt-in shared memory.
    pub fn a100() -> Self {
        Limits {
            name: "a100".into(),
            kind: DeviceKind::Gpu,
            units: 108,
            warp: 32,
            group_threads: 1024,
            group_bytes: 163 << 10,
            register_bytes: 88 * 512 * 4,
            cluster_groups: 1,
            grid_barrier: true,
            memory_bytes: 80 << 30,
            rates: rates::A100,
        }
    }

    /// NVIDIA H200: 132 multiprocessors, 227 KiB opt-in shared memory, clusters of 16, and 88 of
    /// the registers of 512 threads holding data (the most that did not spill).
    pub fn h200() -> Self {
        Limits {
            name: "h200".into(),
            kind: DeviceKind::Gpu,
            units: 132,
            warp: 32,
            group_threads: 1024,
            group_bytes: 227 << 10,
            register_bytes: 88 * 512 * 4,
            cluster_groups: 16,
            grid_barrier: true,
            memory_bytes: 141_000_000_000,
            rates: rates::H200,
        }
    }

    /// The preset of that name.
    pub fn preset(name: &str) -> Option<Self> {
        presets().into_iter().find(|limits| limits.name.eq_ignore_ascii_case(name))
    }

    /// On-chip bytes of the whole device, as the grid-wide barrier scope can use them.
    pub fn grid_bytes(&self) -> usize {
        if self.grid_barrier { self.units * (self.group_bytes + self.register_bytes) } else { 0 }
    }

    /// On-chip bytes that the gather pass can use for its chunks: the shared memory of all units, less a tenth
    /// for padded rows and for what a split into strips wastes.
    pub fn gather_bytes(&self) -> usize {
        if self.grid_barrier { self.units * self.group_bytes / 10 * 9 } else { 0 }
    }

    /// Workspace a plan may use when the problem sets no cap: on a host 2% of the matrix and 1 MiB for
    /// each thread, of at most 32; on a GPU 2% of the matrix, or 16 MiB where that is more.
    pub fn default_cap(&self, problem: &Problem) -> usize {
        let share = problem.bytes() / 50;
        match self.kind {
            DeviceKind::Host => share + self.units.min(MOST_MIB) * (1 << 20),
            DeviceKind::Gpu => share.max(16 << 20),
        }
    }

    /// The cap that holds: the problem's, or the default.
    pub fn cap(&self, problem: &Problem) -> usize {
        problem.cap().unwrap_or_else(|| self.default_cap(problem))
    }
}
