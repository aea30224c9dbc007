//! The page that fits in a browser: one file with the engine inside, and one that has the bundled body as well. `crates/dermis-browser/page`
//! has its parts.

#[path = "../../crates/dermis-browser/src/parts.rs"]
mod parts;

use crate::release::notices::Graph;
use crate::workspace::root;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use parts::{STYLES, app, filled};
use std::io::Write;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// The files of the bundled body that the page offers.
pub const BODY: [&str; 3] = ["body.glb", "body_exercise.npz", "body_walk.npz"];

/// How often zopfli tries.
const ROUNDS: NonZeroU64 = NonZeroU64::new(3).unwrap();

/// Writes both pages into a folder, the one without the body first, and prints their sizes. `tightly` takes longer to pack the engine,
/// which is then 4 % smaller.
///
/// # Errors
/// A text for people.
pub fn make(module: &Path, machine: &str, folder: &Path, tightly: bool) -> Result<[PathBuf; 2], String> {
    let wasm = std::fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    // A worker is a classic script: what others import, it has in itself.
    let engine = read("js/dermis_engine.js")?.replace("\nexport ", "\n");
    let mut parts = vec![
        ("STYLE", STYLES.concat()),
        ("LICENCES", escaped(&Graph::read(machine)?.notices(&["dermis-browser"])?)),
        ("WORKER", engine + &read("crates/dermis-browser/page/worker.js")?),
        ("APP", app()),
        ("WASM", BASE64.encode(if tightly { packed(&wasm) } else { gzipped(&wasm) })),
    ];
    let made = [("dermis.html", String::new()), ("dermis-body.html", body()?)];
    let mut written = Vec::new();
    for (name, body) in made {
        parts.push(("BODY", body));
        let html = filled(&parts)?;
        parts.pop();
        let path = folder.join(name);
        std::fs::write(&path, &html).map_err(|error| format!("{}: {error}", path.display()))?;
        let megabytes = |bytes: usize| bytes as f64 * 1e-6;
        let packed = gzipped(html.as_bytes()).len();
        println!("{}: {:.2} MB, {:.2} MB compressed", path.display(), megabytes(html.len()), megabytes(packed));
        written.push(path);
    }
    <[PathBuf; 2]>::try_from(written).map_err(|_| "two pages were to be written".into())
}

/// The body's files as the page reads them: names, and bytes in base64.
fn body() -> Result<String, String> {
    let file = |name: &str| {
        let path = root().join("assets/body").join(name);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>((name.to_owned(), BASE64.encode(bytes)))
    };
    let files = BODY.map(file).into_iter().collect::<Result<Vec<_>, _>>()?;
    serde_json::to_string(&files).map_err(|error| error.to_string())
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    // A vector takes whatever is written to it.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_default()
}

/// The same by zopfli, which searches longer.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let options = zopfli::Options { iteration_count: ROUNDS, ..zopfli::Options::default() };
    let mut packed = Vec::new();
    // A vector takes whatever is written to it.
    let _ = zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut packed);
    packed
}

/// A text as HTML shows it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
