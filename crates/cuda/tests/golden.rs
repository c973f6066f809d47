//! Launches as committed: kernel, geometry, workspace and each field of the parameters, or the
//! reason for having no kernel. The files are samples: per test, the first launch of every kernel,
//! and every reason. Other tests follow launches to check where each byte is moved.
//!
//! With `TURNTILE_BLESS=1` the files are written and not compared. Review the changes then.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, iter};

use turntile_cuda::LowerError;
use turntile_cuda::args::{Args, Factor, Layout, PARTS};
use turntile_cuda::launch::CheckedLaunch;
use turntile_cuda::lower::{TargetParams, lower};
use turntile_cuda::strategy::{Scope, Strategy};
use turntile_cuda::sync::BlockSync;
use turntile_perm::{AlignedSlots, PitchedRows, RowSlide};
use turntile_plan::StageMap;

use crate::cases::{
    AXES_ELSEWHERE, BLOCK, DIRECTIONS, OLD, alignments, at, axes, elsewhere, shapes, swap, turned,
    ways,
};

/// Appends the fields of a structure with these bytes. Omits addresses, which are set later. A
/// divisor shows only its value, which determines its other fields.
fn show_fields(text: &mut String, layout: &Layout, bytes: &[u8]) {
    let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    for field in layout.fields.iter().filter(|field| field.kind != "*") {
        let (at, name) = (field.offset, field.name);
        match field.kind {
            "u32" => write!(text, " {name} {}", u32_at(at)),
            "u64" => write!(text, " {name} {}", u64_at(at)),
            "Divisor<u32>" => write!(text, " {name} /{}", u32_at(at)),
            "Divisor<u64>" => write!(text, " {name} /{}", u64_at(at)),
            "Factor" if bytes[at..at + Factor::LAYOUT.bytes].iter().all(|&byte| byte == 0) => {
                Ok(())
            }
            kind => {
                let (kind, count) = kind.strip_suffix(']').map_or((kind, None), |kind| {
                    let (kind, count) = kind.split_once('[').expect("an array");
                    (kind, Some(count.parse().expect("a number")))
                });
                let part = PARTS.iter().find(|part| part.name == kind).expect("a part");
                // Omit the zero entries at the end.
                let mut said = bytes[at..].iter().take(count.unwrap_or(1) * part.bytes);
                let said =
                    said.rposition(|&byte| byte != 0).map_or(1, |last| last / part.bytes + 1);
                for number in 0..count.unwrap_or(1).min(said) {
                    let number_shown = count.map(|_: usize| number.to_string()).unwrap_or_default();
                    write!(text, " {name}{number_shown} (").unwrap();
                    show_fields(text, part, &bytes[at + number * part.bytes..][..part.bytes]);
                    text.push_str(" )");
                }
                Ok(())
            }
        }
        .unwrap();
    }
}

fn show_args(text: &mut String, args: &Args) {
    let layout = args.layout();
    write!(text, "        {}:", layout.name).unwrap();
    show_fields(text, &layout, args.bytes());
    text.push('\n');
}

fn show(text: &mut String, what: &str, answer: Result<Vec<CheckedLaunch>, LowerError>) {
    match answer {
        Err(why) => writeln!(text, "{what}: {why}").unwrap(),
        Ok(calls) => {
            writeln!(text, "{what}:").unwrap();
            for call in calls {
                let (kernel, groups, threads) = (call.kernel(), call.groups, call.threads);
                write!(text, "    {kernel} {groups} x {threads}, {} on chip", call.shared_bytes)
                    .unwrap();
                match call.sync() {
                    BlockSync::Grid => text.push_str(", cooperative"),
                    BlockSync::Cluster => write!(text, ", clusters of {}", call.cluster).unwrap(),
                    BlockSync::None | BlockSync::Earlier => {}
                }
                writeln!(text, ", {:?}", call.workspace).unwrap();
                show_args(text, &call.params);
            }
        }
    }
}

