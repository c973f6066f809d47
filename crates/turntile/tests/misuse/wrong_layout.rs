use turntile::layout::{Aos, Record, Records, Soa};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    mass: f32,
}

fn main() -> Result<(), turntile::Error> {
    let cells = Records::from(vec![Cell { rho: 1.0, mass: 2.0 }]);
    cells.column(Cell::RHO);
    let cells = cells.into_asta::<32>()?;
    // In tiles, a column of all records is not a slice.
    cells.column(Cell::RHO);
    let _: Records<Cell, Aos> = cells.into_soa()?;
    let cells: Records<Cell, Soa> = Records::from(vec![Cell { rho: 1.0, mass: 2.0 }]);
    let _: Vec<Cell> = cells.into();
    Ok(())
}
