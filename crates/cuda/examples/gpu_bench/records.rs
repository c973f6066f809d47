//! Times the planner's choices for records between AoS, tiles and columns. Each result is compared
//! first.

use turntile_cuda::Work;
use turntile_perm::{LayoutChange, RecordSchema};
use turntile_plan::{Planner, Problem};

use crate::common::{memory, run};
use crate::out_of_place::Table;
use crate::timing::Timer;

pub const ALL: [(&str, Table); 1] = [("records", records)];

/// Widths of fields in words, bytes of a word, number of records, records of the longer tile.
const SHAPES: [(&[usize], usize, usize, usize); 14] = [
    (&[1; 3], 4, 49_999_991, 32),
    (&[1; 5], 4, 49_999_991, 32),
    (&[1; 5], 4, 50_000_000, 32),
    (&[1; 8], 4, 39_999_983, 32),
    (&[1; 8], 4, 39_999_983, 128),
    (&[1; 19], 4, 9_999_991, 32),
    (&[1; 6], 8, 19_999_999, 32),
    (&[3, 1, 2], 4, 39_999_983, 32),
    (&[2, 1, 3], 8, 19_999_999, 32),
    (&[4, 12, 1, 8], 1, 39_999_983, 32),
    (&[4, 12, 1, 8], 1, 39_999_983, 128),
    (&[4, 12, 1, 7, 8], 1, 39_999_983, 32),
    (&[8, 2, 2, 4], 1, 49_999_991, 32),
    (&[1, 1, 1, 1], 1, 200_000_033, 128),
];

const HEADER: &str = "fields,word_bytes,records,from,to,way,kernel,workspace_bytes,megabytes,seconds,gb_per_s,copy_gb_per_s,\
                      percent_of_copy,wrong_elements\n";

fn records(timer: &mut Timer, bad: &mut usize) -> String {
    let mut csv = String::from(HEADER);
    for (widths, elem, records, tile) in SHAPES {
        let fields = RecordSchema::new(records, widths).expect("counted");
        for (from, to) in
            [(1, tile), (tile, 1), (1, records), (records, 1), (tile, records), (records, tile)]
        {
            csv += &row(timer, bad, LayoutChange::new(fields.clone(), from, to), elem);
        }
    }
    csv
}

fn row(timer: &mut Timer, bad: &mut usize, retile: LayoutChange, elem: usize) -> String {
    let (problem, fields) =
        (Problem::for_records(retile.clone(), elem).expect("counted"), retile.schema());
    let plan =
        Planner::new(timer.bench.gpu.device().clone()).plan(&problem).expect("there is a way");
    let work = Work::of_plan(&plan).expect("has kernels");
    let kernels = work.calls().iter().map(|call| call.kernel()).collect::<Vec<_>>().join(" ");
    let (bytes, workspace_bytes) = (problem.bytes(), work.workspace_bytes());
    let prepared = timer.bench.prepare(work).expect("loads");
    let (copy, data) = (timer.copy(bytes), timer.addresses().0);
    let workspace = memory(workspace_bytes.max(1));
    timer.bench.fill(data, fields.len(), elem);
    run(&prepared, &timer.bench, data, bytes, &workspace).expect("launches");
    let wrong = timer.bench.wrong_records(data, &retile, elem).0;
    *bad += usize::from(wrong > 0);
    let seconds = timer.median(|bench| {
        run(&prepared, bench, data, bytes, &workspace).expect("launches");
    });
    let rate = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
    let percent = 100.0 * copy / seconds;
    let way = plan.stages().map(|stage| stage.implementation.name()).collect::<Vec<_>>().join(" ");
    println!("  {problem:60} {kernels:30} {:6.0} {percent:6.1}% {wrong}", rate(seconds));
    let fields_shown = fields.widths().map(|width| width.to_string()).collect::<Vec<_>>().join("+");
    format!(
        "{fields_shown},{elem},{},{},{},{way},{kernels},{workspace_bytes},{:.1},{seconds:.7},{:.0},{:.0},{percent:.1},{wrong}\n",
        fields.records(),
        retile.from(),
        retile.to(),
        bytes as f64 / 1e6,
        rate(seconds),
        rate(copy),
    )
}
