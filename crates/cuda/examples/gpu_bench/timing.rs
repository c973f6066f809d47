//! One case: checked, then timed.

use std::collections::HashMap;

use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::sys;
use turntile_cuda::call::Call;
use turntile_cuda::lower::{Holding, lower, move_held};
use turntile_cuda::{Infeasible, Work};
use turntile_perm::Elementary;
use turntile_plan::{FlagLayout, Launch, Method, Stage, StageShape};

use crate::common::{Bench, memory, run};

pub const HEADER: &str = "case,batch,rows,mid,cols,unit,word_bytes,kernel,megabytes,seconds,gb_per_s,\
                          copy_gb_per_s,percent_of_copy,wrong_elements\n";

/// What a case runs.
#[derive(Clone, Copy)]
pub enum What {
    Method(Method),
    Held(Holding),
    /// The permutation out of place, without flags: super-elements of at most 512 bytes.
    Permuted,
}

#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub e: Elementary,
    pub word: usize,
    pub what: What,
    /// Threads of a block, where the kernel leaves them open.
    pub threads: usize,
}

/// Timed runs, after two that are not.
const RUNS: usize = 9;
const MOST: usize = (8 << 30) + (64 << 20);

pub struct Timer {
    bench: Bench,
    data: DeviceBuffer<u8>,
    other: DeviceBuffer<u8>,
    workspace: DeviceBuffer<u8>,
    copies: HashMap<usize, f64>,
}

impl Timer {
    pub fn new() -> Self {
        let bench = Bench::new();
        let (data, other, workspace) = (memory(MOST), memory(MOST), memory(128 << 20));
        Timer { bench, data, other, workspace, copies: HashMap::new() }
    }

    /// Median seconds of `work` on the stream.
    fn median(&self, mut work: impl FnMut(&Bench)) -> f64 {
        let [start, end] = [(); 2].map(|()| Event::new(EventFlags::DEFAULT).expect("an event"));
        let mut seconds: Vec<f64> = (0..RUNS + 2)
            .map(|_| {
                start.record(&self.bench.stream).expect("records");
                work(&self.bench);
                end.record(&self.bench.stream).expect("records");
                end.synchronize().expect("ends well");
                f64::from(end.elapsed_time_f32(&start).expect("both recorded")) / 1e3
            })
            .skip(2)
            .collect();
        seconds.sort_by(f64::total_cmp);
        seconds[RUNS / 2]
    }

    fn addresses(&self) -> (u64, u64) {
        (self.data.as_device_ptr().as_raw(), self.other.as_device_ptr().as_raw())
    }

    fn copy(&mut self, bytes: usize) -> f64 {
        if let Some(&seconds) = self.copies.get(&bytes) {
            return seconds;
        }
        let (data, other) = self.addresses();
        let seconds = self.median(|bench| {
            // SAFETY: both buffers are longer than `bytes`.
            let code =
                unsafe { sys::cuMemcpyDtoDAsync_v2(other, data, bytes, bench.stream.as_inner()) };
            assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
        });
        self.copies.insert(bytes, seconds);
        seconds
    }

    fn call(&self, case: &Case) -> Result<Call, Infeasible> {
        let (shape, device) = (StageShape::Elementary(case.e), self.bench.gpu.device());
        match case.what {
            What::Method(method) => {
                let launch = Launch {
                    groups: 1,
                    threads: case.threads,
                    lanes: 1,
                    on_chip_bytes: 0,
                    flag_words: 0,
                    kept_bytes: 0,
                };
                lower(&Stage { shape, method, launch }, case.word, 16, device)
            }
            What::Held(holding) => {
                move_held(shape, FlagLayout::PACKED, holding, case.word, 16, device)
            }
            What::Permuted => Err(Infeasible::NoKernel),
        }
    }

    /// The case's line of CSV, also printed in short.
    pub fn row(&mut self, case: &Case, cases_wrong: &mut usize) -> String {
        let Case { name, e, word, .. } = *case;
        let bytes = e.len() * word;
        let (data, other) = self.addresses();
        let (kernel, seconds, wrong) = if let What::Permuted = case.what {
            let (_, permute) = (self.copy(bytes), "check_permute");
            let lanes = (e.unit * word / 16) as u32;
            let seconds = self.median(|bench| {
                let (kernel, stream) = (bench.function(permute), &bench.stream);
                let units = (e.len() / e.unit) as u64;
                let [rows, mid, cols] = [e.rows, e.mid, e.cols].map(|extent| extent as u64);
                // SAFETY: both buffers are as long as the super-elements.
                unsafe { launch!(kernel<<<132 * 8, 256, 0, stream>>>(data, other, units, rows, mid, cols, lanes)) }
                    .expect("launches");
            });
            (permute.to_owned(), seconds, 0)
        } else {
            let call = match self.call(case) {
                Ok(call) => call,
                Err(why) => {
                    println!("  {name}: {why}");
                    return format!(
                        "{name},{},{},{},{},{},{word},{why},,,,,,\n",
                        e.batch, e.rows, e.mid, e.cols, e.unit
                    );
                }
            };
            let kernel = call.kernel();
            let work = Work { calls: vec![call], bytes, alignment: 16 };
            let prepared = self.bench.prepare(work).expect("loads");
            self.bench.fill(data, e.len(), word);
            run(&prepared, &self.bench, data, bytes, &self.workspace).expect("launches");
            let wrong = self.bench.wrong(data, e, word).0;
            *cases_wrong += usize::from(wrong > 0);
            let workspace = &self.workspace;
            let seconds = self
                .median(|bench| run(&prepared, bench, data, bytes, workspace).expect("launches"));
            (kernel, seconds, wrong)
        };
        let copy = self.copy(bytes);
        let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
        let (gb, copy_gb, percent) = (rate(seconds), rate(copy), 100.0 * copy / seconds);
        println!(
            "  {name:38} {:5}*{:>6}x{:<4}x{:>6},u{:<5} w{word:<2} {kernel:34} {gb:6.0} {percent:6.1}% {wrong}",
            e.batch, e.rows, e.mid, e.cols, e.unit
        );
        format!(
            "{name},{},{},{},{},{},{word},{kernel},{:.1},{seconds:.7},{gb:.0},{copy_gb:.0},{percent:.1},{wrong}\n",
            e.batch,
            e.rows,
            e.mid,
            e.cols,
            e.unit,
            bytes as f64 / 1e6
        )
    }
}
