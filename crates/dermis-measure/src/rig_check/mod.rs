//! What is seen of a rig before anything is learnt: connected components and seams of its mesh, left and right, and what every bone holds.
//!
//! - [`islands`]: connected components, seams, borders;
//! - [`symmetry`]: the mirror plane, what has no partner on its other side, and weights that differ from their partner's;
//! - [`bones`]: the vertices that every bone moves.
//!
//! ```
//! use dermis_measure::rig_check::Islands;
//! use dermis_rig::{Mesh, glam::DVec3};
//! let corner = |x: f64| [DVec3::X * x, DVec3::X * x + DVec3::Y, DVec3::X * x + DVec3::Z];
//! let positions = [corner(0.0), corner(5.0)].concat();
//! let two = Mesh { positions, triangles: vec![[0, 1, 2], [3, 4, 5]], ..Mesh::default() };
//! let islands = Islands::of(&two);
//! assert_eq!((islands.sizes.len(), islands.borders.len()), (2, 6));
//! ```

pub mod bones;
pub mod islands;
pub mod symmetry;

pub use bones::BoneShare;
pub use islands::Islands;
pub use symmetry::Symmetry;
