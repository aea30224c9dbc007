//! USD: skinned characters and meshes that move. Read from text, binary layers and packages; written as text (.usda) or as a package with
//! its pictures (.usdz).

mod read;
mod write;

pub use read::read;
pub use write::{Container, Frames, write, write_points};
