//! Jobs on which users of other programs reported trouble, named by the public thread: `owner/repository#number`.

use crate::{
    Operation, directory, header, noise, npy, numbers, permuted, split, table, with_header,
};

/// Runs the command on `before`, in place and into another file, and compares with `after`.
#[track_caller]
fn check(case: &str, line: &str, before: &[u8], after: &[u8]) {
    let directory = directory();
    for output in ["-i", "-o b"] {
        directory.write("a", before);
        directory.good(&format!("{line} a {output}"));
        let name = if output == "-i" { "a" } else { "b" };
        assert!(directory.read(name) == after, "{case}: {line} {output}");
    }
}

/// The thread, the type and its size, and the operation.
///
/// tomviz: (x, y, n) in F order is (n, y, x) in C order. ml_dtypes: 8-bit floats and bfloat16 as NumPy saves them.
const NPY: &str = "
    hyperspy/hyperspy#1560           | '>u2' 2  | C 3x4x5x6   | transpose --axes 2,3,0,1 | 3x4x5x6 2,3,0,1 | C 5x6x3x4
    cgohlke/tifffile#277             | '|u1' 1  | C 35x39x32  | transpose --axes 2,1,0   | 35x39x32 2,1,0  | C 32x39x35
    OpenChemistry/tomviz#1809        | '<f4' 4  | F 7x5x3     | transpose --axes 2,1,0 --order C | 7x5x3 2,1,0 | C 3x5x7
    JuliaLang/julia#59682            | '<f8' 8  | F 8x6x2x2   | transpose --axes 1,3,0,2 | 8x6x2x2 1,3,0,2 | F 6x2x8x2
    tensorflow/tensorflow#30044      | '<f4' 4  | C 3x3x63x61 | transpose --axes 3,2,0,1 | 3x3x63x61 3,2,0,1 | C 61x63x3x3
    jax-ml/ml_dtypes#148             | '<f1' 1  | C 3x5       | transpose                | 3x5 1,0         | C 5x3
    jax-ml/ml_dtypes#41              | '<V2' 2  | C 3x5       | transpose                | 3x5 1,0         | C 5x3
    FFTW/fftw3#20                    | '<c16' 16 | C 98x1     | transpose                | 98x1 1,0        | C 1x98
    huggingface/transformers#31766   | '<f2' 2  | C 24x5 | rearrange '(h t d) k -> (h d t) k' --size h=3,t=2 | 3x2x4x5 0,2,1,3 | C 24x5
    arogozhnikov/einops#155          | '<u2' 2  | C 4x6x3 | rearrange '(h p) (w q) c -> (h w) (p q c)' --size p=2,q=3 | 2x2x2x3x3 0,2,1,3,4 | C 4x18";

#[test]
fn npy_files() {
    for row in table(NPY) {
        let (descr, itemsize) = row[1].split_once(' ').unwrap();
        let operation = Operation::parse(&row[2..]);
        let data = operation.data(itemsize.parse().unwrap());
        let [before, after] = operation.files(descr, &data);
        check(row[0], operation.line, &before, &after);
    }
    // Version 2.0, a comma after the last extent, data that is not aligned.
    let data = noise(160);
    let text = |shape: &str| header("'<f4'", 'F', shape);
    let before = with_header(2, &text("(10,4,)"), &data);
    let after = with_header(2, &text("(4, 10)"), &permuted(&data, &[4, 10], &[1, 0], 4));
    check("fortran-lang/stdlib#581", "transpose", &before, &after);
}