/// Returns the stages, with launches, that have a kernel or reason not met before. Ignores numbers
/// within reasons.
fn sample(text: &str) -> String {
    let is_part = |line: &&str| line.starts_with("    ");
    let (mut met, mut kept) = (BTreeSet::new(), String::new());
    let mut lines = text.lines().peekable();
    while let Some(head) = lines.next() {
        let launches: Vec<&str> = iter::from_fn(|| lines.next_if(is_part)).collect();
        let reason = head.split_once(": ").map(|(_, why)| why);
        let kernels = launches.iter().filter(|line| !line.starts_with("        "));
        let kernels = kernels.map(|line| line.trim().split(' ').next().unwrap_or_default().into());
        let reason = reason.map(|why| why.replace(|c: char| c.is_ascii_digit(), ""));
        let whats = kernels.chain(reason);
        // Not `any`, so that every item is inserted.
        if whats.filter(|what| met.insert(what.clone())).count() > 0 {
            let entry = iter::once(head).chain(launches);
            kept.extend(entry.flat_map(|line| [line, "\n"]));
        }
    }
    kept
}

/// Compares a sample of `text` with the file `name`, or writes the file.
fn golden(name: &str, text: &str) {
    let text = &sample(text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("TURNTILE_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    for (k, (now, then)) in text.lines().zip(committed.lines()).enumerate() {
        assert_eq!(now, then, "line {} of {name}; TURNTILE_BLESS=1 writes it anew", k + 1);
    }
    let [now, then] = [text, &committed].map(|text| text.lines().count());
    assert_eq!(now, then, "lines of {name}; TURNTILE_BLESS=1 writes it anew");
}

/// Shows a shape by all `ways`, for elements of `elems` bytes, aligned to the element and to 16
/// bytes.
fn stages(text: &mut String, shape: StageMap, ways: &[Strategy], elems: &[usize]) {
    for &way in ways {
        for &elem in elems {
            let mut before = None;
            for alignment in alignments(elem) {
                let answer = lower(&shape, way, at(elem, alignment));
                if before.as_ref() != Some(&answer) {
                    let what = format!("{shape} {way}, {elem} bytes at {alignment}");
                    show(text, &what, answer.clone());
                }
                before = Some(answer);
            }
        }
    }
}

/// Every form of stage by every strategy: its kernel, or the reason for having none.
#[test]
fn every_way_of_every_shape() {
    let mut text = String::new();
    let step_by_step = |way: &Strategy| matches!(way, Strategy::Rounds { .. });
    for shape in shapes() {
        // Hundreds of launches per stage: `slots_and_padding` has smaller ones.
        let slide = matches!(shape, StageMap::Slide(_));
        let by = ways(&[7]).into_iter().filter(|way| !(slide && step_by_step(way)));
        stages(&mut text, shape, &by.collect::<Vec<_>>(), &[4]);
    }
    golden("methods.txt", &text);
}

/// Sizes at which the launch changes: words, alignment, tiles, bytes on chip, 2^31 super-elements.
#[test]
fn boundaries() {
    let mut text = String::new();
    let words = [1, 2, 4, 8, 16, 12];
    for side in [16, 32, 64, 128, 100] {
        let tiles = [16, 32, 64, 128].map(|tile| Strategy::TileSwap { tile });
        stages(&mut text, swap([3, side, 1, side, 1]), &tiles, &words);
        stages(&mut text, swap([2, side, 3, side, 1]), &[BLOCK], &words);
    }
    for (side, elem) in [(3841, 1), (1921, 2), (1985, 4), (16384, 4), (23000, 4), (993, 8)] {
        stages(
            &mut text,
            swap([1, side, 2, side, 1]),
            &[64, 128].map(|tile| Strategy::TileSwap { tile }),
            &[elem],
        );
    }
    // Sides that differ, two words per element, a middle axis of 2: not for tile-swap.
    let tile = [Strategy::TileSwap { tile: 32 }];
    for extents in [[1, 32, 1, 64, 1], [1, 32, 1, 32, 2], [1, 32, 2, 32, 1]] {
        stages(&mut text, swap(extents), &tile, &[4]);
    }
    for extents in
        [[50, 64, 1, 48, 1], [7, 9, 1, 5, 1], [7, 9, 1, 5, 3], [2, 9, 3, 5, 1], [1, 4, 1, 320, 1]]
    {
        stages(&mut text, swap(extents), &[BLOCK], &words);
    }
    // Narrow words move 4 bytes at a time if rows, columns or both are whole 4-byte words.
    let wide = [Scope::Cluster(4), Scope::Grid].map(Strategy::Barrier);
    for (rows, cols) in [(131, 256), (256, 131), (256, 300), (131, 257)] {
        stages(&mut text, swap([1, rows, 1, cols, 1]), &wide, &[1, 2]);
    }
    // A block has at most 232 448 bytes of shared memory.
    for cols in [240, 241, 242, 243, 250] {
        stages(&mut text, swap([1, 240, 1, cols, 1]), &[BLOCK], &[1, 4]);
    }
    let global = [Strategy::Moves];
    for units in [(1usize << 31) - 1, 1 << 31, (1 << 31) + 1] {
        stages(&mut text, swap([1, 3, 1, units / 3, 1]), &global, &[4]);
        stages(&mut text, swap([1, 1, 1, units, 1]), &global, &[4]);
        stages(&mut text, swap([1, 1, 1, units, 1]), &[Strategy::PerCycle], &[4]);
    }
    for unit in [1, 4, 16, 32, 33, 64, 128, 129, 1000] {
        stages(&mut text, swap([2, 10, 1, 30, unit]), &global, &[4]);
    }
    stages(&mut text, swap([2, 10, 1, 30, 3]), &[Strategy::OnChipMoves { threads: 128 }], &[2, 4]);
    // Limits: 2^32 elements less twice the rows of the matrix, and 2^31 slots.
    for (rows, cols, slot) in [(1 << 16, 65_533, 64), (1 << 16, 65_534, 64), (70_000, 70_000, 2)] {
        let slots = AlignedSlots::new(rows, cols, slot, slot).unwrap();
        for direction in DIRECTIONS {
            let shape = StageMap::SlotMove { batch: 2, slots, direction };
            let by = [Strategy::Moves, Strategy::PerCycle];
            stages(&mut text, shape, &by, &[4]);
        }
    }
    golden("boundaries.txt", &text);
}

/// Orders of axes without a simpler form: on chip in rows by 16 and by 4 bytes, padded or not, and
/// as one run; along cycles, with either index width and storage; and orders without a kernel.
#[test]
fn axes_in_any_order() {
    let mut text = String::new();
    let words = [1, 2, 4, 8, 16, 3, 12];
    for (extents, order) in [
        (&[3, 16, 8, 12, 20][..], &[0, 4, 2, 3, 1][..]),
        (&[5, 7, 9, 11], &[2, 0, 3, 1]),
        (&[100, 2, 3, 2, 3, 4], &[0, 3, 1, 4, 2, 5]),
        (&[900, 6, 12, 64], &[0, 3, 2, 1]),
    ] {
        stages(&mut text, axes(extents, order), &[BLOCK], &words);
    }
    // A block has at most 232 448 bytes of shared memory. Rows are padded only below that.
    for last in [56, 57, 58] {
        stages(&mut text, axes(&[8, 16, 8, last], &[2, 0, 3, 1]), &[BLOCK], &[4]);
        stages(&mut text, axes(&[8, 16, 8, last - 1], &[2, 3, 1, 0]), &[BLOCK], &[4]);
    }
    // Eight axes, also with several words per element.
    let eight = axes(&[2, 3, 2, 3, 2, 3, 2, 3], &[6, 1, 4, 7, 2, 5, 0, 3]);
    let by = [BLOCK, Strategy::Moves, Strategy::PerCycle];
    stages(&mut text, eight, &by, &[4, 12]);
    for unit in [1, 32, 33, 128, 129, 1000, 40_000] {
        stages(&mut text, axes(&[5, 6, 7, 8, unit], &[3, 1, 0, 2, 4]), &by[1..], &[4]);
    }
    for first in [(1 << 9) - 1, 1 << 9] {
        let many = axes(&[first, 1 << 6, 1 << 8, 1 << 8], &[2, 0, 3, 1]);
        stages(&mut text, many, &by[1..], &[4]);
    }
    // Tiles too long to be transposed in the same pass.
    stages(&mut text, turned(2, [5, 6], [300, 200]), &by[1..], &[4]);
    golden("axes.txt", &text);
}

#[test]
fn slots_and_padding() {
    let mut text = String::new();
    let teams = [1, 3].map(|blocks| Strategy::Teams { groups: 7, blocks });
    for direction in DIRECTIONS {
        let slots = AlignedSlots::new(97, 33, 16, 32).unwrap();
        let by_rows = AlignedSlots::by_rows(97, 33, 16).unwrap();
        for slots in [slots, by_rows] {
            let shape = StageMap::SlotGather { batch: 2, slots, direction };
            stages(
                &mut text,
                shape,
                &[Strategy::Runs { groups: 7 }, teams[0], teams[1]],
                &[1, 4, 12],
            );
        }
        let shape = StageMap::SlotMove { batch: 2, slots, direction };
        stages(&mut text, shape, &[Strategy::PerCycle], &[1, 12]);
        let by = [
            Strategy::Rounds { least: 2 },
            Strategy::Rounds { least: 1000 },
            Strategy::Blocks { block: 48_384 },
            Strategy::Blocks { block: 400_000 },
            Strategy::Blocks { block: 16 },
        ];
        let [from, to] = if direction == DIRECTIONS[0] { [100, 103] } else { [103, 100] };
        let slide = RowSlide::new(37, 100, from, to).unwrap();
        stages(&mut text, StageMap::Slide(slide), &by, &[4]);
        let rows = PitchedRows::new(37, 100, 103).unwrap();
        stages(&mut text, StageMap::Cut { rows, direction }, &by, &[4]);
    }
    golden("slots.txt", &text);
}

/// Launches that a device with fewer features has, and reasons for having none.
#[test]
fn a_device_of_old() {
    let mut text = String::new();
    let slots = AlignedSlots::new(97, 33, 16, 32).unwrap();
    let direction = DIRECTIONS[0];
    let gather = StageMap::SlotGather { batch: 2, slots, direction };
    for shape in
        [swap([1, 100, 1, 90, 1]), swap([1, 200, 1, 90, 1]), swap([1, 10, 1, 90, 5000]), gather]
    {
        for way in ways(&[7]) {
            let at = TargetParams { elem_bytes: 4, alignment: 16, limits: &OLD };
            let answer = lower(&shape, way, at);
            show(&mut text, &format!("{shape} {way}, 4 bytes at 16"), answer);
        }
    }
    golden("old.txt", &text);
}

#[test]
fn from_one_place_to_another() {
    let mut text = String::new();
    for (batch, rows, cols) in [
        (1, 1000, 777),
        (9, 64, 48),
        (1, 128, 4096),
        (1, 61, 10_000),
        (1, 10_000, 3),
        (1, 1, 1 << 42),
    ] {
        for elem in [1, 2, 4, 8, 16, 12, 40] {
            for alignment in alignments(elem) {
                // A swath has 32 rows of tiles for `Lines`, else one.
                let [_, lines, ..] = elsewhere(32);
                let [micro, _, band, stack, units] = elsewhere(1);
                let shape = swap([batch, rows, 1, cols, 1]);
                let by = [micro, lines, band, stack, units];
                for way in by {
                    let answer = lower(&shape, way, at(elem, alignment));
                    let what = format!("{batch}*{rows}x{cols} {way}, {elem} bytes at {alignment}");
                    show(&mut text, &what, answer);
                }
            }
        }
    }
    golden("into.txt", &text);
}

/// Axes in any order: out of place, and in place over clusters and the grid.
#[test]
fn axes_by_tiles() {
    let mut text = String::new();
    let wide = [Scope::Cluster(8), Scope::Cluster(16), Scope::Grid].map(Strategy::Barrier);
    for (extents, order) in [
        (&[128, 96, 160, 144][..], &[3, 2, 1, 0][..]),
        (&[509, 641, 1021], &[2, 1, 0]),
        (&[100, 40, 6, 50, 8], &[0, 3, 2, 1, 4]),
        (&[40, 48, 28, 44], &[3, 1, 0, 2]),
    ] {
        let shape = axes(extents, order);
        for elem in [1, 4] {
            for alignment in alignments(elem) {
                for way in AXES_ELSEWHERE.into_iter().chain(wide) {
                    let answer = lower(&shape, way, at(elem, alignment));
                    show(&mut text, &format!("{shape} {way}, {elem} bytes at {alignment}"), answer);
                }
            }
        }
    }
    golden("tiled.txt", &text);
}
