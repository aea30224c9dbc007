//! The Python package `dermis`: its compiled part, `dermis._dermis`.
//!
//! A thin layer over the façade crate `dermis` and its recipes: arrays in, arrays out, JSON between. What is simpler in Python
//! (settings of methods, functions of verbs, what a notebook shows) is Python, in `python/dermis`.
//!
//! Work runs on a thread of its own without the interpreter's lock (`work`); the calling thread looks after Ctrl-C and progress.

mod arrays;
mod carried;
mod errors;
mod examples;
mod fit;
mod ik;
mod invert;
mod methods;
mod model;
mod parts;
mod recipes;
mod rig;
mod scores;
mod shapes;
mod springs;
mod work;

/// The compiled part of the package dermis.
#[pyo3::pymodule]
mod _dermis {
    #[pymodule_export]
    use crate::carried::Carried;
    #[pymodule_export]
    use crate::examples::Examples;
    #[pymodule_export]
    use crate::fit::{FitResult, fit};
    #[pymodule_export]
    use crate::ik::solve;
    #[pymodule_export]
    use crate::invert::{InverseResult, InverseSearch, inverse};
    #[pymodule_export]
    use crate::methods::{checked_method, methods, preset_method, presets};
    #[pymodule_export]
    use crate::model::{Model, runner_seconds};
    #[pymodule_export]
    use crate::parts::{PartsResult, fit_part, fit_parts, merge_parts};
    #[pymodule_export]
    use crate::recipes::{program, run};
    #[pymodule_export]
    use crate::rig::Rig;
    #[pymodule_export]
    use crate::scores::{ScoreResult, compare, evaluate};
    #[pymodule_export]
    use crate::shapes::shapes;
    #[pymodule_export]
    use crate::springs::Springs;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
