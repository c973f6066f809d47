//! Elements of less than a byte.

use crate::{directory, noise, npy};

/// Returns the transposed matrices, one element after another. Padding bits are 0.
fn transposed(data: &[u8], [batch, rows, cols]: [usize; 3], bits: usize, little: bool) -> Vec<u8> {
    let per_byte = 8 / bits;
    let shift =
        |at: usize| bits * if little { at % per_byte } else { per_byte - 1 - at % per_byte };
    let (row, after) = (cols.div_ceil(per_byte), rows.div_ceil(per_byte));
    let mut to = vec![0; batch * cols * after];
    for (n, i) in (0..batch).flat_map(|n| (0..rows).map(move |i| (n, i))) {
        for j in 0..cols {
            let byte = data[(n * rows + i) * row + j / per_byte];
            let element = byte >> shift(j) & ((1 << bits) - 1);
            to[(n * cols + j) * after + i / per_byte] |= element << shift(i);
        }
    }
    to
}

#[test]
fn packed_matrices_are_transposed_in_files() {
    let directory = directory();
    for (shape, bits, little) in [
        ([1, 24, 40], 1usize, false),
        ([1, 400, 600], 1, true),
        ([3, 12, 20], 2, true),
        ([1, 600, 400], 4, true),
        ([1, 5, 16], 4, false),
        ([2, 7, 13], 2, false),
        ([1, 1003, 701], 1, true),
        ([1, 0, 8], 4, true),
    ] {
        let [batch, rows, cols] = shape;
        let (row, after) = ((cols * bits).div_ceil(8), (rows * bits).div_ceil(8));
        let data = noise(batch * rows * row);
        let want = transposed(&data, shape, bits, little);
        let lead = if batch > 1 { vec![batch] } else { vec![] };
        let [from, to] = [[rows, row], [cols, after]].map(|sides| [&lead[..], &sides].concat());
        let order = if little { "little" } else { "big" };
        let line = format!("transpose --bits {bits} --bitorder {order} --cols {cols}");
        directory.write("a.npy", npy("'|u1'", 'C', &from, &data));
        directory.good(&format!("{line} a.npy -o b.npy"));
        assert!(directory.read("b.npy") == npy("'|u1'", 'C', &to, &want), "{shape:?} {bits}");
        directory.good(&format!("{line} a.npy -i"));
        assert!(directory.read("a.npy") == directory.read("b.npy"), "{shape:?} {bits}");

        directory.write("a.bin", [b"head", &data[..], b"tail"].concat());
        let text = from.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        let raw = format!("--raw --dtype u1 --shape {text} --offset 4 --tail 4");
        directory.good(&format!("{line} {raw} a.bin -i"));
        assert!(directory.read("a.bin") == [b"head", &want[..], b"tail"].concat(), "{shape:?}");
    }
}

#[test]
fn packed_matrices_that_do_not_fit_are_refused() {
    let directory = directory();
    directory.write("a.npy", npy("'|u1'", 'C', &[8, 6], &noise(48)));
    directory.write("f.npy", npy("'|u1'", 'F', &[8, 6], &noise(48)));
    directory.write("w.npy", npy("'<f4'", 'C', &[3, 4], &noise(48)));
    directory.write("bool.npy", npy("'|b1'", 'C', &[8, 6], &[1; 48]));
    directory.write("line.npy", npy("'|u1'", 'C', &[48], &noise(48)));
    directory.write("large.npy", npy("'|u1'", 'C', &[2048, 2048], &noise(1 << 22)));
    directory.all_bad(
        1,
        "
        transpose --bits 4 --cols 13 a.npy -i | --cols 13 has 7 bytes per row, the array has 6
        transpose --bits 4 w.npy -i | elements of 1 byte, f4 has 4
        transpose --bits 1 bool.npy -i | needs packed elements, b1 has a byte per element
        transpose --raw --dtype bool --shape 8x6 --offset 128 --bits 1 bool.npy -i | packed elements
        transpose --bits 4 f.npy -i | C order
        transpose --bits 4 line.npy -i | at least 2 axes, the array has 1
        transpose --bits 4 large.npy --memory 1M -i | --bits needs the data in memory",
    );
    directory.all_bad(
        2,
        "
        transpose --bits 3 a.npy -i | expected 1, 2 or 4
        transpose --bits 4 --axes 1,0 a.npy -i | --axes
        transpose --bitorder big a.npy -i | --bits",
    );
}
