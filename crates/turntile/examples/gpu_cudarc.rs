//! Transposes a matrix in place on the GPU, in memory and on a stream of the crate cudarc, and checks every element.
//!
//! `cargo run --release --example gpu_cudarc --features cudarc-0-19 -- [ROWS COLS]`
#![allow(unsafe_code)]

use cudarc::driver::CudaContext;
use turntile::Transpose;
use turntile::gpu::Gpu;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sides: Vec<usize> =
        std::env::args().skip(1).map(|side| side.parse()).collect::<Result<_, _>>()?;
    let (rows, cols) = if let [rows, cols] = sides[..] { (rows, cols) } else { (16_381, 20_011) };
    let elements = rows.checked_mul(cols).ok_or("the number of elements overflows")?;

    // Both crates use the device's primary context.
    let stream = CudaContext::new(0)?.new_stream()?;
    let gpu = Gpu::primary(0)?;
    // The values repeat after 2^32 elements.
    let before: Vec<u32> = (0..elements).map(|k| k as u32).collect();
    let mut matrix = stream.clone_htod(&before)?;

    let ready = Transpose::new::<u32>(rows, cols).plan_on(&gpu)?.with_own_workspace()?;
    println!("{}", ready.plan());
    // SAFETY: matrix and stream belong to the GPU's primary context, only this stream uses the matrix, and `ready` lives
    // until the stream is done.
    unsafe { ready.run(&mut matrix, &*stream)? };
    let after = stream.clone_dtoh(&matrix)?;
    stream.synchronize()?;

    let wrong = (0..elements).filter(|&k| after[k] != before[k % rows * cols + k / rows]).count();
    println!("{wrong} of {elements} elements wrong");
    std::process::exit(i32::from(wrong > 0));
}
