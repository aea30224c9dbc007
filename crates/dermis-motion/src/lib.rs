//! Where poses come from: controls with keys, goals, motion capture, exercises. Motions come out, as `dermis-rig` knows them.
//!
//! It opens no file and knows no format.
//!
//! A [`Scene`] is what an animator says: [`Curve`]s through keys, [`Expression`]s, [`Map`]s from controls of meaning to many,
//! [`Layer`]s of clips, driven bones and goals. A [`Player`] plays it on a skeleton, in one pass.

pub mod anatomy;
pub mod body;
pub mod cameras;
pub mod controls;
pub mod crowd;
pub mod curve;
pub mod dynamics;
mod dynamics_spec;
pub mod exercise;
pub mod expression;
pub mod gait;
pub mod goals;
pub mod ik;
pub mod key_path;
pub mod layer;
mod local;
pub mod map;
pub mod markers;
mod noise;
mod play_error;
mod player;
pub mod retarget;
pub mod scene;
pub mod turn;

pub use controls::{Control, Value};
pub use curve::{Beyond, Curve, Ease, Key, KeyFault, Tangent};
pub use expression::Expression;
pub use key_path::{KeyPath, Step};
pub use layer::Layer;
pub use map::Map;
pub use noise::noise;
pub use play_error::PlayError;
pub use player::{Played, Player};
pub use scene::{Clock, Fault, Scene, SceneError};
pub use turn::{Axis, EulerOrder, TurnCurve, TurnEase, TurnKey};
