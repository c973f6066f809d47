//! Transposes a matrix with two prime sides in place on the GPU, and checks the result.
//!
//! `cargo run --release --example gpu --features cuda -- [ROWS COLS]`
#![allow(unsafe_code)]

use std::time::Instant;

use turntile::Transpose;
use turntile::gpu::Gpu;
use turntile::gpu::cust::{self, prelude::*};
use turntile::plan::Effort;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sides: Vec<usize> =
        std::env::args().skip(1).map(|side| side.parse()).collect::<Result<_, _>>()?;
    let (rows, cols) = if let [rows, cols] = sides[..] { (rows, cols) } else { (16_381, 20_011) };

    let _context = cust::quick_init()?;
    let gpu = Gpu::current()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let elements = rows.checked_mul(cols).ok_or("the number of elements overflows")?;
    // The values repeat after 2^32 elements.
    let before: Vec<u32> = (0..elements).map(|k| k as u32).collect();
    let mut matrix = DeviceBuffer::from_slice(&before)?;

    let started = Instant::now();
    let planned = Transpose::new::<u32>(rows, cols).plan_on(&gpu)?;
    println!("{}\nplanned and loaded in {:?}", planned.plan(), started.elapsed());
    let ready = planned.with_own_workspace()?;
    // SAFETY: matrix and stream belong to the GPU's context, nothing else uses the matrix until the
    // stream is done, and `ready` lives until then.
    unsafe { ready.run(&mut matrix, &stream)? };
    stream.synchronize()?;

    let mut after = vec![0u32; elements];
    matrix.copy_to(&mut after)?;
    let wrong = (0..elements).filter(|&k| after[k] != before[k % rows * cols + k / rows]).count();
    println!("{wrong} of {elements} elements wrong");

    // Transpose the result back into another buffer, which must then hold the original matrix.
    let into = Transpose::new::<u32>(cols, rows).out_of_place().plan_on(&gpu)?;
    println!("{}", into.plan());
    let mut other = DeviceBuffer::from_slice(&before)?;
    // SAFETY: as above, for both buffers and `into`.
    unsafe { into.run(&matrix, &mut other, &stream)? };
    stream.synchronize()?;
    other.copy_to(&mut after)?;
    let wrong_in_other = (0..elements).filter(|&k| after[k] != before[k]).count();
    println!("{wrong_in_other} of {elements} elements wrong in the other buffer");
    drop((matrix, other));

    let budget = std::time::Duration::from_secs(2);
    let tuned = Transpose::new::<u32>(rows, cols).tiles(turntile::plan::TileRule::Exhaustive);
    for measured in tuned.tune_on(&gpu, budget)?.iter().take(5) {
        let rate = 8.0 * elements as f64 / measured.time.as_secs_f64() / 1e9;
        println!("{rate:7.0} GB/s, {:7.0} estimated: {}", measured.plan.gb_per_s(), measured.plan);
    }
    let measured_plan =
        Transpose::new::<u32>(rows, cols).effort(Effort::Measure(budget)).plan_on(&gpu)?;
    println!("measured while planning: {}", measured_plan.plan());
    std::process::exit(i32::from(wrong + wrong_in_other > 0));
}
