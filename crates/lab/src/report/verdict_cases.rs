//! Numbers that verdicts are tried on, each with the opening that they are to have.

/// An item, columns, and twice an opening with the rows that it is made from.
pub type Case = (&'static str, &'static str, [(&'static str, &'static [&'static str]); 2]);

pub const HOLDS: &str = "Holds";
pub const PART: &str = "Holds in part";
pub const NOT: &str = "Does not hold";

pub const CASES: &[Case] = &[
    (
        "figure-2.2",
        "stride|gb_per_s",
        [
            (HOLDS, &["1|4000", "2|2000", "15|300", "32|280"]),
            (PART, &["1|4000", "2|300", "15|290", "32|280"]),
        ],
    ),
    (
        "ladder-blocks",
        "source|tile|block_rows|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "Shared|16|16|9",
                    "Shared|32|32|5",
                    "SharedwBC|16|16|10",
                    "SharedwBC|32|32|9",
                    "Unrolled|32|8|10",
                    "Unrolled|32|16|11",
                ],
            ),
            (
                NOT,
                &[
                    "Shared|16|16|4",
                    "Shared|32|32|5",
                    "SharedwBC|16|16|4",
                    "SharedwBC|32|32|5",
                    "Unrolled|32|8|12",
                    "Unrolled|32|16|11",
                ],
            ),
        ],
    ),
    (
        "figure-4.1",
        "side|percent_of_copy",
        [(HOLDS, &["128|20", "256|94"]), (NOT, &["128|94", "256|12"])],
    ),
    (
        "figure-4.4",
        "rows_moved|gb_per_s",
        [(PART, &["0|526", "4901|11.5"]), (NOT, &["0|11", "4900|11"])],
    ),
    (
        "padding",
        "shape|method|percent_of_copy",
        [
            (HOLDS, &["50x40|rounds|31", "50x49|rounds x2|6", "50x49|blocks|80"]),
            (NOT, &["50x40|rounds|50", "50x49|rounds|60", "50x49|blocks|80"]),
        ],
    ),
    (
        "near-square",
        "shape|route|plan|gb_per_s|percent_of_copy",
        [
            (
                PART,
                &[
                    "3x4|cut|cut(3x4)|5|5",
                    "3x4|padded-square|slide(3x4, pitch 3 to 4) rounds -> 010!(4x4)|1|1",
                    "3x4|padded-square|slide(3x4, pitch 3 to 4) blocks -> 010!(4x4)|6|6",
                ],
            ),
            (
                NOT,
                &[
                    "3x4|cut|cut(3x4)|5|5",
                    "3x4|padded-square|010!(4x4) -> slide(4x3, pitch 4 to 3) rounds x2|6|6",
                ],
            ),
        ],
    ),
    (
        "figure-4.6",
        "rows|cols|cycles",
        [(HOLDS, &["1|5|90", "5|5|10", "5|6|2"]), (NOT, &["5|5|10", "5|6|20"])],
    ),
    ("table-4.1", "name|thesis", [(HOLDS, &["010!|010!", "0210!|"]), (NOT, &["010!|100!"])]),
    (
        "permutations",
        "problem|pass|memory|percent_of_copy",
        [
            (
                HOLDS,
                &[
                    "a: 2x3x4x5 axes 0,2,3,1 w4|0|0:2 1:3 2:20|50",
                    "a: 2x3x4x5 axes 0,2,3,1 w4|1|0:2 2:20 1:3|",
                ],
            ),
            (NOT, &["a: 2x3x4x5 axes 0,2,3,1 w4|1|0:2 1:3 2:20|50"]),
        ],
    ),
    (
        "sections-4.4-4.7",
        "what|thesis_gb_per_s|gb_per_s",
        [
            (HOLDS, &["one|1.5|151", "four|7.11|243", "three|20.59|299"]),
            (NOT, &["one|1.5|151", "four|7.11|299", "three|20.59|243"]),
        ],
    ),
    (
        "figures-4.11-4.13",
        "layout|spreading|position_conflicts|bank_conflicts|lock_conflicts|divergent_percent",
        [
            (HOLDS, &["spread|1|9|1.8|1|90", "spread|32|1|7.8|1.5|30", "padded|32|1|2|1|1"]),
            (PART, &["spread|1|9|1.8|1|90", "spread|32|1|7.8|1.5|30", "padded|32|1|7|1|1"]),
        ],
    ),
    (
        "figure-4.16",
        "problem|tile|layout|spreading|gb_per_s",
        [
            (HOLDS, &["a|16|spread|1|100", "a|16|spread|32|170", "a|16|padded|32|190"]),
            (NOT, &["a|16|spread|1|100", "a|16|spread|32|99", "a|16|padded|32|100"]),
        ],
    ),
    (
        "figure-4.17",
        "tile|width|elements|workers|gb_per_s",
        [
            (
                HOLDS,
                &["16|16|256|32|9", "16|16|256|64|8", "64|256|16384|32|7", "64|256|16384|64|8"],
            ),
            (NOT, &["16|16|256|32|8", "16|16|256|64|9", "64|256|16384|32|8", "64|256|16384|64|7"]),
        ],
    ),
    (
        "figure-4.18",
        "width|method|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "16|P-IPT|6",
                    "16|PTTWAC packed|5",
                    "16|PTTWAC spread and padded|9",
                    "16|barrier|50",
                ],
            ),
            (
                NOT,
                &[
                    "16|P-IPT|4",
                    "16|PTTWAC packed|5",
                    "16|PTTWAC spread and padded|5",
                    "16|barrier|50",
                ],
            ),
        ],
    ),
    (
        "figure-4.19",
        "super_element|width|version|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "16|31|block with barriers|100",
                    "16|31|shared-memory tiling|300",
                    "16|31|register tiling|350",
                    "16|31|P-IPT|50",
                ],
            ),
            (
                PART,
                &[
                    "16|31|block with barriers|100",
                    "16|31|shared-memory tiling|300",
                    "16|31|register tiling|350",
                    "16|31|P-IPT|360",
                ],
            ),
        ],
    ),
    (
        "figure-4.20",
        "super_element|version|gb_per_s",
        [
            (HOLDS, &["8|PTTWAC|1", "16|PTTWAC|2", "32|PTTWAC|3", "64|PTTWAC|5"]),
            (NOT, &["8|PTTWAC|1", "16|PTTWAC|2", "32|PTTWAC|6", "64|PTTWAC|5"]),
        ],
    ),
    (
        "table-4.2",
        "shape|route|methods|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "3x4|three-stage|PTTWAC|20",
                    "3x4|four-stage|PTTWAC|7",
                    "3x4|four-stage-fused|PTTWAC|8",
                    "3x4|turntile's choice|its own|90",
                ],
            ),
            (
                PART,
                &[
                    "3x4|three-stage|PTTWAC|20",
                    "3x4|four-stage|PTTWAC|7",
                    "3x4|four-stage-fused|PTTWAC|30",
                    "3x4|turntile's choice|its own|90",
                ],
            ),
        ],
    ),
    (
        "table-4.3",
        "processor|route|gb_per_s|percent|reported_by",
        [
            (
                HOLDS,
                &["a (8 cores)|four-stage|0.9|18|b", "c|three-stage, PTTWAC|355|11.4|this run"],
            ),
            (NOT, &["a (8 cores)|four-stage|0.9|18|b", "c|three-stage, PTTWAC|0.6|2.8|this run"]),
        ],
    ),
    (
        "figure-4.21",
        "methods|m|n|gb_per_s|percent_of_best",
        [
            (
                "Does not hold by PTTWAC",
                &[
                    "any method|60|60|9|100",
                    "PTTWAC|60|60|1|50",
                    "PTTWAC|60|72|1|90",
                    "PTTWAC|72|72|1|50",
                    "PTTWAC|24|24|2|100",
                ],
            ),
            ("Holds by PTTWAC", &["PTTWAC|60|60|2|100", "PTTWAC|24|24|1|50"]),
        ],
    ),
    (
        "figure-3.7",
        "floats|layout|milliseconds",
        [
            (HOLDS, &["8|AoS|1", "8|SoA|1", "32|AoS|4", "32|ASTA|2", "32|SoA|2"]),
            (NOT, &["8|AoS|1", "8|SoA|1", "32|AoS|1", "32|ASTA|1", "32|SoA|1"]),
        ],
    ),
    (
        "figure-5.2",
        "application|layout|iterations|speedup|net_speedup",
        [
            (
                HOLDS,
                &[
                    "LBM|ASTA|4|5|1.5",
                    "LBM|SoA|30|4|0.9",
                    "Black-Scholes|ASTA|4|1.2|1.1",
                    "Black-Scholes|SoA|30|1.2|1.1",
                    "SpMV, a|ASTA|4|1.5|1.1",
                    "SpMV, a|SoA|30|1.4|1.1",
                ],
            ),
            (
                NOT,
                &[
                    "LBM|ASTA|4|1.5|0.9",
                    "LBM|SoA|30|2|1.2",
                    "Black-Scholes|ASTA|4|0.9|0.8",
                    "Black-Scholes|SoA|30|1|1",
                    "SpMV, a|ASTA|4|0.9|0.8",
                    "SpMV, a|SoA|30|1|1",
                ],
            ),
        ],
    ),
    (
        "figures-6.6-6.14",
        "application|side|layout|step_us|speedup|net_speedup",
        [
            (
                HOLDS,
                &[
                    "LBM|10|row-major|70|1|1",
                    "LBM|10|SoA|10|7|3",
                    "LBM|10|selected for a T10|6|11|4",
                    "LBM|20|row-major|560|1|1",
                    "LBM|20|SoA|90|7|3",
                    "LBM|20|selected for a T10|50|11|4",
                    "heat|10|row-major|10|1|1",
                    "heat|10|selected for a T10|5|2|1.5",
                    "red-black|10|row-major|10|1|1",
                    "red-black|10|selected for an H200|9|1.1|0.9",
                ],
            ),
            (
                NOT,
                &[
                    "LBM|10|row-major|70|1|1",
                    "LBM|10|SoA|35|2|1",
                    "LBM|10|SoA, a line more|20|7|4",
                    "LBM|10|selected for a T10|35|2|1",
                    "LBM|20|row-major|560|1|1",
                    "LBM|20|SoA|280|2|1",
                    "LBM|20|selected for a T10|400|2|1",
                    "heat|10|row-major|10|1|1",
                    "heat|10|row-major, a line more|1|10|9",
                    "heat|10|selected for a T10|9|1.1|0.9",
                    "red-black|10|row-major|10|1|1",
                    "red-black|10|selected for an H200|10|1|0.9",
                ],
            ),
        ],
    ),
    (
        "table-5.2",
        "kernel|gb_per_s",
        [
            (HOLDS, &["barrier-sync, in place|82", "PTTWAC, in place|20", "out of place|80"]),
            (PART, &["barrier-sync, in place|82", "PTTWAC, in place|20", "out of place|100"]),
        ],
    ),
    (
        "table-5.3",
        "problem|method|tile|thesis_gb_per_s|gb_per_s",
        [
            (PART, &["a|PTTWAC|64|5|5", "a|PTTWAC|16|9|9", "a|BS|64|NA|50", "a|BS|16|79|50"]),
            (NOT, &["a|PTTWAC|64|5|60", "a|PTTWAC|16|9|60", "a|BS|64|NA|50", "a|BS|16|79|50"]),
        ],
    ),
    (
        "figure-5.7",
        "problem|tile|method|gb_per_s|percent_of_copy",
        [
            (
                HOLDS,
                &[
                    "a|16|PTTWAC|5|5",
                    "a|64|PTTWAC|16|50",
                    "b|64|PTTWAC|17|55",
                    "a|64|P-IPT|1|1",
                    "b|64|P-IPT|4|4",
                ],
            ),
            (
                PART,
                &[
                    "a|16|PTTWAC|5|5",
                    "a|64|PTTWAC|16|50",
                    "b|64|PTTWAC|17|75",
                    "a|64|P-IPT|1|1",
                    "b|64|P-IPT|4|4",
                ],
            ),
        ],
    ),
    (
        "ladder",
        "kernel|shape|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "naive|3x3|2",
                    "coalesced|3x3|5",
                    "padded|3x3|8",
                    "parallel-write|3x3|8",
                    "unrolled|3x3|9",
                ],
            ),
            (
                PART,
                &[
                    "naive|3x3|6",
                    "coalesced|3x3|5",
                    "padded|3x3|8",
                    "parallel-write|3x3|8",
                    "unrolled|3x3|9",
                ],
            ),
        ],
    ),
    (
        "ladder-sizes",
        "kernel|tile|block_rows|side|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "padded|32|1|3072|5",
                    "padded|32|8|3072|9",
                    "padded|32|32|3072|5",
                    "parallel-write|32|1|3072|5",
                    "parallel-write|32|8|3072|9",
                    "parallel-write|32|32|3072|5",
                    "selective-copying|32|1|3072|4",
                    "selective-copying|32|8|3072|9",
                    "selective-copying|32|32|3072|4",
                    "padded|32|1|12288|9",
                    "padded|32|8|12288|8",
                ],
            ),
            (
                NOT,
                &[
                    "padded|32|1|512|7",
                    "padded|32|8|512|5",
                    "padded|32|32|512|8",
                    "parallel-write|32|1|512|7",
                    "parallel-write|32|8|512|5",
                    "parallel-write|32|32|512|8",
                    "selective-copying|32|1|512|7",
                    "selective-copying|32|8|512|5",
                    "selective-copying|32|32|512|8",
                ],
            ),
        ],
    ),
    (
        "ladder-by-side",
        "kernel|tile|side|gb_per_s",
        [
            (
                HOLDS,
                &[
                    "padded|16 x 16|512|10",
                    "parallel-write|16 x 16|512|11",
                    "padded|32 x 32|512|10",
                    "parallel-write|32 x 32|512|10",
                ],
            ),
            (
                PART,
                &[
                    "padded|16 x 16|512|10",
                    "parallel-write|16 x 16|512|9",
                    "padded|32 x 32|512|10",
                    "parallel-write|32 x 32|512|10",
                ],
            ),
        ],
    ),
    (
        "shared-memory",
        "kernel|tile|shared_bytes|khan_bytes|conflicts_a_tile",
        [
            (
                HOLDS,
                &[
                    "padded|16|1088|1088|16",
                    "parallel-write|16|1024|1024|0",
                    "padded|32|4224|4224|0",
                    "parallel-write|32|4096|4096|0",
                    "padded|48|9408|9408|48",
                    "parallel-write|48|9216|9216|0",
                ],
            ),
            (
                PART,
                &[
                    "padded|16|1088|1088|16",
                    "parallel-write|16|1024|1024|0",
                    "padded|32|4224|4224|0",
                    "parallel-write|32|4096|4096|0",
                    "padded|48|9408|9408|48",
                    "parallel-write|48|9216|9216|110",
                ],
            ),
        ],
    ),
    (
        "gaussian",
        "transposition|over_padded",
        [
            (HOLDS, &["parallel-write, 32 x 8|1.05", "turntile in place|1.1"]),
            (NOT, &["parallel-write, 32 x 8|1.01", "turntile in place|1.1"]),
        ],
    ),
    (
        "cpu",
        "how|source_gb_per_s|gb_per_s",
        [
            (HOLDS, &["two loops|2.54|1.47", "turntile, one thread||9"]),
            (NOT, &["two loops|0.55|1.8", "turntile, one thread||9"]),
        ],
    ),
];
