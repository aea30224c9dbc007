//! Text that other programs and readers rely on, stored beside the tests.

use std::path::Path;

/// Compares a text with a stored file, or stores it if `DERMIS_UPDATE_SNAPSHOTS` is 1.
///
/// # Panics
/// If the two differ, with the first line that does, and if the file cannot be read or stored.
pub fn compare_with_stored(path: &Path, text: &str) {
    let file = path.display();
    if std::env::var("DERMIS_UPDATE_SNAPSHOTS").is_ok_and(|value| value == "1") {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let stored = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"));
    if let Some((line, (stored, new))) = stored.lines().zip(text.lines()).enumerate().find(|(_, (a, b))| a != b) {
        panic!("{file}, line {}: stored\n{stored}\nnow\n{new}\nDERMIS_UPDATE_SNAPSHOTS=1 stores it", line + 1);
    }
    assert!(stored == text, "{file}: the text has {} bytes, {} are stored", text.len(), stored.len());
}
