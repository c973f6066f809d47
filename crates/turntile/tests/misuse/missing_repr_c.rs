use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
struct Cell {
    rho: f32,
}

#[derive(Record, Clone, Copy)]
#[repr(align(4))]
struct Aligned {
    rho: f32,
}

fn main() {}
