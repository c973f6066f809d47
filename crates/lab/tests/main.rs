//! The integration tests, one program: each is linked anew. Those by their paths compare the library with files of the repository: no package has them.

mod bench;
#[path = "../../turntile/tests/common/mod.rs"]
mod common;
#[path = "../../../tests/declared.rs"]
mod declared;
#[path = "../../../tests/args.rs"]
mod device_code;
#[path = "../../../tests/documented.rs"]
mod documented;
mod kernels;
mod params;
#[path = "../../../tests/regret.rs"]
mod regret;
mod report;
mod thesis;
