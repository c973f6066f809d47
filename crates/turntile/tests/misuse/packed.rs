use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C, packed)]
struct Cell {
    flag: u8,
    rho: f32,
}

#[derive(Record, Clone, Copy)]
#[repr(packed(2), C)]
struct Other {
    rho: f32,
}

fn main() {}
