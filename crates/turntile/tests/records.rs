//! Tests of typed records, compared with columns that are collected record by record.

use std::fmt::Debug;

use proptest::prelude::*;
use rayon::prelude::*;
use turntile::blas::Complex;
use turntile::layout::bytemuck::{self, cast_slice};
use turntile::layout::{
    Aos, Asta, Column, LayoutError, Record, RecordConversion, RecordLayout, RecordOrder,
    RecordTile, Records, RejectedRecords, Soa,
};
use turntile::plan::{GpuDevice, Planner};

/// Record type with a check of its columns.
trait CheckColumns: Record + Debug {
    fn check_columns(tile: &RecordTile<Self>, want: &[Self]);
}

/// Defines record types, given the name of each field and of its column's constant.
macro_rules! records {
    ($($name:ident { $($field:ident $column:ident: $ty:ty),+ })+) => {$(
        #[derive(Record, Clone, Copy, Debug)]
        #[repr(C)]
        struct $name {
            $($field: $ty),+
        }

        impl CheckColumns for $name {
            fn check_columns(tile: &RecordTile<Self>, want: &[Self]) {
                assert_eq!((tile.len(), tile.is_empty()), (want.len(), want.is_empty()));
                $({
                    let collected: Vec<$ty> = want.iter().map(|record| record.$field).collect();
                    let column: &[$ty] = tile.column($name::$column);
                    assert!(cast_slice::<_, u8>(column) == cast_slice::<_, u8>(&collected), "{}", stringify!($field));
                })+
            }
        }
    )+};
}
records! {
    Cell { rho RHO: f32, u U: [f32; 3], flag FLAG: u8, pad PAD: [u8; 3] }
    Rising { a A: u8, b B: i8, c C: u16, d D: u32, e E: f64, f F: u128 }
    Odd { a A: [u8; 2], b B: [u16; 3], c C: u8, d D: i8 }
    Nested { tag TAG: u16, odd ODD: Odd, others OTHERS: [Odd; 2] }
    Bytes { only ONLY: [u8; 3] }
    Floats { r#type TYPE: f32, b B: f32, c C: f32, d D: f32, e E: f32, f F: f32 }
    Mixed { a A: [u16; 4], z Z: Complex<f64>, b B: [u32; 2] }
}

/// Records with a check of their contents.
trait CheckRecords<R: Record> {
    fn check(&mut self, want: &[R]);
}

impl<R: CheckColumns> CheckRecords<R> for Records<R, Aos> {
    fn check(&mut self, want: &[R]) {
        assert!(cast_slice::<R, u8>(self) == cast_slice::<R, u8>(want));
    }
}

impl<R: CheckColumns> CheckRecords<R> for Records<R, Soa> {
    fn check(&mut self, want: &[R]) {
        R::check_columns(self, want);
        check_single(want, |i| self.get(i));
        let Some((first, last)) = want.first().zip(want.last()) else { return };
        self.set(want.len() - 1, *first);
        assert_same(self.get(want.len() - 1), Some(first));
        self.set(want.len() - 1, *last);
        R::check_columns(self, want);
    }
}

impl<R: CheckColumns, const T: usize> CheckRecords<R> for Records<R, Asta<T>> {
    fn check(&mut self, want: &[R]) {
        let check_tile_count =
            |tiles: Self| assert_eq!(tiles.tiles().len(), want.len().div_ceil(T));
        check_tile_count(self.clone());
        let both = self.tiles().zip(want.chunks(T));
        both.for_each(|(tile, want)| R::check_columns(tile, want));
        check_single(want, |i| self.get(i));
        let Some((first, last)) = want.first().zip(want.last()) else { return };
        self.set(want.len() - 1, *first);
        assert_same(self.get(want.len() - 1), Some(first));
        self.set(want.len() - 1, *last);
        let both = self.tiles_mut().zip(want.chunks(T));
        both.for_each(|(tile, want)| R::check_columns(tile, want));
    }
}

fn check_single<R: Record>(want: &[R], got: impl Fn(usize) -> Option<R>) {
    for i in (0..want.len()).step_by(1 + want.len() / 80) {
        assert_same(got(i), want.get(i));
    }
    assert_same(got(want.len()), None);
    assert_same(got(usize::MAX), None);
}

fn assert_same<R: Record>(got: Option<R>, want: Option<&R>) {
    assert_eq!(got.as_ref().map(bytemuck::bytes_of), want.map(bytemuck::bytes_of));
}

/// Returns records with random bytes.
fn random_records<R: Record>(count: usize, seed: u32) -> Vec<R> {
    let mut records = vec![R::zeroed(); count];
    let mut next = seed;
    for byte in bytemuck::cast_slice_mut::<R, u8>(&mut records) {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (next >> 24) as u8;
    }
    records
}

type Converted<R, L, M> = Result<Records<R, M>, RejectedRecords<R, L>>;

fn convert<R: CheckColumns, L: RecordLayout + Clone, M>(
    records: &Records<R, L>,
    want: &[R],
    into: fn(Records<R, L>) -> Converted<R, L, M>,
) -> Records<R, M>
where
    M: RecordLayout,
    Records<R, M>: CheckRecords<R>,
{
    let records = records.clone();
    let address = records.as_bytes().as_ptr();
    let mut converted = into(records).unwrap();
    assert_eq!((converted.as_bytes().as_ptr(), converted.len()), (address, want.len()));
    converted.check(want);
    converted
}

fn convert_to_every_layout<R: CheckColumns, L: RecordLayout + Clone>(
    records: Records<R, L>,
    want: &[R],
) {
    convert(&records, want, Records::into_aos);
    convert(&records, want, Records::into_soa);
    convert(&records, want, Records::into_asta::<1>);
    convert(&records, want, Records::into_asta::<2>);
    convert(&records, want, Records::into_asta::<5>);
    convert(&records, want, Records::into_asta::<32>);
    convert(&records, want, Records::into_asta::<64>);
    convert(&records, want, Records::into_asta::<{ usize::MAX }>);
}

/// Checks conversions of records from every layout to every other.
fn check_all_conversions<R: CheckColumns>(want: &[R]) {
    let aos = Records::from(want.to_vec());
    convert_to_every_layout(convert(&aos, want, Records::into_soa), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<1>), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<2>), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<5>), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<32>), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<64>), want);
    convert_to_every_layout(convert(&aos, want, Records::into_asta::<{ usize::MAX }>), want);
    convert_to_every_layout(aos, want);
}

