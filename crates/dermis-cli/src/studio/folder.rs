//! The files of a session: those of the command line, those that the page puts, and what recipes write.
//!
//! They are in a temporary folder, in which recipes run. A file of the command line is a link there, so that it is neither copied nor written:
//! an output of its name takes the place of the link. Folders are none, so nothing is written into a folder of the user's.

use super::engine::Failure;
use dermis_workflow::{Error, FileError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};
use tempfile::NamedTempFile;

/// The most files of a folder that is named.
const MOST_FILES: usize = 10_000;
/// How deep folders below a named one are looked into.
const MOST_DEPTH: usize = 8;
/// Formats that name files beside them.
const NAMING: [&str; 6] = ["gltf", "obj", "fbx", "usd", "usda", "usdc"];
/// What these files are: buffers, pictures, materials, caches, layers.
const BESIDE: [&str; 17] = [
    "bin", "png", "jpg", "jpeg", "webp", "ktx2", "tga", "exr", "bmp", "mtl", "xml", "mc", "mcx", "pc2", "usd", "usda",
    "usdc",
];

/// The files of a session.
pub struct Folder {
    /// Where recipes run.
    files: PathBuf,
    /// Files of the command line, by their names in it.
    named: Vec<(String, PathBuf)>,
    /// Files beside them that they may name.
    beside: Vec<(String, PathBuf)>,
}

impl Folder {
    /// The files of a session in an empty folder that is its own. Names of the `named` files are their paths from the innermost folder around
    /// them; a folder stands for its files.
    ///
    /// # Errors
    /// Those of the system; for a file that is none, a folder with too many files, and a name that is no text.
    pub fn new(files: PathBuf, named: &[PathBuf]) -> Result<Self, Error> {
        let (mut found, mut around) = (Vec::new(), Vec::new());
        for path in named {
            let failed = |source| FileError::System { path: path.clone(), source };
            if std::fs::metadata(path).map_err(failed)?.is_dir() {
                let folder = std::fs::canonicalize(path).map_err(failed)?;
                let mut within = Vec::new();
                if !files_below(&folder, MOST_DEPTH, &mut within).map_err(failed)? {
                    let what = format!("the folder holds more than {MOST_FILES} files");
                    return Err(lacks(path, &what, "name the files that are needed"));
                }
                within.sort();
                found.extend(within);
                around.push(folder);
            } else {
                found.push(real_name(path).map_err(failed)?);
                around.extend(found.last().cloned());
            }
        }
        let common = common_folder(&around);
        let mut folder = Self { files, named: Vec::new(), beside: Vec::new() };
        let mut beside = BTreeMap::new();
        for path in found {
            let Some(name) = name_below(&path, &common) else {
                return Err(lacks(&path, "its name is no text", "give it another name"));
            };
            if has_ending(&path, &NAMING)
                && let Some(around) = path.parent()
            {
                let mut others = Vec::new();
                // Where there are too many, those that were found are there; a reader says which one it lacks.
                let _ = files_below(around, 2, &mut others);
                others.retain(|other| has_ending(other, &BESIDE));
                beside.extend(others.into_iter().filter_map(|other| Some((name_below(&other, &common)?, other))));
            }
            if !folder.named.iter().any(|(known, _)| *known == name) {
                folder.named.push((name, path));
            }
        }
        folder.named.iter().for_each(|(name, _)| drop(beside.remove(name)));
        folder.beside = beside.into_iter().collect();
        Ok(folder)
    }

    /// The names of the files of the command line.
    pub fn names(&self) -> Vec<&str> {
        self.named.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Leaves nothing but the files of the command line.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn empty(&self) -> Result<(), Failure> {
        for entry in std::fs::read_dir(&self.files).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            let removed =
                if is_folder { std::fs::remove_dir_all(entry.path()) } else { std::fs::remove_file(entry.path()) };
            removed.map_err(failed)?;
        }
        for (name, path) in self.named.iter().chain(&self.beside) {
            let place = self.files.join(name);
            std::fs::create_dir_all(place.parent().unwrap_or(&self.files)).map_err(failed)?;
            link(path, &place).map_err(|error| {
                Failure::new(format!("\"{}\": {error}", path.display()), "name a file that can be read")
            })?;
        }
        Ok(())
    }

    /// Puts a file, in place of one of that name.
    ///
    /// # Errors
    /// For a name outside of the folder, and if the system refuses.
    pub fn put(&self, name: &str, file: NamedTempFile) -> Result<(), Failure> {
        let place = self.place(name)?;
        let made = std::fs::create_dir_all(place.parent().unwrap_or(&self.files));
        let put = made.and_then(|()| file.persist(place).map_err(|failed| failed.error));
        put.map(drop).map_err(|error| Failure::new(format!("\"{name}\": {error}"), "give the file another name"))
    }

