//! The integration tests, one program: each is linked anew. Those by their paths compare the library with files of the repository: no package has them.

mod bench;
#[cfg(all(feature = "cuda", target_os = "linux"))]
#[path = "../../cuda/tests/children.rs"]
mod children;
#[path = "../../turntile/tests/common/mod.rs"]
mod common;
#[path = "../../../tests/declared.rs"]
mod declared;
#[path = "../../../tests/args.rs"]
mod device_code;
#[path = "../../../tests/documented.rs"]
mod documented;
#[path = "../../turntile/tests/driver/draw.rs"]
#[allow(dead_code, reason = "only a part is used")]
mod draw;
mod drawn_grids;
#[cfg(all(feature = "cuda", target_os = "linux"))]
mod gpu_memory;
mod grids;
mod header;
mod kernels;
mod params;
#[path = "../../../tests/regret.rs"]
mod regret;
mod report;
mod thesis;
mod tracked;
