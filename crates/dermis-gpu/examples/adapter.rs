//! Names the graphics adapter that would be used. Exits with 3 if there is none.

use dermis_gpu::{Gpu, Prefer};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Gpu::open(Prefer::Hardware) {
        Ok(gpu) => {
            let info = gpu.info;
            println!(
                "{} ({:?}, {:?}, {} {})",
                info.name, info.device_type, info.backend, info.driver, info.driver_info
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}; Debian's package mesa-vulkan-drivers has one in software");
            ExitCode::from(3)
        }
    }
}
