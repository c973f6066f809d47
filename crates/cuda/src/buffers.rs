//! Buffers of a run, and the base addresses of launches as offsets into them.

use crate::error::CudaError;

/// Required alignment of the workspace address, in bytes.
pub(crate) const WORKSPACE_ALIGNMENT: usize = 16;

/// Device address and number of usable bytes from there.
pub type Place = (u64, usize);

/// Buffers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Matrices permuted in place; out of place, the destination.
    pub data: Place,
    /// Source out of place; `None` in place.
    pub source: Option<Place>,
    /// Workspace of the caller, or `None` to use the plan's own.
    pub workspace: Option<Place>,
}

/// Base address of a launch, as an offset in bytes into one of the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOffset {
    /// Offset into the matrices or the destination.
    Data(usize),
    /// Offset into the source.
    Source(usize),
    /// Offset into the workspace.
    Workspace(usize),
}

impl BufferOffset {
    /// Returns the address in these buffers. A missing buffer counts as address 0.
    pub fn of(self, buffers: &Buffers) -> u64 {
        let ((start, _), bytes) = match self {
            BufferOffset::Data(bytes) => (buffers.data, bytes),
            BufferOffset::Source(bytes) => (buffers.source.unwrap_or_default(), bytes),
            BufferOffset::Workspace(bytes) => (buffers.workspace.unwrap_or_default(), bytes),
        };
        start + bytes as u64
    }
}

/// Length and alignment, in bytes, that launches need from one buffer.
pub(crate) struct BufferRequirement {
    /// Role of the buffer.
    pub what: &'static str,
    pub place: Place,
    pub bytes: usize,
    pub alignment: usize,
}

/// Checks that every buffer is long enough and aligned, and that no two overlap. Buffers with no required bytes are not checked.
///
/// # Errors
/// The first problem found.
pub(crate) fn check(needs: &[BufferRequirement]) -> Result<(), CudaError> {
    let used = || needs.iter().filter(|need| need.bytes > 0);
    for &BufferRequirement { what, place: (address, have), bytes, alignment } in used() {
        if have < bytes {
            return Err(CudaError::Length { what, need: bytes, have });
        }
        if address == 0 {
            return Err(CudaError::Null { what });
        }
        if !address.is_multiple_of(alignment as u64) {
            return Err(CudaError::Misaligned { what, address, need: alignment });
        }
    }
    for (k, one) in used().enumerate() {
        for other in used().skip(k + 1) {
            let end = |need: &BufferRequirement| need.place.0.saturating_add(need.bytes as u64);
            let (address, other_address) = (one.place.0, other.place.0);
            if address < end(other) && other_address < end(one) {
                let (what, other) = (one.what, other.what);
                return Err(CudaError::Overlap { what, address, other, other_address });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks two buffers that each need 100 bytes at a multiple of 4.
    fn two([one, other]: [Place; 2]) -> Result<(), CudaError> {
        let need = |what, place| BufferRequirement { what, place, bytes: 100, alignment: 4 };
        check(&[need("destination", one), need("source", other)])
    }

    #[test]
    fn buffers_are_as_long_and_aligned_as_they_must_be() {
        assert_eq!(two([(400, 100), (500, 100)]), Ok(()));
        assert_eq!(two([(400, 100), (300, 200)]), Ok(()), "only 100 bytes are used");
        assert_eq!(two([(0, 100), (500, 100)]), Err(CudaError::Null { what: "destination" }));
        assert_eq!(
            two([(400, 100), (502, 100)]),
            Err(CudaError::Misaligned { what: "source", address: 502, need: 4 })
        );
        assert_eq!(
            two([(400, 100), (500, 99)]),
            Err(CudaError::Length { what: "source", need: 100, have: 99 })
        );
    }

    #[test]
    fn no_two_overlap() {
        for other_address in [400, 304, 496] {
            let (what, other) = ("destination", "source");
            let overlap = CudaError::Overlap { what, address: 400, other, other_address };
            assert_eq!(two([(400, 100), (other_address, 100)]), Err(overlap));
        }
        let last = u64::MAX - 3;
        assert!(matches!(two([(last, 100), (last, 100)]), Err(CudaError::Overlap { .. })));
        let nothing = |what| BufferRequirement { what, place: (0, 0), bytes: 0, alignment: 4 };
        assert_eq!(check(&[nothing("destination"), nothing("source")]), Ok(()));
        let byte = BufferRequirement { bytes: 1, ..nothing("workspace") };
        assert_eq!(check(&[byte]), Err(CudaError::Length { what: "workspace", need: 1, have: 0 }));
    }
}
