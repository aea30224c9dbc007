//! Where poses come from: controls with keys, goals, motion capture, exercises. Motions come out, as `dermis-rig` knows them.
//!
//! It opens no file and knows no format.

pub mod anatomy;
pub mod exercise;
pub mod cameras;
pub mod ik;
pub mod markers;
pub mod retarget;
