//! Materials of an OBJ file and the libraries (.mtl) that describe them, in the words of glTF.
//!
//! | library | glTF |
//! |---|---|
//! | `Kd`, `map_Kd` | base colour; a picture takes the place of the colour |
//! | `Ke`, `map_Ke` | emission |
//! | `Pr`, `Pm` | roughness, metalness |
//! | `Ns` | roughness 1 − √(Ns / 1000), where there is no `Pr`, as Blender has it |
//! | `norm`, `map_Bump`, `bump`, each with `-bm` | normal map and its scale: what programs write as bumps are normal maps |
//! | `d`, `Tr` = 1 − d, `map_d` | opacity; `map_d` where it is the picture of the base colour, as its alpha |
//!
//! Colours are linear, as Blender has them. Pictures of anything else, and pictures that are moved or scaled, are counted. What light a
//! surface answers by (`Ka`, `Ks`, `illum`) has no place in glTF.

mod read;
mod write;

pub(super) use read::Used;
pub use write::{Library, library};
pub(super) use write::{in_one_line, name_of, names_of};
