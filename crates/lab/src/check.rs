//! `turntile-lab check`: the lab's kernels on a GPU, element by element, on small and ragged shapes.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use turntile::gpu::Gpu;
use turntile::layout::RecordOrder;
use turntile_perm::Elementary;
use turntile_plan::Problem;

use crate::applications::{Application, LAYOUTS, State};
use crate::command::GpuArgs;
use crate::flags::FlagLayout;
use crate::gaussian::{self, Between};
use crate::grids::{Cube, Stencil, convert};
use crate::ladder::{self, RUNGS, Rung};
use crate::moved::{self as movers, Held};
use crate::program::Program;
use crate::samples::{difference, image, load, moved};
use crate::steering::Field;
use crate::watch::Watch;

/// Device memory that the cases take.
const BYTES: usize = 256 << 20;

/// Runs every case, and says what was found.
///
/// # Errors
/// The driver's errors; an error where one case or more is not as it should be.
pub fn run(args: &GpuArgs) -> Result<String> {
    let mut watch = Watch::new(&Gpu::primary(args.gpu)?, BYTES)?;
    let (mut text, mut wrong) = (String::new(), 0);
    rungs(&mut watch, &mut text, &mut wrong)?;
    moves(&mut watch, &mut text, &mut wrong)?;
    filters(&mut watch, &mut text, &mut wrong)?;
    applications(&mut watch, &mut text, &mut wrong)?;
    chases(&mut watch, &mut text, &mut wrong)?;
    ensure!(wrong == 0, "{text}{wrong} cases are wrong");
    Ok(text + "all right")
}

/// Every rung with every tile and block rows.
fn rungs(watch: &mut Watch, text: &mut String, wrong: &mut usize) -> Result<()> {
    let (mut count, before) = (0, *wrong);
    for rung in &RUNGS {
        for (tile, block_rows) in rung.sizes() {
            for (rows, cols) in
                [(1, 1), (5, 3), (64, 96), (97, 131), (1, 777), (777, 1), (999, 1001)]
            {
                let program = ladder::program(rung, tile, block_rows, rows, cols)?;
                let mut ready = watch.load(&program)?;
                // What the case before left would look right.
                ready.put(0, &vec![0; 4 * rows * cols])?;
                let elements = ready.wrong(&moved(rung.transposes(), rows, cols)?)?;
                count += 1;
                if elements > 0 {
                    *wrong += 1;
                    let name = rung.name;
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "{name} {tile} x {block_rows}, {rows} x {cols}: {elements} wrong"
                    );
                }
            }
        }
    }
    let _ = writeln!(text, "ladder: {count} runs, {} wrong", *wrong - before);
    Ok(())
}

/// Super-elements along cycles: through shared memory, by blocks, and single elements with each layout of flags on chip.
fn moves(watch: &mut Watch, text: &mut String, wrong: &mut usize) -> Result<()> {
    let (mut count, before) = (0, *wrong);
    let limits = *watch.gpu().device().limits();
    let layouts = [
        FlagLayout::Spread { spreading: 1, padded: false },
        FlagLayout::Spread { spreading: 32, padded: true },
        FlagLayout::Remapped,
    ];
    for (batch, rows, cols, unit) in [
        (1, 1, 1, 4),
        (1, 5, 3, 1),
        (1, 64, 96, 32),
        (1, 97, 131, 5),
        (1, 7, 777, 100),
        (9, 31, 50, 1),
    ] {
        let e = Elementary { batch, rows, mid: 1, cols, unit };
        let problem = Problem::permuted(&[batch, rows, cols, unit], &[0, 2, 1, 3], 4)?;
        let held = [Held::Shared, Held::Block].map(|held| movers::program(e, 4, held, &limits));
        let on_chip = layouts.map(|layout| movers::on_chip(e, layout, 256, &limits));
        for program in held.into_iter().chain(on_chip).flatten() {
            let elements = watch.load(&program)?.wrong(&problem)?;
            count += 1;
            if elements > 0 {
                *wrong += 1;
                let _ = writeln!(text, "moved {e:?}: {elements} wrong");
            }
        }
    }
    let _ = writeln!(text, "moved: {count} runs, {} wrong", *wrong - before);
    Ok(())
}