fn check_small_counts<R: CheckColumns>() {
    for count in [0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 63, 64, 65, 70] {
        check_all_conversions(&random_records::<R>(count, count as u32));
    }
}

#[test]
fn conversions_are_correct_for_small_counts() {
    check_small_counts::<Cell>();
    check_small_counts::<Rising>();
    check_small_counts::<Odd>();
    check_small_counts::<Nested>();
    check_small_counts::<Bytes>();
    check_small_counts::<Floats>();
    check_small_counts::<Mixed>();
}

#[test]
fn conversions_keep_allocation_of_vector() {
    let cells = random_records::<Cell>(1000, 1);
    let (address, capacity, before) = (cells.as_ptr(), cells.capacity(), cells.clone());
    let cells = Records::from(cells).into_soa().unwrap().into_asta::<7>().unwrap();
    let cells: Vec<Cell> = cells.into_aos().unwrap().into();
    assert_eq!((cells.as_ptr(), cells.capacity()), (address, capacity));
    assert_eq!(cast_slice::<_, u8>(&cells), cast_slice::<_, u8>(&before));
}

#[test]
fn columns_can_be_modified() {
    let before = random_records::<Floats>(70, 3);
    let mut records = Records::from(before.clone()).into_asta::<32>().unwrap();
    records.par_tiles_mut().enumerate().for_each(|(k, tile)| {
        tile.column_mut(Floats::TYPE).fill(k as f32);
        let (d, b) = tile.columns_mut((Floats::D, Floats::B));
        d.copy_from_slice(b);
        b.fill(-1.0);
        let [e, c] = tile.columns_mut([Floats::E, Floats::C]);
        e.swap_with_slice(c);
    });
    let counted = records.par_tiles().map(|tile| tile.column(Floats::TYPE).iter().sum::<f32>());
    assert_eq!(counted.sum::<f32>(), 32.0 + 2.0 * 6.0);
    let records = records.into_aos().unwrap();
    for (i, (now, was)) in records.iter().zip(&before).enumerate() {
        let want = [(i / 32) as f32, -1.0, was.e, was.b, was.c, was.f];
        assert_eq!(bytemuck::bytes_of(now), bytemuck::bytes_of(&want), "{i}");
    }
    let mut all = Records::from(before).into_soa().unwrap();
    let (a, b, c, d, e, f, ..) =
        all.columns_mut((Floats::TYPE, Floats::B, Floats::C, Floats::D, Floats::E, Floats::F));
    let addresses =
        [&a[0], &b[0], &c[0], &d[0], &e[0], &f[0]].map(|first| (&raw const *first).addr());
    assert!(
        addresses.windows(2).all(|two| two[1] == two[0] + 70 * 4),
        "not in given order: {addresses:?}"
    );
}

