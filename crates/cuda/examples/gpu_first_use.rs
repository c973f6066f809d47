//! Times the first use of a GPU in a process, from process start to the first result, and the
//! loading of every family's code.
//!
//! `gpu_first_use [DIR]` prints the times, and writes DIR/first_use.csv and
//! DIR/loading_machine.csv. Each line is from a separate process: with machine code or PTX, and
//! with the driver's cache of compiled code off, or on and filled. Every result is compared element
//! by element after it is timed.
#![allow(missing_docs)]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use turntile_cuda::family::Family;
use turntile_cuda::{Gpu, Stopwatch};
use turntile_plan::{Planner, Problem};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Rows, columns and bytes of an element: every default route, and the slowest code to compile.
const CASES: [[usize; 3]; 10] = [
    [7200, 1800, 4],
    [7200, 1800, 1],
    [5100, 2500, 2],
    [16384, 16384, 4],
    [19968, 12032, 4],
    [16381, 20011, 4],
    [16381, 20011, 1],
    [10_000_000, 3, 4],
    [10_000_000, 19, 8],
    [64, 48, 4],
];

/// Code that a process loads, and the environment that switches off the driver's cache of compiled
/// code, or leaves it on.
const CODES: [(&str, &[(&str, &str)]); 4] = [
    ("machine", &[("CUDA_CACHE_DISABLE", "1")]),
    ("machine,cached", &[]),
    ("ptx", &[("CUDA_CACHE_DISABLE", "1")]),
    ("ptx,cached", &[]),
];

/// Opens the GPU with the code named `code`.
fn open(code: &str) -> Answer<Gpu> {
    Ok(if code.starts_with("ptx") { Gpu::primary_with_ptx(0)? } else { Gpu::primary(0)? })
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Transposes once in this process. Prints the time of each part, and whether the result is right.
fn child(start: Instant, code: &str, [rows, cols, elem_bytes]: [usize; 3]) -> Answer<()> {
    let gpu = open(code)?;
    let opened = milliseconds(start);
    let part = Instant::now();
    let problem = Problem::new(rows, cols, elem_bytes)?;
    let plan = Planner::new(gpu.device().clone()).plan(&problem)?;
    let planned = milliseconds(part);
    let part = Instant::now();
    let prepared = gpu.prepare(&plan)?;
    let loaded = milliseconds(part);
    let mut stopwatch = Stopwatch::new(&gpu, plan.problem.bytes())?;
    let part = Instant::now();
    stopwatch.time(&prepared)?;
    let ran = milliseconds(part);
    let route = plan.route();
    println!("{route},{opened:.1},{planned:.1},{loaded:.1},{ran:.1}");
    std::io::stdout().flush()?;
    println!("{}", stopwatch.wrong_elements(&problem, &prepared)?);
    Ok(())
}

/// Loads every family's code in this process.
fn child_families(code: &str) -> Answer<()> {
    let gpu = open(code)?;
    for family in Family::ALL {
        for word in [1, 2, 4, 8, 16] {
            let start = Instant::now();
            gpu.load_family(family, word)?;
            println!("{}.w{word},{:.1}", family.name(), milliseconds(start));
        }
    }
    Ok(())
}

fn command(arguments: &[String], code: &[(&str, &str)], cache: &Path) -> Answer<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments).envs(code.iter().copied()).env("CUDA_CACHE_PATH", cache);
    Ok(command)
}

/// Returns one line: the child's output, and the time from its start to that output.
fn first_use(case: [usize; 3], name: &str, code: &[(&str, &str)], cache: &Path) -> Answer<String> {
    let arguments: Vec<_> =
        ["child".into(), name.into()].into_iter().chain(case.map(|n| n.to_string())).collect();
    let start = Instant::now();
    let mut child = command(&arguments, code, cache)?.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let parts = lines.next().ok_or("the child says nothing")??;
    let whole = milliseconds(start);
    let wrong = lines.next().ok_or("the child says no result")??;
    if !child.wait()?.success() || wrong != "0" {
        return Err(format!("{case:?}: {wrong} elements wrong").into());
    }
    Ok(format!("{parts},{whole:.1}"))
}

fn main() -> Answer<()> {
    let start = Instant::now();
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("child") => {
            let number = |at: usize| -> Answer<usize> {
                Ok(arguments.get(at).ok_or("child CODE ROWS COLS BYTES")?.parse()?)
            };
            return child(start, &arguments[1], [number(2)?, number(3)?, number(4)?]);
        }
        Some("families") => return child_families(&arguments[1]),
        _ => {}
    }
    let cache = env::temp_dir().join(format!("gpu-first-use-{}", std::process::id()));
    fs::create_dir_all(&cache)?;
    let mut uses = String::from(
        "rows,cols,elem_bytes,code,cache,route,context_ms,plan_ms,load_ms,run_ms,process_ms\n",
    );
    for case in CASES {
        for (name, code) in CODES {
            let cached = name.ends_with("cached");
            if cached {
                // Fill the cache.
                first_use(case, name, code, &cache)?;
            }
            let (code_name, cached) = (name.trim_end_matches(",cached"), u8::from(cached));
            let [rows, cols, bytes] = case;
            let parts = first_use(case, name, code, &cache)?;
            uses += &format!("{rows},{cols},{bytes},{code_name},{cached},{parts}\n");
        }
    }
    print!("{uses}");
    let mut loading = String::from("module,code,milliseconds\n");
    for (name, code) in CODES.into_iter().filter(|(name, _)| !name.ends_with("cached")) {
        // Without eager loading, the driver may defer loading until a kernel is first used.
        let mut child = command(&["families".into(), name.into()], code, &cache)?;
        let output = child.env("CUDA_MODULE_LOADING", "EAGER").output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        for line in String::from_utf8(output.stdout)?.lines() {
            let (module, time) = line.split_once(',').ok_or("a line of the child")?;
            loading += &format!("{module},{name},{time}\n");
        }
    }
    print!("{loading}");
    if let Some(folder) = arguments.first() {
        fs::create_dir_all(folder)?;
        fs::write(Path::new(folder).join("first_use.csv"), uses)?;
        fs::write(Path::new(folder).join("loading_machine.csv"), loading)?;
    }
    fs::remove_dir_all(cache)?;
    Ok(())
}
