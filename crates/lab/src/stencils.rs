//! Steps on a periodic cube of cells, over where they lie: D3Q19, heat by Jacobi, red-black Gauss-Seidel.
//!
//! `at([z, y, x], q)` is where value `q` of a cell lies, in words.

/// A direction in which a share of a cell moves.
pub struct Velocity {
    by: [i8; 3],
    /// What a cell at rest has of it.
    pub weight: f32,
}

const fn velocity(x: i8, y: i8, z: i8) -> Velocity {
    let weight = match x.abs() + y.abs() + z.abs() {
        0 => 1.0 / 3.0,
        1 => 1.0 / 18.0,
        _ => 1.0 / 36.0,
    };
    Velocity { by: [x, y, z], weight }
}

/// D3Q19, in the order of the columns.
pub const VELOCITIES: [Velocity; 19] = [
    velocity(0, 0, 0),
    velocity(1, 0, 0),
    velocity(-1, 0, 0),
    velocity(0, 1, 0),
    velocity(0, -1, 0),
    velocity(0, 0, 1),
    velocity(0, 0, -1),
    velocity(1, 1, 0),
    velocity(-1, -1, 0),
    velocity(1, -1, 0),
    velocity(-1, 1, 0),
    velocity(1, 0, 1),
    velocity(-1, 0, -1),
    velocity(1, 0, -1),
    velocity(-1, 0, 1),
    velocity(0, 1, 1),
    velocity(0, -1, -1),
    velocity(0, 1, -1),
    velocity(0, -1, 1),
];

/// How fast cells relax.
const OMEGA: f32 = 1.2;

/// Every cell, of each row from a place on, so many apart.
fn each(
    side: usize,
    first: impl Fn(usize) -> usize,
    apart: usize,
    mut run: impl FnMut([usize; 3]),
) {
    for (z, y) in (0..side).flat_map(|z| (0..side).map(move |y| (z, y))) {
        for x in (first(z + y)..side).step_by(apart) {
            run([z, y, x]);
        }
    }
}

/// Where what moves so comes from, around the edge.
fn shifted(at: usize, by: i8, side: usize) -> usize {
    match by {
        0 => at,
        1 if at == 0 => side - 1,
        1 => at - 1,
        _ if at + 1 == side => 0,
        _ => at + 1,
    }
}

/// Cells pull from their neighbours and relax.
pub fn relax(to: &mut [f32], from: &[f32], side: usize, at: impl Fn([usize; 3], usize) -> usize) {
    each(
        side,
        |_| 0,
        1,
        |here @ [z, y, x]| {
            let mut cell = [0.0; VELOCITIES.len()];
            let (mut rho, mut flow) = (0.0, [0.0f32; 3]);
            for (q, Velocity { by, .. }) in VELOCITIES.iter().enumerate() {
                let there = [(z, by[2]), (y, by[1]), (x, by[0])];
                cell[q] = from[at(there.map(|(at, by)| shifted(at, by, side)), q)];
                rho += cell[q];
                (0..3).for_each(|axis| flow[axis] += f32::from(by[axis]) * cell[q]);
            }
            let u = flow.map(|flow| flow / rho);
            let square = 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
            for (q, Velocity { by, weight }) in VELOCITIES.iter().enumerate() {
                let along =
                    f32::from(by[0]) * u[0] + f32::from(by[1]) * u[1] + f32::from(by[2]) * u[2];
                let settled = weight * rho * (1.0 + 3.0 * along + 4.5 * along * along - square);
                to[at(here, q)] = cell[q] + OMEGA * (settled - cell[q]);
            }
        },
    );
}

/// Of the six neighbours.
fn around(
    from: &[f32],
    side: usize,
    at: impl Fn([usize; 3], usize) -> usize,
    [z, y, x]: [usize; 3],
) -> f32 {
    let s = |at, by| shifted(at, by, side);
    from[at([s(z, 1), y, x], 0)]
        + from[at([s(z, -1), y, x], 0)]
        + from[at([z, s(y, 1), x], 0)]
        + from[at([z, s(y, -1), x], 0)]
        + from[at([z, y, s(x, 1)], 0)]
        + from[at([z, y, s(x, -1)], 0)]
}

/// Heat flows between neighbours.
pub fn heat(to: &mut [f32], from: &[f32], side: usize, at: impl Fn([usize; 3], usize) -> usize) {
    each(
        side,
        |_| 0,
        1,
        |cell| {
            let own = from[at(cell, 0)];
            to[at(cell, 0)] = own + 0.125 * (around(from, side, &at, cell) - 6.0 * own);
        },
    );
}

/// Red cells become the mean of their black neighbours as they were, then black cells of red ones as they are. Sides are even.
pub fn red_black(
    to: &mut [f32],
    from: &[f32],
    side: usize,
    at: impl Fn([usize; 3], usize) -> usize,
) {
    let mean = |all: &[f32], cell| around(all, side, &at, cell) * (1.0 / 6.0);
    each(side, |row| row % 2, 2, |cell| to[at(cell, 0)] = mean(from, cell));
    each(side, |row| (row + 1) % 2, 2, |cell| to[at(cell, 0)] = mean(to, cell));
}
