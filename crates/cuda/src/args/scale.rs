//! Numbers multiplied and conjugated.

use super::Address;
use super::divisor::Divisor64;

mirror! {
    /// Numbers in rows a pitch apart.
    ScaleArgs = "ScaleArgs", in "scale.cu" {
        data: Address, "The numbers.";
        packs: u64, "Accesses in all.";
        pitch: u64, "Bytes from row to row.";
        re: u64, "The factor's real part, a double.";
        im: u64, "Its imaginary part.";
        row: Divisor64, "Accesses of a row.";
        does: u32, "1 multiplies, 2 conjugates, 3 does both, 4 puts down zeros.";
        wide: u32, "Whether accesses are vectors of 16 bytes.";
    }
}
