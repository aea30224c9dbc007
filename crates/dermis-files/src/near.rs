//! What a path that leads to no file may have meant.

use crate::phrase::Phrase;
use crate::place;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Entries of a folder that are looked at.
const LOOKED_AT: usize = 4096;

/// Names that are listed.
const LISTED: usize = 3;

/// Why the system refused a path, in words.
pub(crate) fn reason(source: &io::Error) -> String {
    match source.kind() {
        ErrorKind::NotFound => "no such file".into(),
        ErrorKind::IsADirectory => "this is a folder, not a file".into(),
        ErrorKind::NotADirectory => "no such file: a part of its path is a file, not a folder".into(),
        _ => source.to_string(),
    }
}

/// What to do about a path that the system refused: names near it, or what a folder holds.
pub(crate) fn remedy(path: &Path, source: &io::Error) -> Phrase {
    let said = match source.kind() {
        ErrorKind::NotFound => of_missing(path),
        ErrorKind::IsADirectory => of_folder(path),
        _ => None,
    };
    said.map_or_else(Phrase::default, Phrase::text)
}

/// A folder that is not there, or names near that of a file that is not there.
fn of_missing(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !place::exists(folder) {
        let near = of_missing(folder).map_or(String::new(), |near| format!(": {near}"));
        return Some(format!("there is no folder \"{}\"{near}", folder.display()));
    }
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let mut near: Vec<(usize, String)> =
        names_in(folder).into_iter().filter_map(|name| Some((distance(&wanted, &name)?, name))).collect();
    near.retain(|(_, name)| *name != wanted); // a link that leads nowhere
    near.sort();
    let least = near.first()?.0;
    let names = near.iter().filter(|(distance, _)| *distance == least).take(LISTED);
    let shown = |name: &str| match folder == Path::new(".") {
        true => format!("\"{name}\""),
        false => format!("\"{}\"", folder.join(name).display()),
    };
    let names: Vec<String> = names.map(|(_, name)| shown(name)).collect();
    Some(format!("did you mean {}?", names.join(" or ")))
}

/// The first files of a folder.
fn of_folder(folder: &Path) -> Option<String> {
    let mut names = names_in(folder);
    names.retain(|name| place::is_file(&folder.join(name)));
    names.sort_by(|a, b| dermis_io::obj::natural_order(a, b));
    let more = if names.len() > LISTED { ", …" } else { "" };
    let listed: Vec<String> = names.iter().take(LISTED).map(|name| format!("\"{name}\"")).collect();
    match listed.is_empty() {
        true => Some("name a file; there is none in this folder".into()),
        false => Some(format!("name a file in it: {}{more}", listed.join(", "))),
    }
}

/// Names in a folder that do not begin with a dot.
fn names_in(folder: &Path) -> Vec<String> {
    let names = place::names(folder).into_iter().flatten().take(LOOKED_AT).filter_map(|name| name.into_string().ok());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// How far two names are apart; `None` if one is not near the other. Names that differ in their endings alone are near, and so are
/// those a letter in four of which was left out, added, changed, or exchanged with the next; case does not count.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let edits = edits(&wanted, &name);
    let is_near = edits <= (wanted.chars().count() / 4).clamp(1, 3);
    match (is_near, stem(&wanted) == stem(&name)) {
        (true, _) => Some(edits),
        (false, true) => Some(4),
        (false, false) => None,
    }
}

/// Letters that are left out, added, changed or exchanged with the next between two words (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut two: Vec<usize> = vec![0; b.len() + 1];
    let mut one: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut this = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            this[j] = (one[j] + 1).min(this[j - 1] + 1).min(one[j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                this[j] = this[j].min(two[j - 2] + 1);
            }
        }
        (two, one) = (one, this);
    }
    one[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, expected) in [
            ("walk.glb", "walk.glb", 0),
            ("wlak.glb", "walk.glb", 1),
            ("walk", "walks", 1),
            ("hero.glb", "heor.gb", 2),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((edits(a, b), edits(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_names_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["hero.glb", "Walk.glb", "walk_02.glb", "other.fbx", ".hidden"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::create_dir(path("poses")).unwrap();
        let said = |name: &str| {
            let missing = io::Error::from(ErrorKind::NotFound);
            remedy(&path(name), &missing)
                .written(|_| unreachable!())
                .replace(&format!("{}/", folder.path().display()), "")
        };
        assert_eq!(said("hreo.glb"), "did you mean \"hero.glb\"?");
        assert_eq!(said("walk.glb"), "did you mean \"Walk.glb\"?");
        assert_eq!(said("walk_03.glb"), "did you mean \"walk_02.glb\"?");
        assert_eq!(said("other.abc"), "did you mean \"other.fbx\"?");
        assert_eq!(said("hidden"), "");
        assert_eq!(said("nothing like it.npz"), "");
        assert_eq!(said("pose/a.glb"), "there is no folder \"pose\": did you mean \"poses\"?");
        let folder_for_file = remedy(folder.path(), &ErrorKind::IsADirectory.into()).written(|_| unreachable!());
        assert_eq!(folder_for_file, "name a file in it: \"Walk.glb\", \"hero.glb\", \"other.fbx\", …");
        assert_eq!(
            remedy(&path("poses"), &ErrorKind::IsADirectory.into()).written(|_| unreachable!()),
            "name a file; there is none in this folder"
        );
    }
}
