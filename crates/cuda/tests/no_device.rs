//! Without a context, a GPU, a driver or the backend: a typed error, never a panic; and which types threads may share.

use turntile_cuda::{CudaError, Gpu, Prepared, Stopwatch, UserKernels};

/// With the backend and without. A stopwatch runs plans on memory and workspace of its own, so that they are only read.
#[test]
fn threads_may_share_everything() {
    fn shared<T: Send + Sync>() {}
    shared::<Gpu>();
    shared::<Prepared>();
    shared::<UserKernels>();
    shared::<Stopwatch>();
}

#[test]
fn no_gpu_is_an_answer() {
    let [current, last] = [Gpu::current(), Gpu::primary(usize::MAX)]
        .map(|answer| answer.map(|gpu| *gpu.device().limits()).unwrap_err());
    if cfg!(all(feature = "cuda", target_os = "linux")) {
        // No driver, or one that no program has initialised, or that has not so many GPUs.
        match &current {
            CudaError::NoDriver { .. } => assert_eq!(current, last),
            CudaError::Driver { call: "cuCtxGetDevice", .. } => assert!(
                matches!(last, CudaError::NoDevice | CudaError::Driver { call: "cuDeviceGet", .. }),
                "{last:?}"
            ),
            _ => panic!("{current:?}"),
        }
    } else {
        assert_eq!([current, last], [CudaError::NoBackend, CudaError::NoBackend]);
    }
}
