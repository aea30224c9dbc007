//! What a body has learnt, carried to meshes that it has nothing in common with but the place: clothes, levels of detail, remeshed
//! copies; and, once the body has the proportions of another character, to that character.
//!
//! Everything goes through one linear operator P, a row of body vertices per vertex of the target, whose entries are never negative
//! and sum to one. Skinning weights, coefficients of corrections, radii of balls and shapes then stay what they are: convex
//! combinations of the body's.
//!
//! | module | what it has |
//! |---|---|
//! | [`body`] | the surface that is carried from, and which of its points a vertex belongs to |
//! | [`operator`] | P: matches, trust, and the smoothing that fills in where no match is trusted |
//! | [`islands`] | connected pieces of the target, among them small ones that stay rigid |
//! | [`weights`] | skinning weights |
//! | [`model`] | a model in coefficient form: base, corrections, shapes |
//! | [`objects`] | a body and its clothes as objects of one mesh |
//! | [`proportions`] | a body in the proportions of another character |
//! | [`register`] | the skin of another character laid onto the body |
//! | [`clearance`] | how far clothes lie from a skin, and how much of them lies in it |
//!
//! The crate opens no path and knows no format.

pub mod body;
pub mod clearance;
pub mod error;
pub mod islands;
pub mod model;
pub mod objects;
pub mod operator;
mod place;
pub mod proportions;
pub mod register;
pub mod weights;

pub use body::Body;
pub use clearance::{Clearance, Skin};
pub use error::TransferError;
pub use islands::Island;
pub use model::carried_model;
pub use objects::{joined_model, joined_weights, object_mesh, object_weights};
pub use operator::{Operator, Settings};
pub use proportions::Proportions;
pub use register::laid_onto;
pub use weights::{carried_weights, rough_vertices};
