//! Launches of the lab's kernels against their device code, without a GPU: what they name, and where they put every byte.

#[path = "../../cuda/tests/follow/offsets.rs"]
mod offsets;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use offsets::offsets;
use turntile::layout::RecordOrder;
use turntile_cuda::GpuDevice;
use turntile_lab::applications::{Application, LAYOUTS};
use turntile_lab::code::Code;
use turntile_lab::error::KernelError;
use turntile_lab::flags::FlagLayout;
use turntile_lab::gaussian::{self, Between};
use turntile_lab::grids::{Cube, Stencil};
use turntile_lab::ladder::{self, Rung};
use turntile_lab::moved::{self, Held};
use turntile_lab::params::Params;
use turntile_lab::program::{Launch, Program, Step};
use turntile_lab::steering::Field;
use turntile_lab::turned::TurnedTiles;
use turntile_perm::Elementary;
use turntile_plan::StageMap;

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
    let ptx = launch.code.ptx().to_str().unwrap();
    let declared = format!("{}_param_0[{}]", launch.entry, launch.params.bytes().len());
    assert!(ptx.contains(&declared), "no {declared}");
    assert!(launch.code.entries().any(|name| name == launch.entry), "{launch:?}");
    assert!((1..=1024).contains(&launch.threads) && launch.groups > 0, "{launch:?}");
}

