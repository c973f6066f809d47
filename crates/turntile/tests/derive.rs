//! Uses the derive in a module that forbids unsafe code and denies warnings.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

use turntile::layout::{Record, Records};

/// Record that is also a field of another record.
#[derive(Record, Clone, Copy, Debug)]
#[repr(C, align(4))]
pub struct Point {
    x: f32,
    /// Public field with a raw identifier.
    pub r#type: i32,
}

impl Point {
    /// Method with the name of a field.
    pub fn x(&self) -> f32 {
        self.x
    }
}

#[derive(Record, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[record(pod)]
#[repr(C)]
struct Body {
    place: Point,
    near: [Point; 3],
    id: u64,
}

#[derive(Record, Clone, Copy)]
#[repr(transparent)]
struct One {
    only: u8,
}

#[test]
fn records_of_every_kind_are_converted() -> Result<(), Box<dyn std::error::Error>> {
    let place = Point { x: 1.0, r#type: 2 };
    let bodies = Records::from(vec![Body { place, near: [place; 3], id: 7 }; 9]).into_soa()?;
    assert_eq!(bodies.column(Body::PLACE)[8].x(), 1.0);
    assert_eq!(bodies.column(Body::NEAR)[8][2].r#type, 2);
    assert_eq!(bodies.column(Body::ID), [7; 9]);
    let _ = (Point::X, Point::TYPE, One::ONLY, One { only: 1 }.only);
    Ok(())
}
