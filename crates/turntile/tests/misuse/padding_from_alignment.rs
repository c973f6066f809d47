use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C, align(16))]
struct Cell {
    rho: f32,
}

fn main() {}