/// Applications on every layout, and grids.
fn applications(watch: &mut Watch, text: &mut String, wrong: &mut usize) -> Result<()> {
    for application in [
        Application::Members { records: 1001, floats: 8 },
        Application::Lbm { side: 13 },
        Application::Options { records: 999 },
        Application::Ell { rows: 1003, width: 39 },
    ] {
        let mut host = application.start();
        application.step(&mut host, RecordOrder::Aos);
        let mut all = Vec::new();
        for (_, layout) in LAYOUTS {
            let mut state = application.start();
            application.arrange(&mut state, layout)?;
            let program = application.program(layout).context("a kernel")?;
            stepped(watch, &program, &mut state)?;
            application.gather(&mut state.to, layout)?;
            all.push(state.to);
        }
        *wrong += alike(text, &format!("{application:?}"), &host.to, &all);
    }
    for (stencil, side) in [
        (Stencil::Lbm, 72),
        (Stencil::Heat, 72),
        (Stencil::Heat, 130),
        (Stencil::RedBlack, 130),
        (Stencil::RedBlack, 194),
    ] {
        let cube = Cube { stencil, side };
        let layouts = cube.layouts(32)?;
        let (rows, span) = (&layouts[0], layouts.iter().map(|lies| lies.at.span()).max());
        let mut host = cube.start(cube.len());
        cube.step(&mut host, rows);
        let mut all = Vec::new();
        for lies in &layouts {
            let mut state = cube.start(span.unwrap_or(0));
            convert(&mut state.from, &rows.at, &lies.at, 1)?;
            let program = cube.program(lies, state.to.len()).context("a kernel")?;
            stepped(watch, &program, &mut state)?;
            convert(&mut state.to, &lies.at, &rows.at, 1)?;
            state.to.truncate(cube.len());
            all.push(state.to);
        }
        *wrong += alike(text, &format!("{cube:?}"), &host.to, &all);
    }
    Ok(())
}

fn stepped(watch: &mut Watch, program: &Program, state: &mut State) -> Result<()> {
    let mut ready = load(watch, program, state)?;
    ready.time()?;
    Ok(ready.take(0, bytemuck::cast_slice_mut(&mut state.to))?)
}

/// Near what the host has, which rounds otherwise, and equal bit by bit on all layouts; else 1.
fn alike(text: &mut String, what: &str, host: &[f32], all: &[Vec<f32>]) -> usize {
    let bits = |one: &[f32]| one.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let same = all.iter().all(|one| bits(one) == bits(&all[0]));
    let apart = |(a, b): (&f32, &f32)| (a - b).abs() / b.abs().max(1.0);
    let near = |worst, one: &Vec<f32>| one.iter().zip(host).map(apart).fold(worst, f32::max);
    let worst = all.iter().fold(0.0, near);
    let words = if same { "alike" } else { "not alike" };
    let _ = writeln!(text, "{what}: {words} on all layouts, differs from a host's by {worst:e}");
    usize::from(!same || !worst.is_finite() || worst >= 1e-4)
}

/// Places linked and chased: where every block ends.
fn chases(watch: &mut Watch, text: &mut String, wrong: &mut usize) -> Result<()> {
    let (field, blocks) = (Field { span: 1 << 20, places: 1000, blocks: 7 }, 7);
    // Each word once, in an order of no pattern.
    let places: Vec<u32> = (0..1000).map(|k| k * 7919 % (1 << 18)).collect();
    let before = *wrong;
    for (count, ahead, steps) in [(1000, 1, 50), (994, 7, 142), (7, 0, 3), (1000, 7, 0)] {
        let programs = field.linked(count, ahead).zip(field.chased(steps));
        let (linked, chased) = programs.context("places that 32 bits count")?;
        let mut ready = watch.load(&linked)?;
        ready.put(1, bytemuck::cast_slice(&places))?;
        ready.time()?;
        let mut ready = watch.load(&chased)?;
        ready.put(2, bytemuck::cast_slice(&places[..blocks]))?;
        ready.time()?;
        let mut ends = vec![0u32; blocks];
        ready.take(2, bytemuck::cast_slice_mut(&mut ends))?;
        let right = (0..blocks).all(|k| ends[k] == places[(k + ahead * steps) % count]);
        *wrong += usize::from(!right);
    }
    let _ = writeln!(text, "steering: 4 runs, {} wrong", *wrong - before);
    Ok(())
}

/// The filter against the host's.
fn filters(watch: &mut Watch, text: &mut String, wrong: &mut usize) -> Result<()> {
    let rung = |name| Between::Ladder(Rung::named(name).expect("is one"), 32, 8);
    let ways = [
        ("padded", rung("padded")),
        ("parallel-write", rung("parallel-write")),
        ("default", Between::Default),
        ("in place", Between::InPlace),
    ];
    for (rows, cols, sigma) in [
        (1, 1, 1.0),
        (7, 5, 2.0),
        (64, 48, 4.0),
        (333, 257, 10.0),
        (1024, 768, 30.0),
        (1, 100, 3.0),
    ] {
        let image = image(rows, cols);
        let want = gaussian::on_host(&image, rows, cols, sigma);
        for (name, between) in ways {
            let program = gaussian::program(rows, cols, sigma, between, watch.gpu().device())?;
            let worst = difference(&mut watch.load(&program)?, &image, &want)?;
            let _ = writeln!(
                text,
                "filter {rows} x {cols}, sigma {sigma}, {name}: differs by {worst:e}"
            );
            *wrong += usize::from(worst >= 1e-3);
        }
    }
    Ok(())
}
