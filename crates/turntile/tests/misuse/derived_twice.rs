use turntile::layout::Record;

#[derive(Record, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Cell {
    rho: f32,
}

fn main() {}
