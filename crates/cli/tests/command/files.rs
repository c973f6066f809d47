//! Results: what each operation makes of .npy and headerless files.

use crate::{Operation, directory, noise, npy, numbers, permuted, table, transposed};

const RECORD: &str = "[('a', '<f8'), ('b', '|u1')]";

#[test]
fn matrices_are_transposed_in_place_and_elsewhere() {
    let directory = directory();
    let shapes = [(1797, 64), (61, 67), (1, 9), (9, 1), (1, 1), (0, 5), (5, 0), (64, 64)];
    for (rows, cols) in shapes {
        for (descr, itemsize) in [("'<f4'", 4), ("'|V7'", 7), (RECORD, 9)] {
            let data = noise(rows * cols * itemsize);
            directory.write("a.npy", npy(descr, 'C', &[rows, cols], &data));
            let text = directory.good("transpose a.npy -o b.npy");
            let name = if itemsize == 9 { "V9" } else { descr.trim_matches(['\'', '<', '|']) };
            let change = format!("a.npy: {rows}x{cols} {name} -> {cols}x{rows} {name}");
            assert!(text.starts_with(&change) && text.ends_with(" -> b.npy\n"), "{text}");
            let want = npy(descr, 'C', &[cols, rows], &transposed(&data, rows, cols, itemsize));
            assert!(directory.read("b.npy") == want, "{rows}x{cols}");
            directory.good("transpose a.npy -i");
            assert!(directory.read("a.npy") == want, "{rows}x{cols}");
            // An output may exist, and may be the input.
            directory.good("transpose b.npy --output ./b.npy");
            directory.good("transpose b.npy -o a.npy");
            assert!(directory.read("a.npy") == want, "{rows}x{cols}");
        }
    }
    assert_eq!(directory.files().len(), 2);
}

const OPERATIONS: &str = "
    C 5x7     | transpose                                    | 5x7 1,0         | C 7x5
    F 5x7     | transpose                                    | 5x7 1,0         | F 7x5
    C 35      | transpose                                    | 35 0            | C 35
    C -       | transpose                                    | - -             | C -
    C 5x7     | transpose --axes 1,0                         | 5x7 1,0         | C 7x5
    C 5x7     | transpose --axes 0,1                         | 5x7 0,1         | C 5x7
    C 4x3x5x2 | transpose --axes 2,0,-1,1                    | 4x3x5x2 2,0,3,1 | C 5x4x2x3
    F 4x3x5x2 | transpose --axes 2,0,3,1                     | 4x3x5x2 2,0,3,1 | F 5x4x2x3
    C 4x3x5   | transpose --axes 2,1,0                       | 4x3x5 2,1,0     | C 5x3x4
    C 4x3x5   | transpose --matrices                         | 4x3x5 0,2,1     | C 4x5x3
    F 4x3x5   | transpose --matrices                         | 4x3x5 0,2,1     | F 4x5x3
    C 5x7     | transpose --order F                          | 5x7 1,0         | F 7x5
    F 4x3x5   | transpose --axes 2,1,0 --order c             | 4x3x5 2,1,0     | C 5x3x4
    F 4x3x5   | transpose --axes 0,2,1 --order C             | 4x3x5 0,2,1     | C 4x5x3
    F 4x3x5   | transpose --axes 0,2,1 --order F             | 4x3x5 0,2,1     | F 4x5x3
    C 4x3x5   | reorder --order F                            | 4x3x5 0,1,2     | F 4x3x5
    F 4x3x5   | reorder --order C                            | 4x3x5 0,1,2     | C 4x3x5
    C 4x3x5   | reorder --order C                            | 4x3x5 0,1,2     | C 4x3x5
    C 30      | reorder --order F                            | 30 0            | F 30
    C 4x6x5   | rearrange 'a (b c) d -> (d b) c a' --size c=3 | 4x2x3x5 3,1,2,0 | C 10x3x4
    F 5x6x4   | rearrange 'd (b c) a -> a (c b) d' --size c=3,b=2 | 5x2x3x4 3,2,1,0 | F 4x6x5
    C 4x6x5   | rearrange 'a (b c) d -> (d b) c a' --size c=3 --order F | 4x2x3x5 3,1,2,0 | F 10x3x4
    C 4x6x5   | rearrange '... -> (...)'                     | 120 0           | C 120
    C 4x6x5   | rearrange 'a b c -> a 1 (b c)'               | 120 0           | C 4x1x30
    C 20      | rearrange '(n c) -> c n' --size c=2          | 10x2 1,0        | C 2x10
    C 4x3x5   | transpose --axes 0,1,2 --flip 0              | 4x3x5 0,1,2     | C 4x3x5 | 0
    F 4x3x5   | transpose --axes 2,0,1 --flip=-1,0           | 4x3x5 2,0,1     | F 5x4x3 | 0,2
    C 40x70   | transpose --flip 1 --order F                 | 40x70 1,0       | F 70x40 | 1
    C 40x70   | rot90                                        | 40x70 1,0       | C 70x40 | 0
    F 4x30x50 | rot90 -k -1 --axes 1,2                       | 4x30x50 0,2,1   | F 4x50x30 | 2
    C 4x3x5   | rot90 -k 2 --axes 0,-1                       | 4x3x5 0,1,2     | C 4x3x5 | 0,2";

