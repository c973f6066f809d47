use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    flag: u8,
    rho: f32,
}

fn main() {}
