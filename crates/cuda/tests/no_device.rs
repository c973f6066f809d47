//! Without a context, a GPU, a driver or the backend, calls return a typed error and never panic.
//! Also checks the types that threads can share.

use turntile_cuda::{CudaError, Gpu, Prepared, Stopwatch, UserKernels};

/// Types are `Send` and `Sync` with and without the backend. A stopwatch runs plans on its own
/// memory and workspace, so it only reads the plans.
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
        // No driver, a driver that no program has initialised, or fewer GPUs.
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
