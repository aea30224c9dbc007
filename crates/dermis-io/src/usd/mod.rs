//! USD out: skinned characters and moving points, as text (.usda) or as a package with its pictures (.usdz).

mod write;

pub use write::{Container, Frames, write, write_points};
