use turntile::layout::Record;

#[derive(Record)]
#[repr(C)]
struct Cell {
    rho: f32,
}

fn main() {}
