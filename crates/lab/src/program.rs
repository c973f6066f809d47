//! Launches over several buffers, as data: the lab's own kernels, and turntile's transpositions between them.

use turntile_cuda::Work;

use crate::code::Code;
use crate::params::Params;

/// A launch of one of the lab's kernels, for buffers as long as [`ladder`](crate::ladder), [`gaussian`](crate::gaussian),
/// [`moved`](crate::moved), [`saxpy`](crate::saxpy) and [`steering`](crate::steering) say, who alone can put it into a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// Where its kernel is.
    pub code: Code,
    /// The entry point.
    pub entry: &'static str,
    /// Blocks.
    pub groups: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The parameter.
    pub params: Params,
}

/// What is done, with the numbers of its buffers.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A kernel of the lab's, from the second buffer to the first, or in place of the first with flags in the second.
    Kernel(Launch, [usize; 2]),
    /// A transposition of turntile's, from the second buffer to the first, or in place of the first, the second being its
    /// workspace.
    Work(Box<Work>, [usize; 2]),
}

/// Steps, in order, over the same buffers, each of which is as long as they need it.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    steps: Vec<Step>,
    buffers: Vec<usize>,
}

/// Buffers begin at multiples of this many bytes.
const ALIGNMENT: usize = 256;

impl Program {
    /// Of nothing yet, over buffers of so many bytes.
    pub(crate) fn new(buffers: &[usize]) -> Self {
        Program { steps: Vec::new(), buffers: buffers.to_vec() }
    }

    /// A transposition of turntile's: buffers `[destination, source]`, in place `[matrix, workspace]`.
    pub fn of(work: Work) -> Self {
        Program::new(&[0, 0]).then(Step::Work(work.into(), [0, 1]))
    }

    /// Then `step`, whose buffers are made as long as it says that it needs them; a kernel of the lab's does not say.
    #[must_use]
    pub(crate) fn then(mut self, step: Step) -> Self {
        let needs = match &step {
            Step::Kernel(..) => None,
            Step::Work(work, buffers) => {
                let second =
                    if work.is_out_of_place() { work.bytes() } else { work.workspace_bytes() };
                Some((*buffers, [work.bytes(), second]))
            }
        };
        if let Some((buffers, bytes)) = needs {
            for (buffer, bytes) in buffers.into_iter().zip(bytes) {
                self.buffers[buffer] = self.buffers[buffer].max(bytes);
            }
        }
        self.steps.push(step);
        self
    }

    /// What is done, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Bytes of each buffer.
    pub fn buffers(&self) -> &[usize] {
        &self.buffers
    }

    /// Bytes from the start of memory to each buffer, one after the other, and to the end of the last.
    pub fn laid_out(&self) -> (Vec<usize>, usize) {
        let mut end = 0usize;
        let place = |&bytes: &usize| {
            let at = end;
            end =
                at.saturating_add(bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX));
            at
        };
        let places = self.buffers.iter().map(place).collect();
        (places, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_lie_one_after_the_other() {
        assert_eq!(Program::new(&[100, 0, 256, 1]).laid_out(), (vec![0, 256, 256, 512], 768));
        assert_eq!(Program::new(&[usize::MAX, 1]).laid_out().1, usize::MAX);
    }
}
