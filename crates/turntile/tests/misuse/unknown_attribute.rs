use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[record(packed)]
#[repr(C)]
struct Cell {
    rho: f32,
}

fn main() {}
