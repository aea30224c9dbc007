//! What carrying a body's weights, corrections and shapes to other meshes leaves, beside closest points and weight inpainting.
//!
//! `cargo xtask bench transfer FOLDER` runs this. FOLDER holds the garments and bodies that the documentation names; the bundled body
//! is read from `assets/body`. Prints a JSON object a row.

mod character;
mod data;
mod levels;
mod rivals;
mod shapes;
mod weights;
mod worn;

use serde_json::json;
use std::path::{Path, PathBuf};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    let wanted = std::env::args().nth(2);
    let parts: [(&str, fn(&Path) -> Result<(), String>); 6] = [
        ("suits", weights::suits),
        ("cloth", weights::cloth),
        ("worn", worn::worn),
        ("shapes", shapes::shapes),
        ("levels", levels::levels),
        ("character", character::character),
    ];
    for (name, run) in parts {
        if wanted.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        if let Err(error) = run(&folder) {
            println!("{}", json!({"error": format!("{name}: {error}")}));
        }
    }
}
