//! Without a context, a GPU, a driver or the backend: a typed error, never a panic; and which types threads may share.

use turntile_cuda::{CudaError, Gpu, Kernels, Loaded, Prepared, Stopwatch};

/// With the backend and without.
#[test]
fn threads_may_share_everything() {
    fn shared<T: Send + Sync>() {}
    shared::<Gpu>();
    shared::<Prepared>();
    shared::<Loaded>();
    shared::<Kernels>();
    shared::<Stopwatch>();
}

#[test]
fn no_gpu_is_an_answer() {
    let answer = Gpu::current().map(|gpu| *gpu.chip().limits());
    if cfg!(feature = "cuda") {
        // 100 from the stand-in library, 3 or 201 from a driver that no program has initialised.
        assert!(
            matches!(answer, Err(CudaError::Driver { call: "cuCtxGetDevice", .. })),
            "{answer:?}"
        );
        let answer = Gpu::primary(usize::MAX).map(|gpu| *gpu.chip().limits());
        assert!(matches!(answer, Err(CudaError::Driver { .. })), "{answer:?}");
    } else {
        assert_eq!(answer, Err(CudaError::NoBackend));
        assert_eq!(Gpu::primary(0).map(|gpu| *gpu.chip().limits()), Err(CudaError::NoBackend));
    }
}
