//! Test of the planner's table of methods by index map: compares it with what the backends
//! implement.

use turntile::plan::{CpuDevice, GpuDevice, Problem};
use turntile_perm::{
    AlignedSlots, AxisPermutation, FieldSlots, LayoutChange, LeadingDims, PitchedRows,
    RecordSchema, TileRows,
};
use turntile_plan::{Device, Direction, MethodFilter, StageMap, StageRequest};

/// Returns index maps of every kind, at least one for each row of the table of methods.
fn maps() -> Vec<StageMap> {
    let axes = |extents: &[usize], order: &[usize]| {
        StageMap::Axes(AxisPermutation::new(extents, order).unwrap())
    };
    let direction = Direction::Forward;
    let slots = AlignedSlots::new(60, 44, 4, 8).unwrap();
    let schema = RecordSchema::new(96, &[2, 1, 3]).unwrap();
    let record_slots = FieldSlots::new(schema.clone(), 1, 4, 8).unwrap();
    let rows = |rows, cols, pitch| PitchedRows::new(rows, cols, pitch).unwrap();
    let slide = |from, to| StageMap::from(LeadingDims::in_order(from, to).unwrap());
    let leading = |lda, ldb| LeadingDims::transposed(32, 16, lda, ldb).unwrap();
    let problem = Problem::new(32, 16, 4).unwrap().with_leading(24, 40).unwrap();
    let gaps = problem.saved_gaps().unwrap();
    vec![
        axes(&[30, 20], &[1, 0]),
        axes(&[3, 64, 64], &[0, 2, 1]),
        axes(&[40, 40, 48], &[1, 0, 2]),
        axes(&[5, 16, 3, 16], &[0, 3, 2, 1]),
        axes(&[8, 64], &[1, 0]),
        axes(&[64, 8], &[1, 0]),
        axes(&[6, 5, 6, 5], &[2, 3, 0, 1]),
        axes(&[2, 3, 4, 5], &[2, 0, 3, 1]),
        axes(&[7, 5, 9, 64], &[2, 1, 0, 3]),
        StageMap::SlotGather { batch: 1, slots, direction },
        StageMap::SlotMove { batch: 1, slots, direction },
        StageMap::RecordTiles(LayoutChange::new(schema, 1, 8)),
        StageMap::RecordGather { slots: record_slots.clone(), direction },
        StageMap::RecordMove { slots: record_slots, direction },
        StageMap::Cut { rows: rows(30, 16, 20), direction },
        slide(rows(30, 20, 20), rows(30, 20, 24)),
        slide(rows(30, 20, 24), rows(20, 30, 31)),
        StageMap::TransposeRows(leading(40, 40)),
        StageMap::TransposeRows(leading(20, 40)),
        StageMap::TransposeRows(LeadingDims::row_slide(30, 20, 24, 28).unwrap()),
        StageMap::Reshape(leading(20, 40)),
        StageMap::TileRows(TileRows::new(&leading(24, 40), 8).unwrap()),
        StageMap::Gaps { gaps: *gaps, direction },
        StageMap::SwapGaps { rows: rows(30, 20, 24), direction },
    ]
}

/// Checks that each method of the table is implemented by a backend, and that backends implement no
/// other methods.
#[test]
fn backends_implement_the_methods_of_the_table() {
    let devices: [&dyn Device; 3] = [&CpuDevice::new(1), &CpuDevice::new(3), &GpuDevice::h200()];
    for map in maps() {
        let mut implemented = Vec::new();
        let ways = devices
            .into_iter()
            .flat_map(|device| [(device, 4, false), (device, 4096, false), (device, 4, true)]);
        for (device, elem_bytes, out_of_place) in ways {
            let (cap, methods) = (usize::MAX, MethodFilter::Any);
            let request = StageRequest { elem_bytes, alignment: 16, out_of_place, cap, methods };
            for one in device.implementations(&map, &request).unwrap_or_default() {
                assert!(map.methods().contains(&one.method), "{map} {}", one.method);
                assert!(request.accepts(one.method), "{map} {}", one.method);
                implemented.push(one.method);
            }
        }
        for method in map.methods() {
            assert!(implemented.contains(method), "{map}: no backend implements {method}");
        }
    }
}
