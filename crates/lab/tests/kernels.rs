//! Launches of the lab's kernels against their device code, without a GPU: what they name, and where they put every byte.

#[path = "../../cuda/tests/follow/offsets.rs"]
mod offsets;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use offsets::offsets;
use turntile_cuda::Chip;
use turntile_lab::code::Code;
use turntile_lab::error::KernelError;
use turntile_lab::gaussian::{self, Between};
use turntile_lab::ladder::{self, Rung};
use turntile_lab::params::Params;
use turntile_lab::program::{Launch, Program, Step};

/// The one launch of a program on buffers `[destination, source]`.
fn launch(program: &Program) -> Launch {
    let [Step::Kernel(launch, [0, 1])] = program.steps() else { panic!("{program:?}") };
    *launch
}

/// Every rung with every tile and block rows, on a matrix.
fn rungs(rows: usize, cols: usize) -> impl Iterator<Item = (&'static Rung, usize, usize, Program)> {
    let program = move |rung: &'static Rung, (tile, block_rows)| {
        let program = ladder::program(rung, tile, block_rows, rows, cols).unwrap();
        (rung, tile, block_rows, program)
    };
    ladder::RUNGS.iter().flat_map(move |rung| rung.sizes().map(move |size| program(rung, size)))
}

/// The entry point exists, its parameter is as long as what is passed, and the geometry is possible.
fn check(launch: &Launch) {
    let ptx = launch.code().ptx().to_str().unwrap();
    let declared = format!("{}_param_0[{}]", launch.entry(), launch.params().bytes().len());
    assert!(ptx.contains(&declared), "no {declared}");
    assert!(launch.code().entries().any(|name| name == launch.entry()), "{launch:?}");
    assert!((1..=1024).contains(&launch.threads()) && launch.groups() > 0, "{launch:?}");
}

/// All that there is: no entry point of the ladder is left over.
#[test]
fn every_rung_is_in_the_device_code() {
    let mut met: Vec<&str> = Vec::new();
    for (.., program) in rungs(1000, 777) {
        let launch = launch(&program);
        check(&launch);
        met.push(launch.entry());
    }
    let mut all: Vec<&str> = Code::Ladder.entries().collect();
    met.sort_unstable();
    all.sort_unstable();
    assert_eq!(met, all);
}

#[test]
fn what_there_is_no_kernel_for_is_refused() {
    let padded = Rung::named("padded").unwrap();
    let refused = ladder::program(padded, 33, 8, 10, 10);
    let none = KernelError::NoVariant { what: "padded".into(), tile: 33, block_rows: 8 };
    assert_eq!(refused, Err(none));
    assert!(ladder::program(padded, 8, 8, 1 << 31, 1 << 31).is_err());
    assert!(ladder::program(padded, 8, 8, (1 << 31) - 1, (1 << 31) - 1).is_err());
    assert_eq!(ladder::program(padded, 8, 8, 0, 5).unwrap().steps(), []);
}

/// Where a launch puts the byte at an offset of its source, as `ladder.cu` says; `None` for one that it leaves.
fn dest(launch: &Launch, offset: usize) -> Option<usize> {
    let Params::Ladder(a) = *launch.params() else { panic!("{launch:?}") };
    let mut numbers = launch.entry().rsplitn(3, '_');
    let mut number = || numbers.next().expect("T and R").parse::<usize>().expect("a number");
    let (block_rows, tile) = (number(), number());
    assert_eq!(launch.threads() as usize, tile * block_rows);
    let name = numbers.next().expect("the rung");
    let (rows, cols, across) = (a.rows as usize, a.cols as usize, a.across.divisor as usize);
    let (r, c) = (offset / 4 / cols, offset / 4 % cols);
    let (i, j) = (r / tile, c / tile);
    let block = i * across + j;
    // Division as the device does it.
    let n = block as u32;
    let t = ((u64::from(a.across.magic) * u64::from(n)) >> 32) as u32;
    let found = t.wrapping_add(n.wrapping_sub(t) >> a.across.pre) >> a.across.post;
    let read = r < rows && j < across && block < launch.groups() as usize && found as usize == i;
    let copies = ["ladder_copy", "ladder_copy_shared"].contains(&name);
    let to = if copies { offset } else { (c * rows + r) * 4 + offset % 4 };
    read.then_some(to)
}

#[test]
fn every_rung_puts_every_byte_where_it_says() {
    for (rows, cols) in [(1, 1), (100, 37), (1000, 777)] {
        for (rung, .., program) in rungs(rows, cols) {
            let launch = launch(&program);
            assert_eq!(program.buffers(), [4 * rows * cols; 2]);
            for offset in offsets(4 * rows * cols) {
                let (element, byte) = (offset / 4, offset % 4);
                let turned = (element % cols * rows + element / cols) * 4 + byte;
                let want = if rung.transposes() { turned } else { offset };
                assert_eq!(dest(&launch, offset), Some(want), "{launch:?}");
            }
        }
    }
}

/// As they were committed. With `TURNTILE_BLESS=1` the file is written and not compared.
#[test]
fn launches_are_the_committed_ones() {
    let mut text = String::new();
    for rung in &ladder::RUNGS {
        for (tile, block_rows) in rung.sizes().step_by(5) {
            let launch = launch(&ladder::program(rung, tile, block_rows, 100, 77).unwrap());
            let Params::Ladder(a) = launch.params() else { panic!("{launch:?}") };
            writeln!(
                text,
                "{} {tile} {block_rows}: {} {} x {}, rows {} cols {} across /{}",
                rung.name,
                launch.entry(),
                launch.groups(),
                launch.threads(),
                a.rows,
                a.cols,
                a.across.divisor
            )
            .unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ladder.txt");
    if env::var_os("TURNTILE_BLESS").is_some() {
        return fs::write(path, text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(path).unwrap(), "TURNTILE_BLESS=1 writes it anew");
}

/// Each pass begins where the last one ended; the image is not written, and what comes out is in the second buffer.
#[test]
fn a_filter_is_four_steps() {
    let chip = Chip::h200();
    let padded = Between::Ladder(Rung::named("padded").unwrap(), 32, 8);
    let (rows, cols) = (333, 257);
    let bytes = 4 * rows * cols;
    for between in [Between::Nothing, padded, Between::Default, Between::InPlace] {
        let program = gaussian::program(rows, cols, 10.0, between, &chip).unwrap();
        let steps = if between == Between::Nothing { 2 } else { 4 };
        assert_eq!(program.steps().len(), steps, "{between:?}");
        let [image, filtered, scratch, workspace] = program.buffers() else { panic!("four") };
        assert_eq!([image, filtered, scratch], [&bytes; 3]);
        assert!(*workspace == 0 || between == Between::InPlace, "{between:?}");
        let mut at = 0;
        for step in program.steps() {
            at = match step {
                Step::Kernel(launch, [to, from]) => {
                    check(launch);
                    assert_eq!(*from, at, "{between:?}");
                    *to
                }
                Step::Work(work, [to, from]) if work.is_out_of_place() => {
                    assert_eq!((*from, work.bytes()), (at, bytes), "{between:?}");
                    *to
                }
                Step::Work(work, [data, 3]) => {
                    assert_eq!((*data, work.bytes()), (at, bytes), "{between:?}");
                    *data
                }
                step => panic!("{step:?}"),
            };
            assert_ne!(at, 0, "{between:?}: the image is written");
        }
        assert_eq!(at, 1, "{between:?}");
    }
    assert_eq!(gaussian::program(0, 5, 1.0, padded, &chip).unwrap().steps(), []);
}
