//! A device that offers more than the product's: tiles that are transposed on the way.

use std::sync::Arc;

use turntile::plan::{CpuDevice, GpuDevice, Infeasible, Problem};
use turntile_perm::{AlignedSlots, Elementary};
use turntile_plan::{
    Device, Implementation, LaunchConfig, Method, MethodFilter, SlotParams, StageMap, StageRequest,
};

use crate::turned::{OnGpu, OnHost, TurnedTiles};

/// A device, and what the lab can do on it besides.
#[derive(Clone, Debug)]
pub struct Wider {
    inner: Arc<dyn Device>,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Host { threads: usize },
    Gpu { shared_bytes: usize },
}

impl Wider {
    /// This host, with up to so many threads.
    pub fn host(threads: usize) -> Self {
        let inner = Arc::new(CpuDevice::here(threads));
        Wider { inner, place: Place::Host { threads: threads.max(1) } }
    }

    /// A GPU.
    pub fn gpu(chip: GpuDevice) -> Self {
        let place = Place::Gpu { shared_bytes: chip.limits().shared_bytes };
        Wider { inner: Arc::new(chip), place }
    }

    /// What moves tiles and transposes them on the way, as fast as tiles move.
    fn turned(&self, shape: &StageMap, request: &StageRequest) -> Option<Implementation> {
        let tiles = TurnedTiles::of(shape).filter(|_| !request.out_of_place)?;
        let method = Method::PttwacGlobal;
        let TurnedTiles { batch, rows, cols, m, n } = tiles;
        let moves = Elementary { batch, rows, mid: 1, cols, unit: m * n };
        let cycles = StageRequest { methods: MethodFilter::Cycles, ..*request };
        let seconds = self.inner.best(&moves.into(), &cycles).ok()?.seconds;
        let (geometry, workspace_bytes) = match self.place {
            Place::Host { threads } => (LaunchConfig::new(OnHost { tiles, threads }), 0),
            Place::Gpu { shared_bytes } => {
                // A tile is held while the next one is fetched.
                let held = 2 * m * n * request.elem_bytes;
                let way = (held <= shared_bytes).then_some(OnGpu { tiles })?;
                (LaunchConfig::new(way), way.flag_bytes())
            }
        };
        let allowed = request.methods.accepts(method) && workspace_bytes <= request.cap;
        allowed.then_some(Implementation::new(method, geometry, workspace_bytes, seconds))
    }
}

impl Device for Wider {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn model(&self) -> String {
        self.inner.model()
    }

    fn default_cap(&self, problem: &Problem) -> usize {
        self.inner.default_cap(problem)
    }

    fn on_chip_bytes(&self) -> [usize; 2] {
        self.inner.on_chip_bytes()
    }

    fn on_chip_bytes_total(&self) -> usize {
        self.inner.on_chip_bytes_total()
    }

    fn least_seconds(&self, bytes: usize) -> f64 {
        self.inner.least_seconds(bytes)
    }

    fn aligned_slots(&self, slotting: &SlotParams, chunk: usize) -> Option<AlignedSlots> {
        self.inner.aligned_slots(slotting, chunk)
    }

    fn chunk_lengths(&self, slotting: &SlotParams, every: bool) -> Vec<usize> {
        self.inner.chunk_lengths(slotting, every)
    }

    fn implementations(
        &self,
        shape: &StageMap,
        request: &StageRequest,
    ) -> Result<Vec<Implementation>, Infeasible> {
        let own = self.inner.implementations(shape, request);
        match self.turned(shape, request) {
            Some(turned) => Ok([vec![turned], own.unwrap_or_default()].concat()),
            None => own,
        }
    }

    fn best(&self, shape: &StageMap, request: &StageRequest) -> Result<Implementation, Infeasible> {
        match self.turned(shape, request) {
            Some(turned) => Ok(turned),
            None => self.inner.best(shape, request),
        }
    }
}