/// The thread, the bytes before and after the data, the type, the size of an element, and the operation.
///
/// dcm2niix: NIfTI in x, y, t, z for x, y, z, t, where the first axis runs fastest. segyio: traces of 240 + 4 * 10 bytes from
/// inline to crossline order. gdal: by line to by pixel. spikeextractors: frames of 385 channels, an unknown number. PhastFT:
/// real and imaginary parts. AviSynthPlus: samples of 24 bits in a WAV file. snappy: bytes of elements. aronnax: column-major
/// data to row-major.
const HEADERLESS: &str = "
    seung-lab/fastremap#1              | 0 0       | u4 4    | C 7x5x3   | reorder --order F                   | 7x5x3 0,1,2   | F 7x5x3
    ahay/src#83                        | 0 0       | f4 4    | C 3x4x6   | transpose --axes 2,1,0              | 3x4x6 2,1,0   | C 6x4x3
    rordenlab/dcm2niix#241             | 352 0     | i2 2    | F 7x5x4x3 | transpose --axes 0,1,3,2 --order F  | 7x5x4x3 0,1,3,2 | F 7x5x3x4
    nipy/nibabel#1412                  | 1040 9    | f4 4    | C 3x4x5x7 | transpose --axes 1,2,3,0            | 3x4x5x7 1,2,3,0 | C 4x5x7x3
    equinor/segyio#441                 | 3600 0    | V280 280 | C 3x5    | transpose                           | 3x5 1,0       | C 5x3
    Caltech-IPAC/Montage#1             | 2880 2880 | >f4 4   | C 3x4x5   | transpose --matrices                | 3x4x5 0,2,1   | C 3x5x4
    OSGeo/gdal#4909                    | 128 0     | f4 4    | C 4x3x5   | rearrange 'l b s -> l s b'          | 4x3x5 0,2,1   | C 4x5x3
    isce-framework/isce2#359           | 0 0       | f4 4    | C 4x3x5   | rearrange 'l b s -> b l s'          | 4x3x5 1,0,2   | C 3x4x5
    SpikeInterface/spikeextractors#103 | 0 0       | i2 2    | C 31x385  | transpose                           | 31x385 1,0    | C 385x31
    smu160/PhastFT#22                  | 0 0       | f4 4    | C 20      | rearrange '(n c) -> c n' --size c=2 | 10x2 1,0      | C 2x10
    AviSynth/AviSynthPlus#456          | 44 26     | V3 3    | C 101x6   | transpose                           | 101x6 1,0     | C 6x101
    xerial/snappy-java#296             | 0 0       | u1 1    | C 250x4   | transpose                           | 250x4 1,0     | C 4x250
    edoddridge/aronnax#197             | 0 0       | f8 8    | F 4x5x6   | reorder --order C                   | 4x5x6 0,1,2   | C 4x5x6";

#[test]
fn headerless_data_between_other_bytes() {
    for row in table(HEADERLESS) {
        let (before, after) = row[1].split_once(' ').unwrap();
        let (dtype, itemsize) = row[2].split_once(' ').unwrap();
        let operation = Operation::parse(&row[3..]);
        let head = vec![0xAB; before.parse().unwrap()];
        let tail = vec![0xCD; after.parse().unwrap()];
        let files = operation.data(itemsize.parse().unwrap());
        let [from, to] = files.map(|data| [&*head, &data, &tail].concat());
        let (_, rest) = row[3][2..].split_once('x').unwrap_or_default();
        // The first extent follows from the size of the file, or what follows the data does.
        for shape in [
            format!("{} --offset {before}", &row[3][2..]),
            format!("-1x{rest} --offset {before} --tail {after}"),
        ] {
            if !shape.starts_with("-1x ") {
                let line = format!("{} --raw --dtype {dtype} --shape {shape}", operation.line);
                check(row[0], &line, &from, &to);
            }
        }
    }
}

