//! PTTWAC's flags.

use super::Address;

mirror! {
    /// Flags of a whole launch.
    GlobalFlags = "GlobalFlags" in "flags.cuh", 8 bytes {
        words: Address = 0, "The workspace.";
    }
}
