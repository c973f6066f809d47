//! Random test cases of measured plans, stored in a wisdom file and reused.

use std::fs;
use std::time::Duration;

use turntile::error::Reason;
use turntile::plan::Effort;
use turntile::plan::{Route, WisdomError};
use turntile::{ErrorKind, RawElements, Transpose};

use crate::about;
use crate::draw::Draw;
use crate::naive;

pub fn draw(draw: &mut Draw) -> &'static str {
    let [rows, cols] = draw.sides(if cfg!(miri) { 40 } else { 4000 });
    let elem_bytes = draw.of(&[1, 2, 4, 8, 12]);
    let route = draw.maybe(2, |draw| draw.of(&[Route::ONE_STAGE, Route::ALIGNED_SLOTS]));
    about(format_args!("wisdom of {rows} x {cols} of {elem_bytes} by {route:?}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wisdom.json");
    let of = || Transpose::new::<u8>(rows, cols).itemsize(elem_bytes).threads(1).wisdom(&file);
    let by = |route: Option<Route>| match route {
        Some(route) => of().route(route),
        None => of(),
    };
    let error = of().plan().unwrap_err();
    let nothing = matches!(error.reason(), Reason::Wisdom(WisdomError::Io { .. }));
    assert!(nothing && !file.exists(), "a file that is not there");
    let measured = match by(route).effort(Effort::Measure(Duration::ZERO)).plan() {
        Ok(measured) => measured,
        Err(error) => {
            assert!(error.kind() == ErrorKind::NoPlan && route.is_some(), "{error}");
            return "no route";
        }
    };
    let remembered = fs::read(&file).unwrap();
    let again = by(route).plan().unwrap();
    assert_eq!(again.plan().phases, measured.plan().phases, "not what was measured");
    assert!(again.rejected_wisdom().is_none(), "{:?}", again.rejected_wisdom());
    if route.is_some() {
        // A plan measured for a requested route is not used without that request.
        let best = Transpose::new::<u8>(rows, cols).itemsize(elem_bytes).threads(1).plan().unwrap();
        assert_eq!(of().plan().unwrap().plan().phases, best.plan().phases);
    }
    let before = naive::numbered(rows * cols, elem_bytes);
    let mut data = before.clone();
    again.run(&mut RawElements(&mut data)).unwrap();
    assert!(data == naive::transposed(&before, 1, rows, cols, elem_bytes), "{again:#}");
    // A truncated wisdom file gives an error and is unchanged.
    let cut = draw.below(remembered.len().max(2) - 1) + 1;
    fs::write(&file, &remembered[..cut]).unwrap();
    let damaged = by(route).plan().unwrap_err();
    assert_eq!(damaged.kind(), ErrorKind::Wisdom, "{cut} bytes of wisdom");
    assert_eq!(fs::read(&file).unwrap(), &remembered[..cut]);
    "ran"
}