/// The thread, the type and shape of the records, and of each field its name, type, size and shape; gaps have no name.
///
/// fitsio: text of no characters. ros_numpy: points with gaps.
const RECORDS: &str = "
    esheldon/fitsio#210     | [('NAME', '|S0'), ('RA', '>f8')]                            | 5     | NAME; '|S0'; 0; -; RA; '>f8'; 8; -
    google/Xee#9            | [('a', '<f4'), ('b', '<i2')]                                | 3x5   | a; '<f4'; 4; -; b; '<i2'; 2; -
    google/Xee#9            | [('a', '<f4'), ('b', '<i2')]                                | 2x3x4 | a; '<f4'; 4; -; b; '<i2'; 2; -
    google/Xee#9            | [('a', '<f4'), ('b', '<i2')]                                | -     | a; '<f4'; 4; -; b; '<i2'; 2; -
    lebedov/msgpack-numpy#42 | [('i', [('x', '<f8'), ('n', '<U1')]), ('k', '<u2')]        | 7     | i; [('x', '<f8'), ('n', '<U1')]; 12; -; k; '<u2'; 2; -
    ExpHP/npyz#61           | [('m', '<f4', (4, 0, 4)), ('n', '<i4', (2,))]               | 6     | m; '<f4'; 0; 4x0x4; n; '<i4'; 8; 2
    eric-wieser/ros_numpy#40 | [('x', '<f4'), ('', '|V4'), ('rgb', '<f4'), ('', '|V3')]   | 9     | x; '<f4'; 4; -; ; ; 4; -; rgb; '<f4'; 4; -; ; ; 3; -";

#[test]
fn fields_of_records() {
    for row in table(RECORDS) {
        let [case, descr, shape, fields] = row[..] else { panic!("{row:?}") };
        let directory = directory();
        let shape = numbers(shape);
        let fields: Vec<&str> = fields.split(';').map(str::trim).collect();
        let sizes: Vec<usize> = fields.chunks(4).map(|field| field[2].parse().unwrap()).collect();
        let data = noise(sizes.iter().sum::<usize>() * shape.iter().product::<usize>());
        directory.write("a.npy", npy(descr, 'C', &shape, &data));
        directory.good("split a.npy --into new");
        let mut named = 0;
        for (field, column) in fields.chunks(4).zip(split::columns(&data, &sizes)) {
            if !field[0].is_empty() {
                let shape = [shape.clone(), numbers(field[3])].concat();
                let want = npy(field[1], 'C', &shape, &column);
                assert!(directory.read(&format!("new/{}.npy", field[0])) == want, "{case}");
                named += 1;
            }
        }
        assert_eq!(directory.files().len(), 2 + named, "{case}");
    }
}

/// equinor/segyio#132: the header of each trace, and each sample of all traces.
#[test]
fn traces_of_segy_files() {
    let directory = directory();
    let data = noise(7 * (240 + 3 * 4));
    directory.write("a.sgy", [vec![1; 3600], data.clone()].concat());
    directory.good("split --raw --fields 240,3*>f4 --offset 3600 a.sgy --into new");
    for (number, column) in split::columns(&data, &[240, 4, 4, 4]).iter().enumerate() {
        let descr = if number == 0 { "'|V240'" } else { "'>f4'" };
        assert!(directory.read(&format!("new/f{number}.npy")) == npy(descr, 'C', &[7], column));
    }
}

/// Returns a .safetensors file, whose header is padded to a multiple of 8 bytes.
fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let bytes = header.len().next_multiple_of(8);
    let pad = vec![b' '; bytes - header.len()];
    [&(bytes as u64).to_le_bytes(), header.as_bytes(), &pad, data].concat()
}

const TENSORS: &str = r#"{"__metadata__":{"format":"pt"},"w.0":{"dtype":"BF16","shape":[24,5],"data_offsets":[8,248]},
    "b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"é":{"dtype":"U8","shape":[3],"data_offsets":[248,251]}}"#;

