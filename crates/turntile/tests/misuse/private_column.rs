mod cells {
    #[derive(turntile::layout::Record, Clone, Copy)]
    #[repr(C)]
    pub struct Cell {
        pub rho: f32,
        mass: f32,
    }
}

fn main() {
    let _ = (cells::Cell::RHO, cells::Cell::MASS);
}
