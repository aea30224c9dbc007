//! USD: skinned characters and meshes that move, from text, binary layers and packages.

mod read;

pub use read::read;
