//! PTTWAC's flags.

use super::Address;

mirror! {
    /// Flags of a whole launch.
    GlobalFlags = "GlobalFlags", in "flags.cuh" {
        words: Address, "The workspace.";
    }
}