/// Compares .npy files and headerless files with the same data, in memory and in blocks.
#[test]
fn operations_follow_numpy() {
    let directory = directory();
    for columns in table(OPERATIONS) {
        let operation = Operation::parse(&columns);
        let Operation { line, from: (order, shape), to, .. } = &operation;
        let [data, moved] = operation.data(6);
        let [before, after] = operation.files("'|V6'", &[data.clone(), moved.clone()]);
        for how in ["-o b.npy", "-i", "-i --memory 1M", "-o b.npy --memory 1M", "-i --threads 1"] {
            directory.write("a.npy", &before);
            directory.write("b.npy", &before);
            let name = if how.starts_with("-i") { "b.npy" } else { "a.npy" };
            directory.good(&format!("{line} {name} {how}"));
            assert!(directory.read("b.npy") == after, "{line} {order} {shape:?} {how}");
        }
        // A headerless input has the order of the result; for `reorder`, the other order.
        let raw_order = match (line.starts_with("reorder"), line.contains("--order")) {
            (true, _) if to.0 == 'C' => 'F',
            (false, true) => to.0,
            _ => 'C',
        };
        if *order != raw_order || shape.is_empty() {
            continue;
        }
        let extents = columns[0][1..].trim();
        for extents in [extents, &extents.replacen(&shape[0].to_string(), "-1", 1)] {
            directory.write("a.bin", [b"7", &*data, b"after"].concat());
            let raw = format!("--raw --dtype V6 --shape {extents} --offset 1 --tail 5");
            let report = directory.json(&format!("{line} a.bin -i {raw} --json"));
            assert_eq!(report["before"]["shape"], serde_json::json!(shape), "{line}");
            assert_eq!(report["after"]["order"], to.0.to_string(), "{line}");
            assert!(directory.read("a.bin") == [b"7", &*moved, b"after"].concat(), "{line}");
        }
    }
}

#[test]
fn headerless_matrices_are_transposed_one_by_one() {
    let directory = directory();
    for (batch, rows, cols, itemsize) in
        [(1, 13, 29, 1), (3, 10, 4, 12), (2, 7, 7, 100), (1, 0, 3, 8), (5, 1, 6, 3)]
    {
        let data = noise(batch * rows * cols * itemsize);
        directory.write("a.bin", &data);
        let shape = format!("--dtype V{itemsize} --shape {batch}x{rows}x{cols}");
        let text = directory.good(&format!("transpose --matrices --raw {shape} a.bin -i"));
        let change = format!("{batch}x{rows}x{cols} V{itemsize} -> {batch}x{cols}x{rows}");
        assert!(text.contains(&change), "{text}");
        let want = permuted(&data, &[batch, rows, cols], &[0, 2, 1], itemsize);
        assert!(directory.read("a.bin") == want, "{shape}");
    }
}

/// Types are named as in the header, whose text of the type is unchanged.
#[test]
fn reports_name_types_and_orders() {
    let directory = directory();
    for row in table(
        "'>i2'           | C 3x6 | transpose         | 3x6 >i2 -> 6x3 >i2
         '<f1'           | F 6x6 | transpose         | 6x6 f1 -> 6x6 f1
         [('x', '<i2')]  | C 3x6 | transpose         | 3x6 V2 -> 6x3 V2
         '<i2'           | C 3x6 | reorder --order F | 3x6 i2 in C order -> 3x6 i2 in F order
         '<i2'           | C 3x6 | reorder --order C | 3x6 i2, unchanged
                         | C 3x6 | transpose --raw --dtype >u2 --shape 3x6 | 3x6 >u2 -> 6x3 >u2",
    ) {
        let [descr, array, line, want] = row[..] else { panic!("{row:?}") };
        let header = npy(descr, array.chars().next().unwrap(), &numbers(&array[2..]), b"");
        let header = if descr.is_empty() { Vec::new() } else { header };
        directory.write("a", [header, noise(36)].concat());
        directory.good(&format!("{line} a -o b"));
        assert_eq!(directory.good(&format!("{line} a -i")), format!("a: {want}\n"));
        assert!(directory.read("a") == directory.read("b"), "{line}");
    }
}
