//! Circles of imports between the files of one crate.
//!
//! A file is a module, and imports every file that one of its paths leads to: `use` and expressions, from `crate`, `super`,
//! `self`, or the name of a child. A name that a folder's face hands on (`pub use child::Name`) belongs to the file that
//! holds it, and handing it on is no import. Files of one folder may import each other in a circle, because they are read
//! together. A circle that crosses a folder joins the two folders into one.

use crate::source::{self, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates with circles across folders, and how many of their files lie on one. Entries only shrink and go; none is added.
pub const CIRCLES_LEFT: &[(&str, usize)] = &[];

/// Files that import each other in a circle across folders, and the imports that tie them.
#[derive(Debug, PartialEq)]
pub struct Circle {
    /// The files, below the crate's `src`.
    pub files: Vec<PathBuf>,
    /// Who imports whom: importing file, imported file, the names as far as they are seen.
    pub ties: Vec<(PathBuf, PathBuf, BTreeSet<String>)>,
}

/// Holds a crate's circles against [`CIRCLES_LEFT`]; findings for people.
pub fn findings(package: &str, source: &Path) -> Result<Vec<String>, String> {
    let mut texts = BTreeMap::new();
    for file in source::rust_files(source)? {
        let below = file.strip_prefix(source).unwrap_or(&file).to_path_buf();
        if !source::is_test_module(&below) {
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            texts.insert(below, text);
        }
    }
    let circles = circles(&texts);
    let found: usize = circles.iter().map(|circle| circle.files.len()).sum();
    let known = CIRCLES_LEFT.iter().find(|(name, _)| *name == package).map(|(_, files)| *files);
    Ok(match known {
        Some(_) if found == 0 => vec![format!("{package} has no circle of imports left: take it out of CIRCLES_LEFT")],
        Some(known) if found <= known => Vec::new(),
        _ => circles.iter().map(|circle| told(package, circle)).collect(),
    })
}

fn told(package: &str, circle: &Circle) -> String {
    let mut text = format!("{package}: {} files import each other in a circle across folders:", circle.files.len());
    for (from, to, names) in &circle.ties {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        text += &format!("\n  {} -> {}: {}", from.display(), to.display(), names.join(", "));
    }
    text
}

/// The circles that cross a folder, among files given by path below `src` and text.
pub fn circles(texts: &BTreeMap<PathBuf, String>) -> Vec<Circle> {
    let files: Vec<File> = texts.iter().map(|(path, text)| File::new(path, text)).collect();
    let house = House { places: files.iter().enumerate().map(|(at, file)| (file.module.clone(), at)).collect(), files };
    let mut ties: Vec<BTreeMap<usize, BTreeSet<String>>> = vec![BTreeMap::new(); house.files.len()];
    for (from, file) in house.files.iter().enumerate() {
        for import in file.imports.iter().filter(|import| !file.hands_on(import)) {
            let (to, name) = house.holder(&import.path, 0);
            if to != from {
                ties[from].entry(to).or_default().insert(name);
            }
        }
    }
    let reached: Vec<BTreeSet<usize>> = (0..ties.len()).map(|start| reach(&ties, start)).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for at in 0..ties.len() {
        let members: BTreeSet<usize> = reached[at].iter().copied().filter(|to| reached[*to].contains(&at)).collect();
        let folders: BTreeSet<&PathBuf> = members.iter().map(|member| &house.files[*member].folder).collect();
        if folders.len() < 2 || !seen.insert(members.clone()) {
            continue;
        }
        let path = |at: usize| house.files[at].path.clone();
        let mut tied = Vec::new();
        for &from in &members {
            for (&to, names) in ties[from].iter().filter(|(to, _)| members.contains(to)) {
                tied.push((path(from), path(to), names.clone()));
            }
        }
        circles.push(Circle { files: members.iter().map(|member| path(*member)).collect(), ties: tied });
    }
    circles
}

/// All files that imports lead to from `start`, in one step or more.
fn reach(ties: &[BTreeMap<usize, BTreeSet<String>>], start: usize) -> BTreeSet<usize> {
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![start]);
    while let Some(at) = waiting.pop() {
        waiting.extend(ties[at].keys().filter(|to| reached.insert(**to)));
    }
    reached
}

