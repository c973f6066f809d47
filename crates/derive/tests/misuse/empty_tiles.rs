use turntile::layout::{Record, Records};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    mass: f32,
}

fn main() {
    let cells = Records::from(vec![Cell { rho: 1.0, mass: 2.0 }]);
    let _ = cells.into_asta::<0>();
}