    /// Takes a file away; of a file of the command line its link. Result: its bytes; nothing if there is no such file.
    ///
    /// # Errors
    /// For a name outside of the folder, and if the system refuses.
    pub fn take(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        let place = self.place(name)?;
        let taken = std::fs::read(&place).and_then(|bytes| std::fs::remove_file(&place).map(|()| bytes));
        match taken {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::new(format!("\"{name}\": {error}"), "run what made it again")),
        }
    }

    /// Names and lengths of all files, those of the command line among them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn all(&self) -> Result<Vec<(String, u64)>, Failure> {
        let mut found = Vec::new();
        files_below(&self.files, MOST_DEPTH, &mut found).map_err(failed)?;
        found.sort();
        let file = |path: &PathBuf| Some((name_below(path, &self.files)?, std::fs::metadata(path).ok()?.len()));
        Ok(found.iter().filter_map(file).collect())
    }

    /// The place of a name.
    fn place(&self, name: &str) -> Result<PathBuf, Failure> {
        let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !is_plain || leads_out(name) {
            return Err(outside(name));
        }
        Ok(self.files.join(name))
    }
}

fn lacks(path: &Path, what: &str, remedy: &'static str) -> Error {
    FileError::lacks(path, what, remedy).into()
}

fn failed(error: io::Error) -> Failure {
    Failure::new(format!("the folder of this session: {error}"), "start dermis studio again")
}

fn outside(name: &str) -> Failure {
    let remedy = "drop the file on the page, or name it on the command line of dermis studio";
    Failure::new(format!("\"{name}\" leads out of the files of this page"), remedy)
}

/// Refuses a recipe that names a file outside of the folder, or that runs another program.
///
/// # Errors
/// The refusal.
pub fn refused(recipe: &Value) -> Result<(), Failure> {
    if recipe.pointer("/invert/deformer/program").is_some() {
        let remedy = "run this recipe with dermis run, where you see its command";
        return Err(Failure::new("this recipe runs another program, which a page may not", remedy));
    }
    match texts(recipe).find(|text| leads_out(text)) {
        Some(text) => Err(outside(text)),
        None => Ok(()),
    }
}