#[test]
fn tensors_of_safetensors_files() {
    let data = noise(251);
    for row in table(
        "ggml-org/llama.cpp#2376     | C 24x5 | rearrange '(h d t) k -> (h t d) k' --size h=3,t=2 | 3x4x2x5 0,2,1,3 | C 24x5
         safetensors/safetensors#308 | C 24x5 | transpose                                  | 24x5 1,0      | C 5x24
         safetensors/safetensors#308 | C 24x5 | rearrange '(a b) c -> a 1 1 b 1 c' --size a=2 | 120 0      | C 2x1x1x12x1x5",
    ) {
        let operation = Operation::parse(&row[1..]);
        let [from, to] = operation.data(2).map(|moved| [&data[..8], &moved, &data[248..]].concat());
        let shape = format!("{:?}", operation.to.1).replace(", ", ",");
        let text = TENSORS.replace("[24,5]", &shape);
        let line = format!("{} --tensor w.0", operation.line);
        check(row[0], &line, &safetensors(TENSORS, &from), &safetensors(&text, &to));
    }
}

/// One short line that begins with `error:`, and unchanged files.
#[test]
fn bad_input_changes_nothing() {
    let directory = directory();
    directory.write("raw.bin", noise(30_011));
    directory.write("short.npy", &npy("'<f4'", 'C', &[3, 5], &noise(60))[..40]);
    directory.write("name.npy", npy("'bfloat16'", 'C', &[3, 5], &noise(30)));
    let data = noise(251);
    let tensors = safetensors(TENSORS, &data);
    directory.write("w.safetensors", &tensors);
    directory.write("cut.safetensors", &tensors[..100]);
    directory.write("end.safetensors", &tensors[..tensors.len() - 4]);
    let with = |from: &str, to: &str| safetensors(&TENSORS.replacen(from, to, 1), &data);
    directory.write("overlap.safetensors", with("[0,8]", "[1,9]"));
    directory.write("size.safetensors", with("[24,5]", "[24,6]"));
    let fields = vec!["2"; 385].join(",");
    for row in table(&"
        equinor/segyio#132            | transpose -i raw.bin --raw --dtype u1 --shape 1x2 --offset 30012 | raw.bin: offset 30012 is beyond the end, the file has 30011 bytes
        nasa/EMIT-Data-Resources#70   | transpose -i raw.bin --raw --dtype u1 --shape 1x30 --offset 30000 | expected 30 bytes for 1x30 u1, got 11
        odlgroup/odl#716              | transpose -i raw.bin --raw --dtype u1 --shape 100x300 | expected 30000 bytes for 100x300 u1, got 30011; see --offset and --tail
        cortex-lab/KiloSort#192       | transpose -i raw.bin --raw --dtype i2 --shape -1x385 | 30011 bytes are not a multiple of 770, the bytes of one index
        MouseLand/Kilosort#72         | split raw.bin --into new --raw --fields FIELDS | 30011 bytes are not a multiple of 770, the bytes of an element
        rasbt/LLMs-from-scratch#747   | rearrange '(h d t) k -> (h t d) k' --size h=7,t=2 -i --tensor w.0 w.safetensors | axis 0
        safetensors/safetensors#469   | transpose -i --tensor w.0 overlap.safetensors | tensors 'w.0' and 'b' overlap
        safetensors/safetensors#469   | transpose -i --tensor w.0 cut.safetensors | truncated: the header takes
        safetensors/safetensors#469   | transpose -i --tensor é end.safetensors | truncated: tensor 'é'
        safetensors/safetensors#469   | transpose -i --tensor w.0 size.safetensors | takes 288 bytes, its data_offsets are [8, 248]
        safetensors/safetensors#530   | transpose -i --tensor w w.safetensors | there is no tensor 'w'; there are: w.0, b, é
        safetensors/safetensors#530   | reorder --order F -i --tensor w.0 w.safetensors | C order only
        rogersce/cnpy#7               | transpose -i short.npy | truncated: the header takes 128 bytes, the file has 40
        keras-team/keras#19091        | transpose -i name.npy | 'bfloat16'".replace("FIELDS", &fields)) {
        directory.bad(row[1], 1, &row[2..]);
        let said = crate::errors(&directory.turntile(row[1]));
        assert!(said.len() < 200, "{}: {said}", row[0]);
    }
}
