//! The verb `session`: a folder that holds a rig, its motions, the sculpts that were made of them, and the models that learnt from these.
//!
//! ```text
//! hero.session/  session.json  rig/hero.glb  motions/HASH.npz  sculpts/HASH.npz  checks/HASH.npz  models/0007.dermis  lock
//! ```
//!
//! `next` hands out poses with the skin of the present model, an artist sculpts what is wrong there, `add` compares the sculpt with
//! what was shown and fits. A sculpt is local: it says how the skin is where it differs from what was shown.
//!
//! Every change writes its files first, named by their content or a new number, and `session.json` last, under another name until it
//! is whole. A program that is killed leaves the old session; what it wrote besides is ignored, and written over. One program writes
//! at a time. States are a list with a place: undoing moves the place, and models stay, so that it brings the same bytes back.

mod add;
mod begin;
pub mod error;
pub mod file;
mod folder;
pub mod live;
mod next;
mod rebase;
pub(crate) mod recipe;
mod scores;
mod states;
mod status;
#[cfg(test)]
mod tests;

pub use add::AddSculpt;
pub use begin::NewSession;
pub use folder::{Access, Session};
pub use next::{NextPoses, Offered};
pub use rebase::Rebase;
pub use states::default_method;
pub use status::lines;
