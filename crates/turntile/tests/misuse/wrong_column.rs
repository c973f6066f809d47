use turntile::layout::{Record, Records};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    mass: f32,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Other {
    rho: f32,
}

fn main() -> Result<(), turntile::Error> {
    let cells = Records::from(vec![Cell { rho: 1.0, mass: 2.0 }]).into_soa()?;
    cells.column(Other::RHO);
    let _: &[f64] = cells.column(Cell::RHO);
    cells.column(Cell::WEIGHT);
    Ok(())
}
