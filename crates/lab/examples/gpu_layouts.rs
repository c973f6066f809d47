//! Converts records between layouts on a GPU, and compares every byte with the host's
//! conversion. Then runs the trace of section 5.5 of the thesis: tracked memory, two kernels that
//! use tiles, and a host that reads records.
//!
//! `cargo run --release --example gpu_layouts --features cuda -- [RECORDS]`
#![allow(unsafe_code)]

use turntile::RawElements;
use turntile::gpu::Gpu;
use turntile::gpu::cust::{self, prelude::*};
use turntile::layout::{RecordConversion, RecordOrder};
use turntile_lab::layout::{OnStream, Tracked};

type BoxedError = Box<dyn std::error::Error>;

fn main() -> Result<(), BoxedError> {
    let records = std::env::args().nth(1).map_or(Ok(1_000_003), |text| text.parse())?;
    let _context = cust::quick_init()?;
    let gpu = Gpu::current()?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let mut wrong = 0;
    let packed = RecordConversion::new(records, &[4, 12, 1, 8]);
    let with_gaps =
        RecordConversion::by_offsets(records, 32, &[(24, 8), (0, 4), (4, 12), (16, 1)])?;
    for record in [packed, with_gaps] {
        wrong += check_conversions(&gpu, &stream, &record, records)?;
    }
    wrong += trace(&gpu, &stream)?;
    println!("{wrong} wrong");
    std::process::exit(i32::from(wrong > 0));
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|k| (k.wrapping_mul(2_654_435_761) >> 7) as u8).collect()
}

/// Returns the records in a layout, converted on the host.
fn in_layout(
    record: &RecordConversion,
    layout: RecordOrder,
    aos: &[u8],
) -> Result<Vec<u8>, BoxedError> {
    let mut data = aos.to_vec();
    let plan = record.clone().from(RecordOrder::Aos).to(layout).plan()?;
    plan.run(&mut RawElements(&mut data[..]))?;
    Ok(data)
}

/// Converts from every layout to every other, and returns the number of wrong results.
fn check_conversions(
    gpu: &Gpu,
    stream: &Stream,
    record: &RecordConversion,
    records: usize,
) -> Result<usize, BoxedError> {
    let host = bytes(records * record.record_bytes());
    let layouts =
        [RecordOrder::Aos, RecordOrder::Soa, RecordOrder::Asta(32), RecordOrder::Asta(128)];
    let mut wrong = 0;
    let all = layouts.into_iter().flat_map(|from| layouts.map(|to| (from, to)));
    for (from, to) in all.filter(|(from, to)| from != to) {
        let mut memory = DeviceBuffer::from_slice(&in_layout(record, from, &host)?)?;
        let ready = record.clone().from(from).to(to).plan_on(gpu)?.with_own_workspace()?;
        // SAFETY: memory and stream belong to the GPU's context. They and `ready` live until the
        // stream is done.
        unsafe { ready.run(&mut memory, stream)? };
        stream.synchronize()?;
        let differs = memory.as_host_vec()? != in_layout(record, to, &host)?;
        println!("{} {}", if differs { "WRONG" } else { "right" }, ready.plan());
        wrong += usize::from(differs);
    }
    Ok(wrong)
}

/// Runs a trace on 1024 items: two launches with tiles, further layouts, and a read. Returns the
/// number of wrong results.
fn trace(gpu: &Gpu, stream: &Stream) -> Result<usize, BoxedError> {
    let items = RecordConversion::new(1024, &[4, 4, 4]);
    let host = bytes(1024 * items.record_bytes());
    let mut memory = DeviceBuffer::from_slice(&host)?;
    let asta = RecordOrder::Asta(32);
    // SAFETY: memory and stream belong to the GPU's context and outlive `f`. The memory is only
    // read when the stream is done.
    let mut f = Tracked::new(unsafe { OnStream::new(gpu, &mut memory, stream.as_inner().cast()) });
    let mut wrong = 0;
    let events = [(asta, 1), (asta, 1), (RecordOrder::Soa, 2), (RecordOrder::Aos, 3), (asta, 4)];
    for (layout, marshals) in events {
        f.bind(&items, layout)?;
        stream.synchronize()?;
        let bytes_on_gpu = memory.as_host_vec()?;
        let right = bytes_on_gpu == in_layout(&items, layout, &host)? && f.marshals() == marshals;
        println!(
            "{} bound as {layout}, {marshals} conversions",
            if right { "right" } else { "WRONG" }
        );
        wrong += usize::from(!right);
    }
    f.read()?;
    stream.synchronize()?;
    let right = memory.as_host_vec()? == host && f.marshals() == 5 && f.layout().is_none();
    println!("{} read, 5 conversions", if right { "right" } else { "WRONG" });
    Ok(wrong + usize::from(!right))
}
