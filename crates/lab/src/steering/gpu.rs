//! The chase on a GPU, by kernels of the lab's (`kernels/steering.cu`).

use anyhow::{Context as _, Result};
use turntile::gpu::Gpu;
use turntile_cuda::args::Address;
use turntile_plan::Device as _;

use super::walk::{BenchMemory, Row, WORD, middle, walks};
use crate::code::Code;
use crate::command::SteeringArgs;
use crate::params::{Params, SteeringArgs as Args};
use crate::program::{Launch, Program, Step};
use crate::watch::Watch;

/// Blocks of a multiprocessor: half of the most that run at a time.
const BLOCKS: usize = 16;
/// Accesses of a block to its one place.
const AGAIN: usize = 4096;

/// What is walked on: buffers `[memory, places, ends]`.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Bytes of the memory.
    pub span: usize,
    /// Places that there is room for.
    pub places: usize,
    /// Blocks of one thread.
    pub blocks: usize,
}

impl Field {
    /// Links `count` places: each says which is `ahead` places further on. None where 32 bits do not count.
    pub fn linked(&self, count: usize, ahead: usize) -> Option<Program> {
        self.program(("steering_fill", 256, count.div_ceil(256)), [count, ahead, 0], [0, 1])
    }

    /// Every block goes from its place so many steps on; the place is in `ends`, before and after. None where 32 bits do not
    /// count.
    pub fn chased(&self, steps: usize) -> Option<Program> {
        self.program(("steering_chase", 1, self.blocks), [self.blocks, 0, steps], [2, 0])
    }

    fn program(
        &self,
        (entry, threads, groups): (&'static str, u32, usize),
        numbers: [usize; 3],
        buffers: [usize; 2],
    ) -> Option<Program> {
        let number = |n: usize| u32::try_from(n).ok();
        let [count, ahead, steps] = numbers.map(number);
        let params = Args {
            to: Address::default(),
            from: Address::default(),
            words: number(self.span / WORD)?,
            count: count?,
            ahead: ahead?,
            steps: steps?,
        };
        let launch = Launch {
            code: Code::Steering,
            entry,
            groups: i32::try_from(groups).ok()?.try_into().ok()?,
            threads,
            shared_bytes: 0,
            params: Params::Steering(params),
        };
        let all = Program::new(&[self.span, self.places * WORD, self.blocks * WORD]);
        Some(all.then(Step::Kernel(launch, buffers)))
    }
}

pub(super) fn rows(
    args: &SteeringArgs,
    gpu: &Gpu,
    cache: usize,
    pitches: &[usize],
) -> Result<(String, BenchMemory, Vec<Row>)> {
    let ground = BenchMemory { line: 128, span: 8 << 30, cache };
    let blocks = gpu.device().limits().units * BLOCKS;
    let beyond = ground.beyond().next_multiple_of(blocks);
    let field = Field { span: ground.span, places: beyond, blocks };
    let forms = [("cached", blocks, 0, AGAIN), ("memory", beyond, blocks, beyond / blocks)];
    // Buffers begin at multiples of 256 bytes.
    let mut watch = Watch::new(gpu, field.span + (beyond + blocks) * WORD + 1024)?;
    let mut rows = Vec::new();
    for (pitch, (form, count, ahead, steps)) in
        pitches.iter().flat_map(|&pitch| forms.map(|form| (pitch, form)))
    {
        let programs = field.linked(count, ahead).zip(field.chased(steps));
        let (linked, chased) = programs.context("places that 32 bits do not count")?;
        for (walk, seed) in walks(args.seeds.get()) {
            let places = ground.places(walk, pitch, count, true, seed);
            let mut ready = watch.load(&linked)?;
            ready.put(1, bytemuck::cast_slice(&places))?;
            ready.time()?;
            let mut ready = watch.load(&chased)?;
            ready.put(2, bytemuck::cast_slice(&places[..blocks]))?;
            let mut times = Vec::new();
            for _ in 0..=args.runs.get() {
                times.push(ready.time()?.as_secs_f64() * 1e9 / (blocks * steps) as f64);
            }
            let ns = middle(&mut times[1..]);
            rows.push(Row { form, places: count, pitch, walk, seed, ns });
        }
    }
    Ok((gpu.device().name().to_owned(), ground, rows))
}
