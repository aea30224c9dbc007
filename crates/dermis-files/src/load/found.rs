//! Files of a recipe, which may lie elsewhere than when it was made.

use super::{Source, hash_of};
use crate::error::FileError;
use crate::place;
use crate::provenance::name_of;
use std::path::{Path, PathBuf};

/// Finds the file that a recipe names: where the path leads from the folder of the recipe, or from the working folder, else by its name
/// alone in either. Of several, the one with the hash that the recipe states.
///
/// # Errors
/// [`FileError::Lacks`] if there is none.
pub fn found(source: &Source, hash: Option<&str>, folder: &Path) -> Result<Source, FileError> {
    let path = &source.path;
    let name = PathBuf::from(name_of(path));
    let is_here = folder.as_os_str().is_empty() || folder == Path::new(".");
    let beside = |path: &Path| if is_here { path.to_path_buf() } else { folder.join(path) };
    // A file with # in its name was written as one, and read as a part of another where it was not seen.
    let whole = PathBuf::from(source.to_string());
    if let Some(whole) = [beside(&whole), whole].into_iter().find(|whole| source.part.is_some() && place::exists(whole))
    {
        return Ok(Source { path: whole, part: None });
    }
    let mut candidates: Vec<PathBuf> = Vec::new();
    for candidate in [beside(path), path.clone(), beside(&name), name] {
        if place::exists(&candidate) && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let is_stated = |path: &&PathBuf| hash.is_none_or(|hash| hash_of(path).is_ok_and(|found| found == hash));
    let best = match &candidates[..] {
        [] => {
            let place = match is_here {
                true => "the working folder".to_owned(),
                false => format!("\"{}\", the folder of the recipe, nor in the working folder", folder.display()),
            };
            return Err(FileError::lacks(
                path,
                format!("the recipe was made from this file, and it is not in {place}"),
                "copy it there, or change its path in the recipe: `dermis recipe` prints that of a model",
            ));
        }
        [only] => only,
        // With none of that hash, the first is refused by its own.
        several => several.iter().find(is_stated).unwrap_or(&several[0]),
    };
    Ok(Source { path: best.clone(), part: source.part.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_recipe_are_found_beside_it_then_here_and_by_their_hash() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        std::fs::create_dir_all(at("models/data")).unwrap();
        std::fs::write(at("models/walk.npz"), "one").unwrap();
        std::fs::write(at("models/data/walk.npz"), "two").unwrap();
        let hash = hash_of(&at("models/walk.npz")).unwrap();
        let find = |text: &str, hash: Option<&str>| {
            let source = Source { path: text.into(), part: Some("a*".into()) };
            found(&source, hash, &at("models"))
        };
        let is = |text: &str, hash: Option<&str>, place: &str| {
            let found = find(text, hash).unwrap();
            assert_eq!((found.path, found.part.as_deref()), (at(place), Some("a*")), "{text}");
        };
        is("data/walk.npz", None, "models/data/walk.npz");
        is("data/walk.npz", Some(&hash), "models/walk.npz");
        is("data/walk.npz", Some("0123456789abcdef"), "models/data/walk.npz");
        is("../elsewhere/walk.npz", None, "models/walk.npz");
        is("C:\\Users\\ann\\walk.npz", None, "models/walk.npz");
        is("/home/ann/walk.npz", None, "models/walk.npz");
        is(&at("models/data/walk.npz").display().to_string(), None, "models/data/walk.npz");
        let missing = find("../elsewhere/run.npz", None).unwrap_err().to_string();
        assert!(missing.contains("run.npz") && missing.contains("the folder of the recipe"), "{missing}");
        std::fs::write(at("models/a#b.npz"), "three").unwrap();
        let whole = found(&Source { path: "a".into(), part: Some("b.npz".into()) }, None, &at("models")).unwrap();
        assert_eq!((whole.path, whole.part), (at("models/a#b.npz"), None));
        assert!(
            found(&"run.npz".into(), None, Path::new(""))
                .unwrap_err()
                .to_string()
                .contains("not in the working folder")
        );
    }
}