/// The files of a crate, and where each module is.
struct House {
    files: Vec<File>,
    places: BTreeMap<Vec<String>, usize>,
}

impl House {
    /// The file that a path from the crate's root leads to, and the name that is taken from it.
    fn holder(&self, path: &[String], depth: usize) -> (usize, String) {
        let mut module: &[String] = &[];
        for (at, name) in path.iter().enumerate() {
            if self.places.contains_key(&path[..=at]) {
                module = &path[..=at];
                continue;
            }
            let file = self.at(module);
            let handed_on = self.files[file].imports.iter().find(|import| import.is_public && import.name == *name);
            // A face may hand on what another face hands on; files that hand a name on to each other end nowhere.
            return match handed_on {
                Some(import) if depth < 8 && import.path != path[..=at] => self.holder(&import.path, depth + 1),
                _ => (file, name.clone()),
            };
        }
        (self.at(module), path.last().cloned().unwrap_or_default())
    }

    fn at(&self, module: &[String]) -> usize {
        self.places.get(module).copied().unwrap_or_default()
    }
}

/// A module of its own.
struct File {
    path: PathBuf,
    /// Names from the crate's root to it.
    module: Vec<String>,
    /// The folder that it belongs to: a file beside a folder of its name is that folder's face.
    folder: PathBuf,
    imports: Vec<Import>,
}

/// One name that a file takes from elsewhere in its crate.
struct Import {
    /// From the crate's root.
    path: Vec<String>,
    /// What it is called in the file.
    name: String,
    /// Whether it is handed on: `pub use`, to whomever.
    is_public: bool,
}

impl File {
    fn new(path: &Path, text: &str) -> Self {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let parent = path.parent().unwrap_or(Path::new(""));
        let mut module: Vec<String> = parent.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_root = module.is_empty() && matches!(stem.as_str(), "lib" | "main");
        if !is_root && stem != "mod" {
            module.push(stem);
        }
        let tokens = source::without_tests(&source::tokens(text));
        let children = children(&tokens);
        let folder = match children.is_empty() || is_root {
            true => parent.to_path_buf(),
            false => module.iter().collect(),
        };
        let imports = imports(&tokens, &module, &children);
        Self { path: path.to_path_buf(), module, folder, imports }
    }

    /// Whether an import only hands on a name of one of this file's own children.
    fn hands_on(&self, import: &Import) -> bool {
        import.is_public && import.path.len() > self.module.len() && import.path.starts_with(&self.module)
    }
}

/// Modules that a file declares and that are files of their own: `mod name;`.
fn children(tokens: &[Token]) -> BTreeSet<&str> {
    let declared = tokens.windows(3).filter(|three| three[0].text == "mod" && three[2].text == ";");
    declared.map(|three| three[1].text.as_str()).collect()
}

/// Every path of a file that leads into its own crate.
fn imports(tokens: &[Token], module: &[String], children: &BTreeSet<&str>) -> Vec<Import> {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let (mut found, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        let follows_path = i >= 2 && text(i - 1) == ":" && text(i - 2) == ":";
        let is_path = text(i + 1) == ":" && text(i + 2) == ":" && !follows_path;
        let base = match text(i) {
            "crate" => Some(Vec::new()),
            "self" => Some(module.to_vec()),
            "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
            child if children.contains(child) => Some([module, &[child.to_owned()]].concat()),
            _ => None,
        };
        let Some(base) = base.filter(|_| is_path) else {
            i += 1;
            continue;
        };
        let is_public = is_public_use(tokens, i);
        i = leaves(tokens, i + 3, base, is_public, &mut found);
    }
    found
}

