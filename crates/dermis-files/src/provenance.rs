//! Which files something was made from, said without the folders of whoever made it, and found again.
//!
//! A model and its report are given away. What they say of their inputs ([`Provenance::stated`]) is therefore the path below their own
//! folder, or the name alone of a file elsewhere. [`load::found`](crate::load::found) goes the other way.

use crate::place;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// How much a model, a page or a report says of the places of the files that it was made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Paths below its own folder, and the names alone of files elsewhere.
    #[default]
    Relative,
    /// Paths as the user named them.
    Full,
}

impl Provenance {
    /// Whether it is the usual one.
    pub fn is_relative(&self) -> bool {
        *self == Self::Relative
    }

    /// Returns `path` as a file in `folder` states it, with `/` between its parts. Links in folders are followed, so that two names of a
    /// folder are one.
    pub fn stated(self, path: &Path, folder: &Path) -> PathBuf {
        match self {
            Self::Full => path.into(),
            Self::Relative => below(path, folder).unwrap_or_else(|| name_of(path).into()),
        }
    }

    /// Returns the same of a path as text, such as one that a [`FileNote`](crate::load::FileNote) has.
    pub fn stated_text(self, path: &str, folder: &Path) -> String {
        self.stated(Path::new(path), folder).display().to_string()
    }

    /// Returns a word of a command line with the path in it stated: `FILE`, `FILE#PART`, `FILE@POSE`, `--option=FILE`, `kind:FILE`, or a
    /// command of words. Words that name no folder stay as they are.
    pub fn stated_word(self, word: &str, folder: &Path) -> String {
        let separators = ['/', '\\'];
        if self == Self::Full || !word.contains(separators) {
            return word.into();
        }
        // A setting's value, and what follows the name of a kind (table:maps.npz), are paths of their own; a drive is no kind.
        let after = |from: usize, mark: char, least: usize| {
            let at = word[from..].find(mark).filter(|at| *at >= least && !word[from..from + at].contains(separators));
            at.map_or(from, |at| from + at + 1)
        };
        let start = after(after(0, '=', 1), ':', 2);
        let (before, rest) = word.split_at(start);
        let is_one = rest.starts_with(separators) || is_drive(rest) || place::exists(Path::new(rest));
        if !is_one && rest.contains(char::is_whitespace) {
            let words: Vec<String> = rest.split_whitespace().map(|word| self.stated_word(word, folder)).collect();
            return format!("{before}{}", words.join(" "));
        }
        let name = rest.rfind(separators).map_or(0, |at| at + 1);
        let ends = |at: &usize| place::exists(Path::new(&rest[..*at]));
        let part = rest.find('#').filter(ends).or_else(|| rest[name..].find(['#', '@']).map(|at| name + at));
        let (path, part) = rest.split_at(part.filter(|_| !place::exists(Path::new(rest))).unwrap_or(rest.len()));
        if path.is_empty() {
            return word.into();
        }
        format!("{before}{}{part}", self.stated_text(path, folder))
    }
}

/// The folder of an output.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The last part of a path of any system: a recipe may come from another one.
pub fn name_of(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_separator = |c: char| c == '/' || c == '\\';
    text.trim_end_matches(is_separator).rsplit(is_separator).find(|part| !part.is_empty()).unwrap_or(".").to_owned()
}

/// The path below a folder; `None` of what lies elsewhere.
fn below(path: &Path, folder: &Path) -> Option<PathBuf> {
    let folder = real(folder)?;
    let inside = match path.file_name() {
        // The link itself, wherever it leads, is what the user named.
        Some(name) => real(folder_of(path))?.join(name),
        None => real(path)?,
    };
    let inside = inside.strip_prefix(&folder).ok()?;
    let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
    let parts = parts?;
    // A name with the separators or the drive of another system is a path there.
    let is_plain = parts.iter().all(|part| !part.contains('\\') && !is_drive(part));
    is_plain.then(|| if parts.is_empty() { ".".into() } else { parts.join("/").into() })
}

/// A folder without links and without `..`; where it is not there, as far as that can be told.
fn real(folder: &Path) -> Option<PathBuf> {
    if let Ok(real) = place::real(folder) {
        return Some(real);
    }
    let mut plain = PathBuf::new();
    for part in place::absolute(folder).ok()?.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Whether a name begins as a path with a drive does.
fn is_drive(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths below the folder stay, however they are written; of others the name is left, also of another system's.
    #[test]
    fn paths_are_stated_below_the_folder_or_by_name() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        std::fs::create_dir_all(at("models/data")).unwrap();
        std::fs::create_dir_all(at("elsewhere/frames")).unwrap();
        let stated = |path: PathBuf| Provenance::Relative.stated(&path, &at("models")).display().to_string();
        for (path, says) in [
            ("models/data/walk.npz", "data/walk.npz"),
            ("models/./data/../walk.npz", "walk.npz"),
            ("elsewhere/../models/data/walk.npz", "data/walk.npz"),
            ("models/nowhere/../walk.npz", "walk.npz"),
            ("elsewhere/walk.npz", "walk.npz"),
            ("elsewhere/frames/", "frames"),
            ("models/../elsewhere/frames", "frames"),
            ("models", "."),
            ("models/C:\\Users\\bob\\walk.npz", "walk.npz"),
        ] {
            assert_eq!(stated(at(path)), says, "{path}");
        }
        assert_eq!(stated("C:\\Users\\bob\\walk.npz".into()), "walk.npz");
        assert_eq!(stated("\\\\server\\share\\bob\\".into()), "bob");
        let full = at("elsewhere/walk.npz");
        assert_eq!(Provenance::Full.stated(&full, &at("models")), full);
        // A folder and a link to it are one place.
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("models"), at("link")).unwrap();
            assert_eq!(stated(at("link/data/walk.npz")), "data/walk.npz");
            std::os::unix::fs::symlink(at("elsewhere/frames"), at("models/shots")).unwrap();
            assert_eq!(stated(at("models/shots")), "shots");
        }
    }

    #[test]
    fn words_of_a_command_line_keep_all_but_folders() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("work");
        std::fs::create_dir(&folder).unwrap();
        let said = |word: &str| {
            Provenance::Relative.stated_word(&word.replace("HERE", &folder.display().to_string()), &folder)
        };
        for (word, says) in [
            ("HERE/rig.glb", "rig.glb"),
            ("HERE/in/walk.glb#Run fast", "in/walk.glb#Run fast"),
            ("/home/ann/elbow.obj@12", "elbow.obj@12"),
            ("--report=/home/ann/page.html", "--report=page.html"),
            ("--maps=table:/home/ann/maps.npz", "--maps=table:maps.npz"),
            ("table:HERE/maps.npz", "table:maps.npz"),
            ("lock-weights=/home/ann/lock.json", "lock-weights=lock.json"),
            ("python3 /home/ann/deform.py --fast", "python3 deform.py --fast"),
            ("/home/ann lee/my walk.npz", "my walk.npz"),
            ("/home/ann@home/elbow.obj@walk:12", "elbow.obj@walk:12"),
            ("C:\\Users\\ann\\rig.glb", "rig.glb"),
            ("--pass=1 mm in 98 %", "--pass=1 mm in 98 %"),
            ("rig.glb", "rig.glb"),
            ("-o", "-o"),
        ] {
            assert_eq!(said(word), says);
        }
    }
}
