//! What can go wrong between a model and a graphics card.

use dermis_rig::MeshError;

/// A form of model or normals that no shader computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// Its positions answer a system of equations in every pose.
    #[error("rotational regression does not run on a graphics card")]
    RotationalRegression,
    /// Its deformers run in 64 bits, one after another.
    #[error("a stack of deformers does not run on a graphics card")]
    Stack,
    /// The positions of the base would have to be sent with every pose.
    #[error("a model over given positions does not run on a graphics card")]
    Given,
    /// Its price grows with the number of examples.
    #[error("an uncompiled pose space does not run on a graphics card; compile it to shapes")]
    PoseSpace,
    /// A blended matrix does not know what a correction does.
    #[error("a corrected model has no skinned normals; ask for normals of the mesh")]
    SkinnedNormals,
}

/// Why a model does not run on a graphics card.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GpuError {
    /// No adapter of the kind asked for. Drivers are missing, or there is no card.
    #[error("there is no {wanted} graphics adapter (found: {found})")]
    NoAdapter {
        /// What was asked for.
        wanted: &'static str,
        /// Names of the adapters there are.
        found: String,
    },
    /// The driver does not open the device.
    #[error("the graphics device does not open: {0}")]
    NoDevice(String),
    /// This form of model has no shader.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// More than the device can address.
    #[error("{what}: {size}, but the device takes at most {most}")]
    TooLarge {
        /// What is too large, and its unit.
        what: &'static str,
        /// How large it is.
        size: u64,
        /// The device's limit.
        most: u64,
    },
    /// Two parts of the input do not go together.
    #[error("{what}: {found} where the model needs {needed}")]
    Mismatch {
        /// What differs.
        what: &'static str,
        /// What was given.
        found: usize,
        /// What the model needs: a count, or the bound of an index.
        needed: usize,
    },
    /// A triangle names a vertex that does not exist.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The device's memory is full.
    #[error("the graphics device is out of memory: {0}")]
    OutOfMemory(String),
    /// The device failed or was lost.
    #[error("the graphics device failed: {0}")]
    Failed(String),
}
