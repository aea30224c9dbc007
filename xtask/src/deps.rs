//! Which crate of the workspace may use which: the table, and the check that it holds. The check also covers what source
//! files may contain, how long they may be, and circles of imports.
//!
//! [`TABLE`] is the source of truth for the layering; a new crate or a new edge changes it in the same commit.

use crate::circles;
use crate::source::{self, Ban};
use crate::steps::Outcome;
use serde_json::Value;
use std::collections::BTreeSet;

/// What one crate may use.
struct Rule {
    name: &'static str,
    /// The most lines of Rust it may have, tests included: a crate that grows past them takes its number along, in the commit
    /// that says why.
    lines: usize,
    /// Crates of this workspace.
    uses: &'static [&'static str],
    /// Crates from elsewhere; `None` for any.
    from_elsewhere: Option<&'static [&'static str]>,
}

const fn rule(name: &'static str, lines: usize, uses: &'static [&'static str]) -> Rule {
    Rule { name, lines, uses, from_elsewhere: None }
}

/// Edges count for normal and build dependencies. Tests may use [`TEST_ONLY`] besides.
const TABLE: &[Rule] = &[
    // The two crates below all others stay small: vocabulary and numbers.
    Rule { name: "dermis-rig", lines: 3750, uses: &[], from_elsewhere: Some(&["glam", "thiserror"]) },
    Rule { name: "dermis-solve", lines: 3700, uses: &[], from_elsewhere: Some(&["faer", "gemm", "pulp", "thiserror"]) },
    // A model whose positions answer a sparse system (rotational regression) solves it with dermis-solve.
    rule("dermis-deform", 17100, &["dermis-rig", "dermis-solve"]),
    rule("dermis-fit", 48100, &["dermis-rig", "dermis-deform", "dermis-solve"]),
    // Random poses of a stress test come from the generator of dermis-solve.
    rule("dermis-measure", 2860, &["dermis-rig", "dermis-solve", "dermis-deform"]),
    // It measures what every step of a compilation costs, and compresses and decomposes with the solvers of dermis-fit.
    rule("dermis-compile", 3500, &["dermis-rig", "dermis-solve", "dermis-deform", "dermis-fit", "dermis-measure"]),
    // Poses from keys, goals, markers: values in, motions out.
    rule("dermis-motion", 17100, &["dermis-rig", "dermis-solve"]),
    // A skeleton for a bare mesh, by the parts of a body that dermis-motion knows, and its weights by the heat of dermis-fit.
    rule("dermis-autorig", 5200, &["dermis-rig", "dermis-fit", "dermis-motion"]),
    // What a body has learnt, on other meshes: closest points come from the surface of dermis-fit.
    rule("dermis-transfer", 3150, &["dermis-rig", "dermis-solve", "dermis-deform", "dermis-fit"]),
    // Scenes are read into what dermis-motion plays.
    rule("dermis-io", 48600, &["dermis-rig", "dermis-deform", "dermis-motion"]),
    // The only crate below the recipes that opens files; it shows a clip's skin by linear blend skinning.
    rule("dermis-files", 7350, &["dermis-rig", "dermis-deform", "dermis-io"]),
    // Shows what others computed: text in, text out, so that a program without files or terminal can use it.
    rule("dermis-report", 9200, &["dermis-rig", "dermis-measure", "dermis-io"]),
    // Fits the examples of papers and draws them; one of them embeds a skeleton.
    rule(
        "dermis-figures",
        6800,
        &[
            "dermis-autorig",
            "dermis-rig",
            "dermis-solve",
            "dermis-deform",
            "dermis-fit",
            "dermis-measure",
            "dermis-motion",
            "dermis-compile",
            "dermis-report",
        ],
    ),
    // Nothing uses it, so that only who wants a graphics card compiles a graphics library.
    rule("dermis-gpu", 2600, &["dermis-rig", "dermis-deform"]),
    rule(
        "dermis-workflow",
        26400,
        &[
            "dermis-rig",
            "dermis-solve",
            "dermis-deform",
            "dermis-fit",
            "dermis-measure",
            "dermis-compile",
            "dermis-motion",
            "dermis-autorig",
            "dermis-transfer",
            "dermis-io",
            "dermis-files",
            "dermis-report",
            "dermis-figures",
        ],
    ),
    // Recipes in a browser; it reaches the libraries' types through dermis-workflow.
    rule("dermis-browser", 650, &["dermis-workflow"]),
    // The program reaches the libraries' types through dermis-workflow, and serves the page of dermis-browser (`dermis studio`).
    rule("dermis-cli", 18000, &["dermis-workflow", "dermis-browser"]),
    rule(
        "dermis",
        1700,
        &[
            "dermis-rig",
            "dermis-solve",
            "dermis-deform",
            "dermis-fit",
            "dermis-measure",
            "dermis-compile",
            "dermis-transfer",
            "dermis-motion",
            "dermis-io",
            "dermis-files",
            "dermis-report",
            "dermis-workflow",
        ],
    ),
    // The façade for Python. The program comes with the package and runs the same code, and its words for errors are put into
    // Python's: this is what the program is a library for.
    rule("dermis-python", 3200, &["dermis", "dermis-cli"]),
    // Runs models and reads the model file; the size of the library is what it lets in.
    Rule {
        name: "dermis-c",
        lines: 2140,
        uses: &["dermis-rig", "dermis-deform", "dermis-io"],
        from_elsewhere: Some(&["rayon"]),
    },
    rule(TEST_ONLY, 3760, &["dermis-rig", "dermis-deform"]),
    // The oracle checks kernel interpolation on its own, apart from any skin.
    rule("dermis-oracle", 3000, &["dermis-rig", "dermis-solve", "dermis-deform", "dermis-fit", "dermis-measure"]),
    // Measures what the public interface does.
    rule(
        "dermis-bench",
        1710,
        &["dermis", "dermis-rig", "dermis-solve", "dermis-deform", "dermis-fit", "dermis-io", TEST_ONLY],
    ),
    // Runs whatever reads bytes that somebody else wrote.
    rule(
        "dermis-fuzz",
        3060,
        &["dermis-rig", "dermis-deform", "dermis-motion", "dermis-io", "dermis-workflow", TEST_ONLY],
    ),
    rule("xtask", 7900, &[]),
];

/// May be a dev-dependency of every crate.
const TEST_ONLY: &str = "dermis-testkit";

/// Edges for tests alone, beside [`TEST_ONLY`].
const FOR_TESTS: &[(&str, &str)] = &[
    // The models that it runs are fitted in its tests, and compared with what the façade evaluates.
    ("dermis-c", "dermis"),
    // The bundled body is a template in its tests, and comes from its file.
    ("dermis-autorig", "dermis-io"),
];

/// Crates that open no file and leave the environment and the thread pool to the caller.
const OPEN_NOTHING: &[&str] = &[
    "dermis-rig",
    "dermis-solve",
    "dermis-deform",
    "dermis-fit",
    "dermis-measure",
    "dermis-compile",
    "dermis-motion",
    "dermis-autorig",
    "dermis-io",
    "dermis-report",
    "dermis-figures",
    "dermis-gpu",
];

/// Crates that run in a browser, too, and files of theirs that know another system.
const IN_BROWSER: &[&str] = &[
    "dermis-rig",
    "dermis-solve",
    "dermis-deform",
    "dermis-fit",
    "dermis-measure",
    "dermis-compile",
    "dermis-motion",
    "dermis-autorig",
    "dermis-transfer",
    "dermis-io",
    "dermis-files",
    "dermis-report",
    "dermis-figures",
    "dermis-workflow",
    "dermis-browser",
    "dermis",
];
const OF_A_SYSTEM: &[&str] = &[
    "crates/dermis-rig/src/clock.rs",
    "crates/dermis-files/src/place/disk.rs",
    // Linux says there how much memory was needed.
    "crates/dermis-workflow/src/memory.rs",
];

/// Crates that may print; so may the tests and examples of any.
const PROGRAMS: &[&str] = &["dermis-cli", "dermis-oracle", "dermis-bench", "xtask"];

/// Words of characters, which the crate of numbers does not know.
const CHARACTER_WORDS: &[&str] = &[
    "bone", "bones", "joint", "joints", "mesh", "pose", "poses", "rig", "skeleton", "skin", "skinning", "vertex",
    "vertices",
];

/// Paths below the workspace, of a file or a folder, where `unsafe` may be written.
const UNSAFE_ALLOWED: &[&str] = &[
    // The prefetch instruction: models larger than the caches are read a third faster with it.
    "crates/dermis-deform/src/simd",
    // Exported functions, and the memory of their callers; the tests call them.
    "crates/dermis-c/src",
    "crates/dermis-c/tests",
    // The memory that a browser hands over, and the C library that ufbx calls there.
    "crates/dermis-browser/src",
];

/// The most lines of a source file. A longer file is where a second idea is looked for.
const MOST_LINES: usize = 700;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Where every verb has its room, and what lies beside the rooms: the sum of all verbs, and what several rooms share. None of it
/// has the name of a verb.
const ROOMS: &str = "crates/dermis-workflow/src/verbs";
const BESIDE_ROOMS: &[&str] =
    &["error.rs", "joint_limits.rs", "lib.rs", "measure.rs", "memory.rs", "recipe", "shown.rs", "verbs"];

/// The step of `cargo xtask test`.
pub fn step() -> Outcome {
    match check() {
        Ok(summary) => {
            println!("{summary}");
            Outcome::Passed
        }
        Err(findings) => {
            println!("{findings}");
            Outcome::Failed
        }
    }
}

/// Checks the whole workspace. `Ok` and `Err` hold text for people.
pub fn check() -> Result<String, String> {
    let packages = packages()?;
    let mut findings = forbidden_edges(&packages);
    findings.append(&mut strangers_beside_rooms(&crate::workspace::root().join(ROOMS))?);
    let mut files = 0;
    for package in &packages {
        let mut lines = 0;
        for file in source::rust_files(&package.folder)? {
            files += 1;
            let (found, of_file) = banned(&package.name, &package.folder, &file)?;
            findings.extend(found);
            lines += of_file;
        }
        findings.extend(too_large(&package.name, lines));
        findings.append(&mut circles::findings(&package.name, &package.folder.join("src"))?);
    }
    match findings.is_empty() {
        true => Ok(format!("{} crates use what they may, {files} source files hold what they may", packages.len())),
        false => {
            findings.push("The rules are in xtask/src/deps.rs.".into());
            Err(findings.join("\n"))
        }
    }
}

/// A crate of the workspace and what it depends on.
struct Package {
    name: String,
    folder: std::path::PathBuf,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    name: String,
    for_tests: bool,
}

/// The members of the workspace, as cargo sees them.
fn packages() -> Result<Vec<Package>, String> {
    let output = crate::workspace::cargo("metadata")
        .args(["--no-deps", "--format-version", "1"])
        .output()
        .map_err(|error| format!("cargo metadata does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    metadata["packages"].as_array().into_iter().flatten().map(package).collect()
}

fn package(value: &Value) -> Result<Package, String> {
    let text = |value: &Value, key: &str| {
        value[key].as_str().map(str::to_owned).ok_or_else(|| format!("cargo metadata: a package without {key}"))
    };
    let dependencies = value["dependencies"].as_array().into_iter().flatten();
    Ok(Package {
        name: text(value, "name")?,
        folder: std::path::Path::new(&text(value, "manifest_path")?).with_file_name(""),
        dependencies: dependencies
            .map(|d| Ok(Dependency { name: text(d, "name")?, for_tests: d["kind"] == "dev" }))
            .collect::<Result<_, String>>()?,
    })
}

/// Edges that the table does not have, and crates that it lacks.
fn forbidden_edges(packages: &[Package]) -> Vec<String> {
    let ours: BTreeSet<&str> = packages.iter().map(|p| p.name.as_str()).collect();
    let mut findings = Vec::new();
    for Package { name, dependencies, .. } in packages {
        let Some(rule) = TABLE.iter().find(|rule| rule.name == name) else {
            findings.push(format!("{name} is not in the table of crates"));
            continue;
        };
        for Dependency { name: used, for_tests } in dependencies {
            let may = match ours.contains(used.as_str()) {
                true => {
                    let in_tests = used == TEST_ONLY || FOR_TESTS.contains(&(name, used));
                    rule.uses.contains(&used.as_str()) || (*for_tests && in_tests)
                }
                false => *for_tests || rule.from_elsewhere.is_none_or(|few| few.contains(&used.as_str())),
            };
            if !may {
                let where_from = if *for_tests { "its tests use" } else { "it uses" };
                let allowed = rule.uses.iter().chain(rule.from_elsewhere.unwrap_or_default()).copied();
                findings.push(format!(
                    "{name}: {where_from} {used}, but may use only: {}",
                    allowed.collect::<Vec<_>>().join(", ")
                ));
            }
        }
    }
    findings
}

/// A crate with more lines than the table allows.
fn too_large(name: &str, lines: usize) -> Option<String> {
    let most = TABLE.iter().find(|rule| rule.name == name)?.lines;
    (lines > most).then(|| format!("{name}: {lines} lines; {most} are the most"))
}

/// Files and folders beside the rooms of the verbs that are not in the list: a verb with a second room.
fn strangers_beside_rooms(rooms: &std::path::Path) -> Result<Vec<String>, String> {
    let beside = rooms.with_file_name("");
    let entries = std::fs::read_dir(&beside).map_err(|error| format!("{}: {error}", beside.display()))?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let stem = |name: &str| name.strip_suffix(".rs").unwrap_or(name).to_owned();
    let is_room = |name: &str| rooms.join(stem(name)).is_dir() || rooms.join(stem(name)).with_extension("rs").is_file();
    names.retain(|name| !BESIDE_ROOMS.contains(&name.as_str()) || is_room(name));
    names.sort();
    let told = |name| format!("{name} lies beside the rooms of the verbs: it belongs into {ROOMS}/<verb>");
    Ok(names.into_iter().map(told).collect())
}

/// Types whose values are the words and figures of a page.
const PAGE_PARTS: &[&str] = &["KeyFigure", "Quantity", "Tone", "PageWarning"];

/// What a source file must not contain, given its crate; and its lines.
fn banned(package: &str, folder: &std::path::Path, file: &std::path::Path) -> Result<(Vec<String>, usize), String> {
    let shown = file.strip_prefix(crate::workspace::root()).unwrap_or(file);
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", shown.display()))?;
    let lines = text.lines().count();
    let may_be_long = LONG_FILES.iter().any(|(long, _)| shown == std::path::Path::new(long));
    let tokens = source::tokens(&text);
    let mut bans: Vec<(Ban, &str)> = Vec::new();
    if !UNSAFE_ALLOWED.iter().any(|allowed| shown.starts_with(allowed)) {
        bans.extend(source::identifiers(&tokens, &["unsafe"]).into_iter().map(|b| (b, "is not allowed here")));
    }
    let is_product = file.starts_with(folder.join("src")) && !source::is_test_module(file);
    if is_product {
        let product = source::without_tests(&tokens);
        if OPEN_NOTHING.contains(&package) {
            let reason = "belongs to dermis-files, dermis-workflow or a program";
            bans.extend(source::openings(&product).into_iter().map(|b| (b, reason)));
        }
        if IN_BROWSER.contains(&package) {
            if !OF_A_SYSTEM.iter().any(|file| shown == std::path::Path::new(file)) {
                let reason = "is not in a browser: `dermis_rig::clock` and `dermis_files::place` are";
                bans.extend(source::of_a_system(&product).into_iter().map(|b| (b, reason)));
            }
            let reason = "is more than 32 bits hold: give the number a type";
            bans.extend(source::wide_shifts(&product).into_iter().map(|b| (b, reason)));
        }
        if !PROGRAMS.contains(&package) {
            bans.extend(source::printing(&product).into_iter().map(|b| (b, "belongs to a program")));
        }
        if package == "dermis-workflow" {
            let reason = "is text of a page, which belongs to dermis-report";
            bans.extend(source::markup(&product).into_iter().map(|b| (b, reason)));
            let reason = "writes a part of a page, which belongs to dermis-report";
            bans.extend(source::identifiers(&product, PAGE_PARTS).into_iter().map(|b| (b, reason)));
        }
        if package == "dermis-solve" {
            let reason = "is a word of characters: this crate knows numbers";
            bans.extend(source::words(&product, CHARACTER_WORDS).into_iter().map(|b| (b, reason)));
        }
    }
    let told = bans.into_iter().map(|(ban, why)| format!("{}:{}: {} {why}", shown.display(), ban.line, ban.what));
    let long = (lines > MOST_LINES && !may_be_long)
        .then(|| format!("{}: {lines} lines; {MOST_LINES} are the most", shown.display()));
    Ok((told.chain(long).collect(), lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_keeps_its_rules() {
        if let Err(findings) = check() {
            panic!("{findings}");
        }
    }

    fn findings(name: &str, dependencies: &[(&str, bool)]) -> Vec<String> {
        let package = |name: &str, dependencies: &[(&str, bool)]| Package {
            name: name.into(),
            folder: std::path::PathBuf::new(),
            dependencies: dependencies.iter().map(|&(d, t)| Dependency { name: d.into(), for_tests: t }).collect(),
        };
        let others = TABLE.iter().filter(|rule| rule.name != name).map(|rule| package(rule.name, &[]));
        forbidden_edges(&others.chain([package(name, dependencies)]).collect::<Vec<_>>())
    }

    #[test]
    fn edges_of_the_table_pass_and_others_do_not() {
        assert_eq!(findings("dermis-fit", &[("dermis-solve", false), ("rayon", false)]), Vec::<String>::new());
        assert_eq!(findings("dermis-solve", &[("dermis-testkit", true), ("nalgebra", true)]), Vec::<String>::new());
        for (name, dependency) in [
            ("dermis-rig", ("dermis-deform", false)),
            ("dermis-rig", ("serde", false)),
            ("dermis-deform", ("dermis-io", true)),
            ("dermis-deform", ("dermis-testkit", false)),
            ("dermis-cli", ("dermis-io", false)),
            ("dermis-new", ("rayon", false)),
        ] {
            let found = findings(name, &[dependency]);
            assert!(found.len() == 1 && found[0].starts_with(name), "{name} -> {dependency:?}: {found:?}");
        }
    }

    #[test]
    fn a_second_room_of_a_verb_is_found() {
        let rooms = crate::workspace::root().join(ROOMS);
        assert_eq!(strangers_beside_rooms(&rooms), Ok(Vec::new()));
        let found = strangers_beside_rooms(&rooms.join("fit")).unwrap();
        assert!(found.iter().any(|told| told.starts_with("fit lies beside")), "{found:?}");
    }

    #[test]
    fn a_crate_has_the_lines_of_its_number() {
        let rule = &TABLE[0];
        assert_eq!(too_large(rule.name, rule.lines), None);
        assert!(too_large(rule.name, rule.lines + 1).is_some());
    }

    /// An edge upwards in the table itself would allow a cycle.
    #[test]
    fn the_table_is_in_order() {
        for (at, rule) in TABLE.iter().enumerate() {
            for used in rule.uses {
                assert!(TABLE[..at].iter().any(|earlier| earlier.name == *used), "{} uses {used}", rule.name);
            }
        }
        assert!(IN_BROWSER.iter().all(|name| TABLE.iter().any(|rule| rule.name == *name)));
        assert!(OPEN_NOTHING.iter().all(|name| TABLE.iter().any(|rule| rule.name == *name)));
    }
}