#[test]
#[should_panic = "each column is given once"]
fn columns_mut_panics_when_column_is_repeated() {
    let mut cells = Records::from(random_records::<Cell>(3, 1)).into_soa().unwrap();
    cells.columns_mut((Cell::RHO, Cell::FLAG, Cell::RHO));
}

/// Record type whose `Pod` is derived by bytemuck.
#[derive(Record, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[bytemuck(crate = "turntile::layout::bytemuck")]
#[record(pod)]
#[repr(C)]
struct AlreadyPod {
    a: u16,
    b: [u8; 2],
}

#[test]
fn bytes_are_stored_at_offset_of_conversion() {
    let records = random_records::<Rising>(33, 9);
    let by_offsets = [(16, 16), (8, 8), (4, 4), (2, 2), (0, 1), (1, 1)];
    let layout = RecordConversion::of_record::<Rising>(33);
    assert_eq!(layout, RecordConversion::by_offsets(33, 32, &by_offsets).unwrap());
    let mut tiles = Records::from(records).into_asta::<8>().unwrap();
    for (i, fields) in (0..33).map(|i| (i, tiles.get(i).unwrap())) {
        let at = layout.offset(RecordOrder::Asta(8), i, 2);
        assert_eq!(tiles.as_bytes()[at..at + 4], fields.d.to_ne_bytes());
    }
    tiles.as_bytes_mut().fill(7);
    assert_eq!(tiles.get(32).unwrap().c, 0x0707);
    assert_eq!(AlreadyPod::FIELDS.len(), 2);
    let pods = Records::from(random_records::<AlreadyPod>(5, 2)).into_soa().unwrap();
    assert_eq!(pods.column(AlreadyPod::B).len() + pods.column(AlreadyPod::A).len(), 10);

    // The same conversion can be planned for a GPU.
    let conversion = RecordConversion::of_record::<Rising>(4096).to(RecordOrder::Asta(32));
    let plan = Planner::new(GpuDevice::h200()).plan(&conversion.problem().unwrap()).unwrap();
    assert_eq!(plan.check(), Ok(()));
    let many = RecordConversion::of_record::<Cell>(usize::MAX).to(RecordOrder::Soa).plan();
    let too_large = LayoutError::TooLarge { records: usize::MAX };
    assert_eq!(many.map(drop).unwrap_err(), too_large.into());
}

#[test]
fn records_tiles_and_columns_have_debug_text() {
    let cells = Records::from(random_records::<Cell>(70, 1)).into_asta::<32>().unwrap();
    assert_eq!(format!("{cells:?}"), "70 records as asta:32");
    assert_eq!(format!("{:?}", cells.tiles().last().unwrap()), "a tile of 6 records");
    let column: Column<Cell, [f32; 3]> = Cell::U;
    assert_eq!(format!("{column:?}"), "the column after 4 bytes of each record");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn conversions_are_correct_for_any_count(count in 0usize..20_000, seed: u32) {
        check_all_conversions(&random_records::<Cell>(count, seed));
        check_all_conversions(&random_records::<Nested>(count, seed));
        check_all_conversions(&random_records::<Rising>(count / 4, seed));
    }
}
