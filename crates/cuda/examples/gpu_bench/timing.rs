//! Checks and then times one case.

use std::collections::HashMap;
use std::time::Instant;

use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::sys;
use turntile_cuda::family::Family;
use turntile_cuda::strategy::Strategy;
use turntile_cuda::{CudaError, LowerError, Work};
use turntile_perm::{Elementary, FusedAxes};
use turntile_plan::tuner::median;
use turntile_plan::{Direction, StageMap};

use crate::common::{Bench, memory, run};

pub const HEADER: &str = "case,shape,batch,rows,mid,cols,unit,word_bytes,kernel,megabytes,seconds,gb_per_s,\
                          copy_gb_per_s,percent_of_copy,wrong_elements\n";

/// Work of a case.
#[derive(Clone)]
pub enum What {
    Strategy(Strategy),
    /// Out-of-place permutation without flags, of super-elements of at most 512 bytes.
    Permuted,
}

#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub shape: StageMap,
    pub word: usize,
    pub what: What,
}

impl Case {
    /// Returns the number of wrong elements after the case has run on filled memory, or `None` if
    /// no kernel compares the shape.
    fn wrong(&self, bench: &mut Bench, data: u64) -> Option<u64> {
        let backward = |direction| match direction {
            Direction::Forward => 0,
            Direction::Backward => 2,
        };
        let (wrong, _) = match self.shape {
            StageMap::Axes(axes) => {
                let order: Vec<usize> = axes.order().collect();
                let fused = FusedAxes::new(axes.extents(), &order).ok()?;
                bench.wrong_axes(data, &fused, self.word)
            }
            StageMap::SlotGather { batch, slots, direction } => {
                bench.wrong_slots(data, (batch, &slots), backward(direction), self.word)
            }
            StageMap::SlotMove { batch, slots, direction } => {
                bench.wrong_slots(data, (batch, &slots), backward(direction) + 1, self.word)
            }
            _ => return None,
        };
        Some(wrong)
    }

    /// Returns shape and extents as CSV.
    fn extents(&self) -> String {
        let shape = self.shape.to_string().replace(',', "");
        match self.shape {
            StageMap::Axes(axes) => match axes.elementary() {
                Some(Elementary { batch, rows, mid, cols, unit }) => {
                    format!("{shape},{batch},{rows},{mid},{cols},{unit}")
                }
                None => format!("{shape},{},,,,{}", axes.batch(), axes.unit()),
            },
            StageMap::SlotGather { batch, slots, .. } | StageMap::SlotMove { batch, slots, .. } => {
                format!("{shape},{batch},{},1,{},{}", slots.rows(), slots.cols(), slots.slot())
            }
            StageMap::Cut { rows, .. } => {
                format!("{shape},1,{},1,1,{}", rows.rows(), rows.cols())
            }
            StageMap::Slide(rows) => format!("{shape},1,{},1,1,{}", rows.rows(), rows.cols()),
            _ => format!("{shape},,,,,"),
        }
    }
}

/// Number of timed runs, after two untimed runs.
const RUNS: usize = 9;
const MOST: usize = (8 << 30) + (64 << 20);

pub struct Timer {
    pub bench: Bench,
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

    /// Returns the median seconds of `work` on the stream.
    pub fn median(&self, mut work: impl FnMut(&Bench)) -> f64 {
        let [start, end] = [(); 2].map(|()| Event::new(EventFlags::DEFAULT).expect("an event"));
        let seconds: Vec<f64> = (0..RUNS + 2)
            .map(|_| {
                start.record(&self.bench.stream).expect("records");
                work(&self.bench);
                end.record(&self.bench.stream).expect("records");
                end.synchronize().expect("ends well");
                f64::from(end.elapsed_time_f32(&start).expect("both recorded")) / 1e3
            })
            .skip(2)
            .collect();
        median(&seconds)
    }

    pub fn addresses(&self) -> (u64, u64) {
        (self.data.as_device_ptr().as_raw(), self.other.as_device_ptr().as_raw())
    }

