use turntile::layout::Record;

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Static {
    name: &'static str,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Lent<'a> {
    rho: &'a f32,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Pointer {
    next: *const u8,
}

fn main() {}
