//! The kernels of the literature, and a recursive filter.

use super::Address;
use super::divisor::Divisor32;

mirror! {
    /// A rung of the ladder.
    LadderArgs = "LadderArgs" in "ladder.cu", 40 bytes {
        to: Address = 0, "The destination.";
        from: Address = 8, "The source.";
        rows: u32 = 16, "Rows.";
        cols: u32 = 20, "Columns.";
        across: Divisor32 = 24, "Tiles across.";
    }
    /// A filter of an image's columns.
    GaussianArgs = "GaussianArgs" in "gaussian.cu", 56 bytes {
        to: Address = 0, "The filtered image.";
        from: Address = 8, "The image.";
        rows: u32 = 16, "Rows.";
        cols: u32 = 20, "Columns.";
        a0: f32 = 24, "Of this input, downwards.";
        a1: f32 = 28, "Of the one before.";
        a2: f32 = 32, "Of the next input, upwards.";
        a3: f32 = 36, "Of the one after.";
        b1: f32 = 40, "Of the last output.";
        b2: f32 = 44, "Of the one before.";
        before: f32 = 48, "What a constant beyond the upper edge has settled at, per unit of it.";
        after: f32 = 52, "The same beyond the lower edge.";
    }
}

parameters! {
    LadderArgs: to, Source from;
    GaussianArgs: to, Source from;
}
