use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    nothing: [f32; 0],
}

fn main() {}