    pub fn copy(&mut self, bytes: usize) -> f64 {
        if let Some(&seconds) = self.copies.get(&bytes) {
            return seconds;
        }
        let (data, other) = self.addresses();
        let seconds = self.median(|bench| {
            // SAFETY: both buffers have at least `bytes` bytes.
            let code =
                unsafe { sys::cuMemcpyDtoDAsync_v2(other, data, bytes, bench.stream.as_inner()) };
            assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
        });
        self.copies.insert(bytes, seconds);
        seconds
    }

    fn work(&self, case: &Case) -> Result<Work, String> {
        let (shape, limits) = (&case.shape, self.bench.gpu.device().limits());
        let work = match &case.what {
            What::Strategy(way) => Work::of_stage(shape, *way, case.word, 16, limits),
            What::Permuted => return Err(LowerError::NoKernel.to_string()),
        };
        work.map_err(|error| match error {
            CudaError::Infeasible { why, .. } => why.to_string(),
            other => other.to_string(),
        })
    }

    fn permuted(&self, e: Elementary, word: usize) -> f64 {
        let (data, other) = self.addresses();
        let lanes = (e.unit * word / 16) as u32;
        let units = (e.len() / e.unit) as u64;
        let [rows, mid, cols] = [e.rows, e.mid, e.cols].map(|extent| extent as u64);
        self.median(|bench| {
            let (kernel, stream) = (bench.function("check_permute"), &bench.stream);
            // SAFETY: both buffers are as long as all super-elements.
            unsafe { launch!(kernel<<<132 * 8, 256, 0, stream>>>(data, other, units, rows, mid, cols, lanes)) }
                .expect("launches");
        })
    }

    /// Returns the milliseconds to load each module's PTX, as CSV.
    pub fn loading() -> String {
        let mut csv = String::from("module,bytes,milliseconds\n");
        for family in Family::ALL {
            for word in [1, 2, 4, 8, 16] {
                let ptx = family.ptx(word).trim_end_matches('\0');
                let start = Instant::now();
                let module = Module::from_ptx(ptx, &[]).expect("the driver takes PTX 8.4");
                let milliseconds = start.elapsed().as_secs_f64() * 1e3;
                drop(module);
                println!("  {}.w{word} {milliseconds:.1} ms", family.name());
                csv.push_str(&format!(
                    "{}.w{word},{},{milliseconds:.1}\n",
                    family.name(),
                    ptx.len()
                ));
            }
        }
        csv
    }

    /// Returns the case's line of CSV, and prints a short form.
    pub fn row(&mut self, case: &Case, cases_wrong: &mut usize) -> String {
        let (name, word, bytes) = (&case.name, case.word, case.shape.len() * case.word);
        let copy = self.copy(bytes);
        let (kernel, seconds, wrong) = match (&case.what, case.shape.elementary()) {
            (What::Permuted, Some(e)) => ("check_permute".to_owned(), self.permuted(e, word), 0),
            _ => {
                let work = match self.work(case) {
                    Ok(work) => work,
                    Err(why) => {
                        println!("  {name:38} {}: {why}", case.shape);
                        return format!(
                            "{name},{},{word},{},,,,,,\n",
                            case.extents(),
                            why.replace(',', ";")
                        );
                    }
                };
                let kernel =
                    work.calls().iter().map(|call| call.kernel()).collect::<Vec<_>>().join(" ");
                let prepared = self.bench.prepare(work).expect("loads");
                let data = self.addresses().0;
                self.bench.fill(data, case.shape.len(), word);
                run(&prepared, &self.bench, data, bytes, &self.workspace).expect("launches");
                let wrong = case.wrong(&mut self.bench, data).expect("a shape that is compared");
                *cases_wrong += usize::from(wrong > 0);
                let workspace = &self.workspace;
                let timed = |bench: &Bench| {
                    run(&prepared, bench, data, bytes, workspace).expect("launches")
                };
                (kernel, self.median(timed), wrong)
            }
        };
        let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
        let (gb, copy_gb, percent) = (rate(seconds), rate(copy), 100.0 * copy / seconds);
        println!(
            "  {name:38} {:40} w{word:<2} {kernel:34} {gb:6.0} {percent:6.1}% {wrong}",
            case.shape.to_string()
        );
        let megabytes = bytes as f64 / 1e6;
        format!(
            "{name},{},{word},{kernel},{megabytes:.1},{seconds:.7},{gb:.0},{copy_gb:.0},{percent:.1},{wrong}\n",
            case.extents()
        )
    }
}
