mod agreement;
mod refusals;

use dermis_gpu::{Gpu, Prefer};

fn gpu() -> Gpu {
    Gpu::open(Prefer::Hardware).unwrap_or_else(|error| panic!("these tests need a graphics adapter: {error}"))
}