/// Whether the path at `i` is what a `pub use` or `pub(...) use` begins with.
fn is_public_use(tokens: &[Token], i: usize) -> bool {
    let before = |back: usize| i.checked_sub(back).map_or("", |at| tokens[at].text.as_str());
    before(1) == "use" && matches!(before(2), "pub" | ")")
}

/// Adds the paths that follow `base::`, one for every name in braces; result: one past them.
fn leaves(tokens: &[Token], mut i: usize, base: Vec<String>, is_public: bool, found: &mut Vec<Import>) -> usize {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    if text(i) == "{" {
        i += 1;
        while i < tokens.len() && text(i) != "}" {
            let before = i;
            i = leaves(tokens, i, base.clone(), is_public, found);
            i += usize::from(i == before || text(i) == ",");
        }
        return i + 1;
    }
    let mut path = base;
    match text(i) {
        "self" | "*" | "" => {}
        "super" => drop(path.pop()),
        name => path.push(name.to_owned()),
    }
    i += 1;
    if text(i) == ":" && text(i + 1) == ":" && text(i + 2) != "<" {
        return leaves(tokens, i + 2, path, is_public, found);
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if text(i) == "as" {
        name = text(i + 1).to_owned();
        i += 2;
    }
    found.push(Import { path, name, is_public });
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts = files.iter().map(|(path, text)| (path.into(), (*text).into())).collect();
        let shown = |circle: Circle| circle.files.iter().map(|file| file.display().to_string()).collect();
        circles(&texts).into_iter().map(shown).collect()
    }

    #[test]
    fn a_circle_across_folders_is_found_and_one_inside_a_folder_is_not() {
        let up = [("lib.rs", "mod a; mod b;"), ("a/mod.rs", "mod x;"), ("a/x.rs", "use crate::b::{Y as Z, z};")];
        assert_eq!(found(&[&up[..], &[("b.rs", "use std::fmt;")]].concat()), Vec::<Vec<String>>::new());
        for back in
            ["use crate::a::x::X;", "fn f() { crate::a::x::f(); }", "use super::{a::{x}};", "use crate::a::x::*;"]
        {
            assert_eq!(found(&[&up[..], &[("b.rs", back)]].concat()), [["a/x.rs", "b.rs"]], "{back}");
        }
        for fine in ["#[cfg(test)] mod tests { use crate::a::x::X; }", "// use crate::a::x::X;", "use crate::a::other;"]
        {
            assert_eq!(found(&[&up[..], &[("b.rs", fine)]].concat()), Vec::<Vec<String>>::new(), "{fine}");
        }
        let inside =
            [("a/mod.rs", "mod x; mod y; use x::X;"), ("a/x.rs", "use super::y::Y;"), ("a/y.rs", "use super::X;")];
        assert_eq!(found(&inside), Vec::<Vec<String>>::new());
    }

    #[test]
    fn a_face_hands_names_on_and_holds_none_of_them() {
        // The face of `a` imports nothing, but who takes Y from it takes it from y.rs.
        let house = |y: &'static str| {
            [
                ("a/mod.rs", "mod y; pub use y::Y;"),
                ("a/y.rs", y),
                ("b/mod.rs", "mod z;"),
                ("b/z.rs", "use crate::a::Y;"),
            ]
        };
        assert_eq!(found(&house("pub struct Y;")), Vec::<Vec<String>>::new());
        assert_eq!(found(&house("use crate::b::z;")), [["a/y.rs", "b/z.rs"]]);
    }

    #[test]
    fn a_file_beside_a_folder_of_its_name_is_the_folder_s_face() {
        let face = [("a.rs", "mod x; use x::X;"), ("a/x.rs", "use super::Own;")];
        assert_eq!(found(&face), Vec::<Vec<String>>::new());
        let over = [
            ("lib.rs", "mod a; pub struct Own; fn f() { a::x::f() }"),
            ("a/mod.rs", ""),
            ("a/x.rs", "use crate::Own;"),
        ];
        assert_eq!(found(&over), [["a/x.rs", "lib.rs"]]);
    }
}
