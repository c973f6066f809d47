//! Plans run on initialised bytes.
#![allow(unsafe_code)]

use turntile_simd::Byte;

use crate::executor::Executor;
use crate::workspace::{RunError, Workspace};

impl Executor {
    /// [`run`](Self::run) on initialised bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_bytes(&self, data: &mut [u8], workspace: &mut Workspace) -> Result<(), RunError> {
        // SAFETY: the layout is the same. No byte becomes uninitialised: an executor moves bytes of the data, what it puts
        // in gaps is among them, and no stage alone restores gaps, so that what is restored was saved from the data.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<Byte>(), data.len()) };
        self.run(bytes, workspace, |_| ())
    }
}
