//! Stages of USD that usd-core wrote (`tools/usd_fixtures.py`), and where it has their points.

/// An arm of two skinned meshes with blend shapes, as text.
pub const ARM_TEXT: &[u8] = include_bytes!("../usd/arm.usda");
/// The same, binary.
pub const ARM: &[u8] = include_bytes!("../usd/arm.usdc");
/// The same in a package.
pub const ARM_PACKAGE: &[u8] = include_bytes!("../usd/arm.usdz");
/// Two meshes on a joint, with shapes in between on one of them, as text.
pub const MOUTH_TEXT: &[u8] = include_bytes!("../usd/mouth.usda");
/// The same, binary.
pub const MOUTH: &[u8] = include_bytes!("../usd/mouth.usdc");
/// A sheet that waves below a turning transform, and a mesh whose faces change.
pub const SHEET: &[u8] = include_bytes!("../usd/sheet.usdc");
/// A scene of references, inherits, variants, payloads and sublayers, whose other files are those of [`beside`].
pub const SCENE: &[u8] = include_bytes!("../usd/scene.usda");
/// By file a list of moments: `time` in seconds, and `positions` of all vertices, metres and Y up.
pub const POSITIONS: &str = include_str!("../usd/positions.json");

/// A file beside [`SCENE`].
pub fn beside(path: &str) -> Option<&'static [u8]> {
    match path {
        "parts/asset.usdc" => Some(include_bytes!("../usd/parts/asset.usdc")),
        "parts/below.usda" => Some(include_bytes!("../usd/parts/below.usda")),
        _ => None,
    }
}