/// All that there is: no entry point of the ladder is left over.
#[test]
fn every_rung_is_in_the_device_code() {
    let mut met: Vec<&str> = Vec::new();
    for (.., program) in rungs(1000, 777) {
        let launch = launch(&program);
        check(&launch);
        met.push(launch.entry);
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
    let Params::Ladder(a) = &launch.params else { panic!("{launch:?}") };
    let mut numbers = launch.entry.rsplitn(3, '_');
    let mut number = || numbers.next().expect("T and R").parse::<usize>().expect("a number");
    let (block_rows, tile) = (number(), number());
    assert_eq!(launch.threads as usize, tile * block_rows);
    let name = numbers.next().expect("the rung");
    let (rows, cols, across) = (a.rows as usize, a.cols as usize, a.across.divisor as usize);
    let (r, c) = (offset / 4 / cols, offset / 4 % cols);
    let (i, j) = (r / tile, c / tile);
    let block = i * across + j;
    // Division as the device does it.
    let n = block as u32;
    let t = ((u64::from(a.across.magic) * u64::from(n)) >> 32) as u32;
    let found = t.wrapping_add(n.wrapping_sub(t) >> a.across.pre) >> a.across.post;
    let read = r < rows && j < across && block < launch.groups as usize && found as usize == i;
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
            let Params::Ladder(a) = &launch.params else { panic!("{launch:?}") };
            writeln!(
                text,
                "{} {tile} {block_rows}: {} {} x {}, rows {} cols {} across /{}",
                rung.name,
                launch.entry,
                launch.groups,
                launch.threads,
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

/// Every application of the report on every layout: no entry point is left over, and buffers are as long as what is read.
#[test]
fn every_application_is_in_the_device_code() {
    let members = [1, 2, 4, 8, 16, 32].map(|floats| Application::Members { records: 1000, floats });
    let rows = [39, 40, 59, 62, 197, 215].map(|width| Application::Ell { rows: 97, width });
    let others = [Application::Lbm { side: 9 }, Application::Options { records: 300 }];
    let mut met = BTreeSet::new();
    for application in members.into_iter().chain(rows).chain(others) {
        let state = application.start();
        for (_, layout) in LAYOUTS {
            let program = application.program(layout).unwrap();
            assert_eq!(program.buffers(), [4 * state.to.len(), 4 * state.from.len()]);
            let launch = launch(&program);
            check(&launch);
            assert!(launch.groups as usize * launch.threads as usize >= application.records().0);
            met.insert(launch.entry);
        }
    }
    for (stencil, side) in [Stencil::Lbm, Stencil::Heat, Stencil::RedBlack].map(|s| (s, 130)) {
        let cube = Cube { stencil, side };
        for lies in cube.layouts(32).unwrap() {
            let program = cube.program(&lies, lies.at.span()).unwrap();
            assert_eq!(program.buffers(), [4 * lies.at.span(); 2]);
            for step in program.steps() {
                let Step::Kernel(launch, [0, _]) = step else { panic!("{step:?}") };
                check(launch);
                assert_eq!(launch.groups as usize, side * side);
                met.insert(launch.entry);
            }
        }
    }
    assert_eq!(met, Code::Applications.entries().collect());
    assert_eq!(Application::Ell { rows: 5, width: 7 }.program(RecordOrder::Aos), None);
    assert_eq!(Application::Lbm { side: 5 }.program(RecordOrder::Asta(16)), None);
}

/// Each pass begins where the last one ended; the image is not written, and what comes out is in the second buffer.
#[test]
fn a_filter_is_four_steps() {
    let chip = GpuDevice::h200();
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

/// Where a launch puts the byte at an offset of its data, as `moved.cu` says; what it holds, it has room for.
fn moved_dest(launch: &Launch, offset: usize) -> usize {
    let word: usize = launch.entry.rsplit('_').next().unwrap().parse().unwrap_or(4);
    let (map, units, at, start) = match launch.params {
        Params::Moved(a) => {
            let (lanes, vectors) = (a.lanes as usize, a.vectors as usize);
            let workers = launch.threads as usize / lanes;
            match launch.entry.starts_with("moved_shared") {
                true => {
                    assert!(lanes <= 32 && lanes.is_power_of_two(), "{launch:?}");
                    assert_eq!(launch.shared_bytes, (workers * 2 * vectors * word) as u32);
                }
                false => assert!(workers == 1 && vectors <= lanes, "{launch:?}"),
            }
            (a.map, a.units, offset, 0)
        }
        Params::LaidOut(a) => {
            let bytes = a.instance_bytes as usize;
            let instance = offset / bytes;
            assert!(instance < a.instances as usize && instance < launch.groups as usize);
            assert_eq!(launch.shared_bytes, 4 * a.flag_words);
            (a.map, a.units, offset % bytes, instance * bytes)
        }
        other => panic!("{other:?}"),
    };
    let unit_bytes = map.unit_bytes as usize;
    let (s, within) = (at / unit_bytes, at % unit_bytes);
    assert!(s < units as usize, "{launch:?}");
    let cols = map.cols.divisor as usize;
    let to = start + (s % cols * map.rows as usize + s / cols) * unit_bytes;
    let Params::Moved(a) = &launch.params else { return to + within };
    let (rows, cols) = (a.rows as usize, a.cols as usize);
    let element = within / word;
    let turned = if rows > 1 { element % cols * rows + element / cols } else { element };
    to + turned * word + within % word
}

/// Chases stay within what they are given, by all entry points that there are.
#[test]
fn chases_have_room() {
    let field = Field { span: 1 << 33, places: 10_000, blocks: 2112 };
    let mut met = BTreeSet::new();
    for (program, buffers) in [(field.linked(9999, 2112), [0, 1]), (field.chased(4096), [2, 0])] {
        let program = program.unwrap();
        let [Step::Kernel(launch, on)] = program.steps() else { panic!("{program:?}") };
        check(launch);
        assert_eq!((*on, program.buffers()), (buffers, &[1 << 33, 40_000, 8448][..]));
        let Params::Steering(a) = launch.params else { panic!("{launch:?}") };
        // The kernel leaves what is behind `count`, and goes to no word from `words` on.
        assert_eq!(a.words, 1 << 31);
        assert!(
            launch.groups * launch.threads >= a.count
                && a.count as usize * 4 <= program.buffers()[buffers[0].max(1)]
        );
        met.insert(launch.entry);
    }
    assert_eq!(met, Code::Steering.entries().collect());
    assert_eq!(Field { span: 1 << 34, ..field }.chased(1), None);
}

/// Super-elements in every way that the product has none for, by all entry points that there are.
#[test]
fn super_elements_go_where_they_should() {
    let limits = GpuDevice::h200().limits().to_owned();
    let e = |batch, rows, cols, unit| Elementary { batch, rows, mid: 1, cols, unit };
    let mut cases: Vec<(StageMap, Vec<Step>)> = Vec::new();
    for e in [e(1, 31, 40, 3), e(1, 64, 16, 64), e(1, 5, 3, 1000), e(1, 509, 32, 8)] {
        for held in [Held::Shared, Held::Block] {
            let program = moved::program(e, 4, held, &limits).unwrap();
            assert_eq!(program.buffers()[0], e.len() * 4);
            assert!(program.buffers()[1] * 8 >= e.instance_units());
            cases.push((e.into(), program.steps().to_vec()));
        }
    }
    for (rows, cols, m, n) in [(3, 4, 5, 2), (9, 7, 1, 8), (4, 4, 16, 20), (450, 90, 16, 20)] {
        let tiles = TurnedTiles { batch: 1, rows, cols, m, n };
        let steps = moved::turned(tiles, &limits).unwrap();
        cases.push((StageMap::Axes(tiles.into()), steps.to_vec()));
    }
    let spread = FlagLayout::Spread { spreading: 32, padded: true };
    for flags in [FlagLayout::PACKED, spread, FlagLayout::Remapped] {
        let e = e(7, 16, 215, 1);
        let program = moved::on_chip(e, flags, 100, &limits).unwrap();
        cases.push((e.into(), program.steps().to_vec()));
    }
    let mut met = BTreeSet::new();
    for (shape, steps) in cases {
        let launches = steps.iter().map(|step| match step {
            Step::Kernel(launch, [0, 1]) => *launch,
            other => panic!("{other:?}"),
        });
        let launches: Vec<Launch> = launches.collect();
        launches.iter().for_each(check);
        met.extend(launches.iter().map(|launch| launch.entry));
        let launch = launches.last().unwrap();
        for offset in offsets(shape.len() * 4) {
            let want = shape.dest(offset / 4) * 4 + offset % 4;
            assert_eq!(moved_dest(launch, offset), want, "{shape}: {launch:?}");
        }
    }
    assert_eq!(met, Code::Moved.entries().collect());
    // Too long, several instances, a word that is none.
    for e in [e(1, 3, 5, 40_000), e(2, 3, 5, 4)] {
        assert_eq!(moved::program(e, 4, Held::Shared, &limits), None);
    }
    assert_eq!(moved::program(e(1, 3, 5, 5), 2, Held::Block, &limits), None);
}
