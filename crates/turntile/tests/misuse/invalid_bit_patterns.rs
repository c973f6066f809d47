use turntile::layout::Record;

#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Wall,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Flag {
    set: bool,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Letter {
    code: char,
}

#[derive(Record, Clone, Copy)]
#[repr(C)]
struct Named {
    kind: Kind,
}

fn main() {
    let _ = Kind::Wall;
}