/// All texts of a recipe, keys among them.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(values) => Box::new(values.iter().flat_map(texts)),
        Value::Object(map) => {
            Box::new(map.iter().flat_map(|(key, value)| std::iter::once(key.as_str()).chain(texts(value))))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether a text, or a path within it such as that of `table:FILE` or `FILE#PART`, leads out of a folder: from the top, by a drive, or upwards.
fn leads_out(text: &str) -> bool {
    let is_drive = |piece: &str| piece.len() == 1 && piece.starts_with(|x: char| x.is_ascii_alphabetic());
    let mut pieces = text
        .split([':', '=', '#', '@', ',', ';', '"', '\''])
        .flat_map(|piece| piece.split(char::is_whitespace))
        .peekable();
    while let Some(piece) = pieces.next() {
        let after_drive = is_drive(piece) && pieces.peek().is_some_and(|next| next.starts_with(['/', '\\']));
        if after_drive || piece.starts_with(['/', '\\', '~']) || piece.split(['/', '\\']).any(|part| part == "..") {
            return true;
        }
    }
    Path::new(text).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The path of a file from the top, through the links of folders; the file's own name stays.
fn real_name(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = std::fs::canonicalize(folder)?;
    Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
}

/// The name of a file in a folder, with `/` between its parts; nothing if it is no text.
fn name_below(path: &Path, folder: &Path) -> Option<String> {
    let parts = path.strip_prefix(folder).unwrap_or(path).components();
    let parts = parts.filter_map(|part| if let Component::Normal(name) = part { Some(name.to_str()) } else { None });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("/"))
}

/// The innermost folder around all these files and folders.
fn common_folder(around: &[PathBuf]) -> PathBuf {
    let mut folders = around.iter().filter_map(|file| file.parent());
    let mut common = folders.next().map(Path::to_path_buf).unwrap_or_default();
    for folder in folders {
        while !folder.starts_with(&common) && common.pop() {}
    }
    common
}

/// Adds the files in a folder and below, but hidden ones; whether these are all, as far down as was asked for.
fn files_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<bool> {
    for entry in std::fs::read_dir(folder)?.filter_map(Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // A link to a file is one; a link to a folder may lead in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            // What may not be listed is left out.
            if depth > 0 && !files_below(&path, depth - 1, found).unwrap_or(true) {
                return Ok(false);
            }
        } else if path.is_file() {
            found.push(path);
        }
        if found.len() > MOST_FILES {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    endings.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

/// Makes a link to a file; where the system has none, or lets nobody make one, a second name of it or a copy.
fn link(path: &Path, place: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(path, place);
    #[cfg(not(unix))]
    std::fs::copy(path, place).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    fn folder(names: &[&str], named: &[&str]) -> (tempfile::TempDir, Result<Folder, Error>) {
        let top = tempfile::tempdir().unwrap();
        for name in names {
            let path = top.path().join("user").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let files = top.path().join("session");
        std::fs::create_dir(&files).unwrap();
        let named: Vec<PathBuf> = named.iter().map(|name| top.path().join("user").join(name)).collect();
        let made = Folder::new(files, &named);
        (top, made)
    }

    fn put(folder: &Folder, name: &str, text: &str) -> Result<(), Failure> {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        folder.put(name, file)
    }

    #[test]
    fn a_recipe_may_name_what_is_in_the_folder_alone() {
        let named = |file: &str| json!({"inspect": {"files": [{"file": file}]}});
        for inside in [
            "hero.glb",
            "a/b c.npz",
            "walk.glb#run",
            "s.obj@12",
            "./a",
            "a..b",
            "Läufer.npz",
            "mixamorig:Hips",
            "f=a/b",
        ] {
            assert!(refused(&named(inside)).is_ok(), "{inside}");
        }
        for outside in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/..",
            "..",
            "table:/etc/x",
            "table:../x",
            "\\\\host\\x",
            "C:\\x",
            "C:/x",
            "..\\x",
            "a#../x",
            "~/x",
            "/x#part",
            "maps=/x",
            "table:C:/x",
        ] {
            let refusal = refused(&named(outside)).unwrap_err();
            assert!(refusal.text().contains(outside), "{outside}");
            // Wherever it stands.
            assert!(refused(&json!({"fit": {outside: 1}})).is_err() && refused(&json!([[outside]])).is_err());
        }
        let program = json!({"invert": {"deformer": {"program": {"command": "touch x"}}}});
        assert!(refused(&program).unwrap_err().text().contains("program"));
    }

    #[test]
    fn files_of_the_command_line_have_names_below_what_they_share() {
        let (top, folder) = folder(
            &[
                "rigs/hero.gltf",
                "rigs/hero.bin",
                "rigs/textures/skin.png",
                "rigs/other.glb",
                "shots/a.npz",
                "shots/b/c.obj",
                "shots/.d",
            ],
            &["rigs/hero.gltf", "shots"],
        );
        let folder = folder.unwrap();
        assert_eq!(folder.names(), ["rigs/hero.gltf", "shots/a.npz", "shots/b/c.obj"]);
        folder.empty().unwrap();
        let there = |name: &str| top.path().join("session").join(name).exists();
        assert!(there("rigs/hero.bin") && there("rigs/textures/skin.png"));
        assert!(!there("rigs/other.glb") && !there("shots/.d"), "nothing else is there");
    }

    #[test]
    fn what_is_written_leaves_the_users_files_alone() {
        let (top, folder) = folder(&["hero.glb"], &["hero.glb"]);
        let folder = folder.unwrap();
        folder.empty().unwrap();
        put(&folder, "hero.glb", "another").unwrap();
        put(&folder, "a/b.npz", "new").unwrap();
        assert_eq!(folder.take("hero.glb").unwrap().unwrap(), b"another");
        assert_eq!(folder.take("hero.glb").unwrap(), None);
        assert_eq!(std::fs::read(top.path().join("user/hero.glb")).unwrap(), b"hero.glb");
        folder.empty().unwrap();
        assert_eq!(folder.take("a/b.npz").unwrap(), None, "what was put is gone");
        assert_eq!(folder.take("hero.glb").unwrap().unwrap(), b"hero.glb");
        folder.empty().unwrap();
        put(&folder, "a/b.npz", "new").unwrap();
        assert_eq!(folder.all().unwrap(), [("a/b.npz".to_owned(), 3), ("hero.glb".to_owned(), 8)]);
        assert!(top.path().join("user/hero.glb").exists(), "its link was taken, and the file stays");
        for outside in ["../x", "/x", "", "a/../../x"] {
            assert!(put(&folder, outside, "x").is_err() && folder.take(outside).is_err(), "{outside}");
        }
    }

    #[test]
    fn a_folder_keeps_its_own_name() {
        let (_top, folder) = folder(&["hero.session/session.json", "hero.session/.lock"], &["hero.session"]);
        assert_eq!(folder.unwrap().names(), ["hero.session/session.json"]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let (_top, folder) = folder(&[], &["nothing.glb"]);
        assert!(folder.map(|_| ()).unwrap_err().to_string().contains("nothing.glb"));
    }
}
