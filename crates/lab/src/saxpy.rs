//! `y[i * stride] = a * x[i * stride] + y[i * stride]`: what strides cost (thesis figure 2.2, after Bell and Garland).

use bytemuck::Zeroable;

use crate::code::Code;
use crate::params::{Params, SaxpyArgs};
use crate::program::{Launch, Program, Step};

/// The factor `a`.
const FACTOR: f32 = 0.5;
const THREADS: usize = 256;

/// On a GPU: buffers `[y, x]`. None for no elements, for no stride, or for 2^32 and more.
pub fn program(elements: usize, stride: usize) -> Option<Program> {
    let bytes = elements.checked_mul(stride)?.checked_mul(4)?;
    let (elements, stride) = (u32::try_from(elements).ok()?, u32::try_from(stride).ok()?);
    let kernel = Launch {
        code: Code::Saxpy,
        entry: "saxpy_strided",
        groups: elements.div_ceil(THREADS as u32),
        threads: THREADS as u32,
        shared_bytes: 0,
        params: Params::Saxpy(SaxpyArgs { elements, stride, factor: FACTOR, ..Zeroable::zeroed() }),
    };
    (bytes > 0).then(|| Program::new(&[bytes, bytes]).then(Step::Kernel(kernel, [0, 1])))
}

/// The same on the host.
pub fn on_host(y: &mut [f32], x: &[f32], stride: usize) {
    for (y, x) in y.iter_mut().zip(x).step_by(stride.max(1)) {
        *y = FACTOR.mul_add(*x, *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_between_stay() {
        let mut y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        on_host(&mut y, &[2.0; 7], 3);
        assert_eq!(y, [2.0, 2.0, 3.0, 5.0, 5.0, 6.0, 8.0]);
    }

    #[test]
    fn buffers_hold_the_last_element() {
        for (elements, stride) in [(1, 1), (1000, 7), (1 << 23, 32)] {
            let program = program(elements, stride).unwrap();
            let [Step::Kernel(launch, [0, 1])] = program.steps() else { panic!("{program:?}") };
            assert!(launch.groups as usize * THREADS >= elements);
            let last = 4 * ((elements - 1) * stride + 1);
            assert!(program.buffers().iter().all(|bytes| *bytes >= last));
            let declared = format!("{}_param_0[{}]", launch.entry, launch.params.bytes().len());
            assert!(launch.code.ptx().to_str().unwrap().contains(&declared), "no {declared}");
        }
        assert!(
            program(0, 4).is_none() && program(4, 0).is_none() && program(1 << 33, 1).is_none()
        );
    }
}
