//! Random test cases of typed records, converted between layouts.

use turntile::layout::bytemuck::{bytes_of, cast_slice_mut};
use turntile::layout::{Aos, Record, Records};

use crate::about;
use crate::draw::Draw;

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Cell {
    flag: u8,
    pad: [u8; 3],
    rho: f32,
    u: [f32; 3],
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Odd {
    a: [u8; 2],
    b: [u16; 3],
    c: u8,
    d: i8,
}

#[derive(Record, Clone, Copy, Debug)]
#[repr(C)]
struct Wide {
    tag: u64,
    values: [u64; 9],
}

pub fn draw(draw: &mut Draw) -> &'static str {
    match draw.below(3) {
        0 => of::<Cell>(draw),
        1 => of::<Odd>(draw),
        _ => of::<Wide>(draw),
    }
}

fn of<R: Record>(draw: &mut Draw) -> &'static str {
    let count = if cfg!(miri) { draw.below(9) } else { draw.below(700) };
    let (by, turns) = (draw.below(6), draw.within(1..=3));
    about(format_args!("{count} records of {}, {by}", std::any::type_name::<R>()));
    let mut all = vec![R::zeroed(); count];
    cast_slice_mut::<R, u8>(&mut all).iter_mut().for_each(|byte| *byte = draw.next() as u8);
    let same = |got: Option<R>, want: &R| {
        assert_eq!(got.as_ref().map(bytes_of), Some(bytes_of(want)));
    };
    let mut records: Records<R, Aos> = Records::from(all.clone());
    let address = records.as_ptr();
    for _ in 0..turns {
        records = match by {
            0 => records.into_asta::<1>().unwrap().into_aos().unwrap(),
            1 => {
                let tiles = records.into_asta::<8>().unwrap();
                all.iter().enumerate().for_each(|(k, want)| same(tiles.get(k), want));
                tiles.into_soa().unwrap().into_aos().unwrap()
            }
            2 => {
                let tiles = records.into_asta::<7>().unwrap().into_asta::<32>().unwrap();
                all.iter().enumerate().for_each(|(k, want)| same(tiles.get(k), want));
                tiles.into_aos().unwrap()
            }
            3 => records.into_soa().unwrap().into_asta::<100>().unwrap().into_aos().unwrap(),
            _ => {
                let columns = records.into_soa().unwrap();
                all.iter().enumerate().for_each(|(k, want)| same(columns.get(k), want));
                columns.into_aos().unwrap()
            }
        };
        let got = records.iter().map(bytes_of);
        assert!(got.eq(all.iter().map(bytes_of)), "not as before");
    }
    assert_eq!(records.as_ptr(), address, "not in place");
    "ran"
}
