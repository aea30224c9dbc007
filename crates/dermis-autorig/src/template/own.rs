//! A template from any skinned rig.

/// Why a rig makes no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Too few bones that carry skin.
    #[error("{bones} bones carry skin; a template needs {least} or more")]
    Bones {
        /// Bones that carry skin.
        bones: usize,
        /// The fewest.
        least: usize,
    },
}
