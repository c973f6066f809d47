use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C)]
enum Kind {
    Wall,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
union Either {
    a: u8,
    b: i8,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Tuple(f32, f32);

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Unit;

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Empty {}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Any<T> {
    value: T,
}

fn main() {}
