//! Execution of plans on initialised bytes.
#![allow(unsafe_code)]

use turntile_simd::Byte;

use crate::executor::Executor;
use crate::workspace::{RunError, Workspace};

impl Executor {
    /// Runs the plan like [`run`](Self::run), on initialised bytes.
    ///
    /// # Errors
    /// Same as [`run`](Self::run).
    pub fn run_bytes(&self, data: &mut [u8], workspace: &mut Workspace) -> Result<(), RunError> {
        // SAFETY: `Byte` has the layout of `u8`. No byte becomes uninitialised: an executor only
        // moves bytes of the data, also into gaps. No single stage restores gaps, so restored bytes
        // were saved from the data.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<Byte>(), data.len()) };
        self.run(bytes, workspace, |_| ())
    }
}
