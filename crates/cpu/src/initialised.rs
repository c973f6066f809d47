//! Plans run on initialised bytes.
#![allow(unsafe_code)]

use turntile_simd::Byte;

use crate::executor::{Executor, RunError, Workspace};

impl Executor {
    /// [`run`](Self::run) on initialised bytes.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_bytes(&self, data: &mut [u8], workspace: &mut Workspace) -> Result<(), RunError> {
        // SAFETY: the layout is the same. No byte becomes uninitialised: an executor moves bytes of the data, what it puts
        // in gaps is among them, and what it puts back from the workspace it has taken from there.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<Byte>(), data.len()) };
        self.run(bytes, workspace, |_| ())
    }
}
