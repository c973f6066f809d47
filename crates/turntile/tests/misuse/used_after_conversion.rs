use turntile::layout::{Record, Records};

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Cell {
    rho: f32,
    mass: f32,
}

fn main() -> Result<(), turntile::Error> {
    let cells = Records::from(vec![Cell { rho: 1.0, mass: 2.0 }]);
    let columns = cells.into_soa()?;
    println!("{}", cells[0].rho);
    let rho = columns.column(Cell::RHO);
    columns.into_aos()?;
    println!("{rho:?}");
    Ok(())
}
