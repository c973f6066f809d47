use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    flag: u8,
}

fn main() {}
