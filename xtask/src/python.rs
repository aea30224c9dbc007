//! `cargo xtask python`: the Python package as a wheel, installed in an environment of its own below `target/python`, and checked
//! there: pytest, mypy, and the stubs against the module.
//!
//! Tests take the library that cargo built with everything else: maturin would build it alone, where features of shared
//! dependencies differ, and compile nearly the whole tree a second time. So the wheel of the tests is packed here, with the
//! metadata that maturin writes. `--release` has maturin build the wheel as a user gets it.

use crate::steps::{Outcome, of};
use crate::tools::{answers, run as tool};
use crate::usage::usage;
use crate::workspace::{Build, cargo, program, root, target};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What the environment holds.
const PACKAGES: [&str; 15] = [
    "maturin>=1.9.4,<2",
    "numpy",
    "pytest",
    "mypy",
    "wheel",
    "tqdm",
    "pandas",
    "typing_extensions",
    // Clusters on this machine.
    "distributed",
    // The page in a notebook.
    "anywidget",
    "websockets>=15",
    // The gallery.
    "matplotlib",
    "nbformat",
    "nbclient",
    "ipykernel",
];

/// Fails unless all of them are there.
const IMPORTS: &str = "import maturin, numpy, pytest, mypy, wheel, tqdm, pandas, typing_extensions, distributed, \
     anywidget, websockets, matplotlib, nbformat, nbclient, ipykernel";

/// How the library is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// With the workspace's tests.
    WithTests,
    /// Alone, as the tests are.
    Alone,
    /// By maturin, optimised.
    Release,
}

/// Runs the verb; the environment is made where it is missing.
pub fn run(arguments: &[&str]) -> ExitCode {
    let made = match arguments {
        [] => Made::Alone,
        ["--release"] => Made::Release,
        _ => return usage("python takes --release and nothing else"),
    };
    if let Err(error) = make_environment() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    match checked(made) {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::NotRun(missing) => {
            eprintln!("error: {missing} is missing");
            ExitCode::FAILURE
        }
    }
}

/// The step of `cargo xtask test`.
pub fn step() -> Outcome {
    match is_ready() {
        true => checked(Made::WithTests),
        false => Outcome::NotRun(
            "a Python from 3.10 on with maturin, NumPy, pytest and mypy in target/python (cargo xtask python makes it)"
                .into(),
        ),
    }
}

/// Whether the environment is there.
pub fn is_ready() -> bool {
    answers(Command::new(python()).args(["-c", IMPORTS]))
}

/// Makes the environment if it is not there.
///
/// # Errors
/// A text for people: no Python that is new enough, or packages that cannot be installed.
pub fn make_environment() -> Result<(), String> {
    if is_ready() {
        return Ok(());
    }
    let new_enough = "import sys, venv; sys.exit(sys.version_info < (3, 10))";
    let candidates = ["python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"];
    let found = candidates.into_iter().find(|python| answers(Command::new(python).args(["-c", new_enough])));
    let system = found.ok_or("there is no Python from 3.10 on that has the module venv")?;
    tool(Command::new(system).args(["-m", "venv"]).arg(environment()))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60", "--retries=2"];
    tool(Command::new(python()).args(pip).args(PACKAGES))?;
    if is_ready() { Ok(()) } else { Err(format!("{} do not import", PACKAGES.join(", "))) }
}

/// `cargo xtask bench python`: the optimised package beside Rust's own runner.
pub fn bench(options: &[&str]) -> ExitCode {
    let outcome = match make_environment() {
        Ok(()) => match installed(Made::Release) {
            Outcome::Passed => of(Command::new(python()).arg("tools/bench_python.py").args(options)),
            other => other,
        },
        Err(error) => {
            eprintln!("error: {error}");
            Outcome::Failed
        }
    };
    if matches!(outcome, Outcome::Passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The gallery: every notebook runs, ends in a picture and holds the cells of its script, and mypy finds nothing in the scripts.
pub fn gallery() -> Outcome {
    if !answers(Command::new(python()).args(["-c", "import dermis"])) {
        return Outcome::NotRun("the Python package, installed by its own step".into());
    }
    let mut typed = Command::new("env");
    typed.arg("-C").arg(root().join("gallery")).arg(python()).args(["-m", "mypy", "--strict", "--cache-dir"]);
    let typed = of(typed.arg(target().join("python/mypy")).arg("."));
    match typed {
        Outcome::Passed => of(Command::new(python()).args(["tools/gallery.py", "--check"])),
        other => other,
    }
}

/// Builds and installs.
fn installed(made: Made) -> Outcome {
    let wheel = match wheel(made) {
        Ok(wheel) => wheel,
        Err(error) => {
            println!("{error}");
            return Outcome::Failed;
        }
    };
    println!("{}", wheel.display());
    let mut install = Command::new(python());
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    of(install.arg("--force-reinstall").arg(wheel))
}

/// Builds, installs and checks.
fn checked(made: Made) -> Outcome {
    let installed = installed(made);
    if !matches!(installed, Outcome::Passed) {
        return installed;
    }
    let tests = folder().join("tests");
    let module = |module: &str| {
        let mut command = Command::new(python());
        // A crash of the library says where it was.
        command.envs([("PYTHONFAULTHANDLER", "1"), ("PYTHONDONTWRITEBYTECODE", "1")]);
        if made == Made::WithTests {
            let program = format!("debug/dermis{}", std::env::consts::EXE_SUFFIX);
            command.env("DERMIS_PROGRAM", target().join(program));
        }
        command.args(["-m", module]);
        command
    };
    let checks = [
        of(module("pytest").args(["-q", "-p", "no:cacheprovider"]).arg(&tests)),
        of(module("mypy").args(["--strict", "--cache-dir"]).arg(target().join("python/mypy")).arg(&tests)),
        of(module("mypy").args(["--strict", "--cache-dir"]).arg(target().join("python/mypy")).args(["-p", "dermis"])),
        of(module("mypy.stubtest").arg("dermis")),
    ];
    checks.into_iter().find(|outcome| !matches!(outcome, Outcome::Passed)).unwrap_or(Outcome::Passed)
}

/// The wheel, built.
///
/// # Errors
/// A text for people: the package does not build, or cannot be packed.
pub fn wheel(made: Made) -> Result<PathBuf, String> {
    let wheels = target().join("python/wheels");
    let _ = std::fs::remove_dir_all(&wheels);
    let io = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(&wheels).map_err(io)?;
    if made != Made::Release {
        let library = library(made).ok_or("the library of the package does not build")?;
        return pack(&library, &target().join("python/stage"), &[], &wheels);
    }
    let mut maturin = Command::new(python());
    maturin.args(["-m", "maturin", "build", "--release", "--manifest-path"]).arg(folder().join("Cargo.toml"));
    tool(maturin.arg("--interpreter").arg(python()).arg("--out").arg(&wheels))?;
    only(&wheels, ".whl")
}

/// Packs the wheel of a library that is built, as maturin would: `stage` is replaced, `more` are files for its licences.
///
/// # Errors
/// A text for people.
pub fn pack(library: &Path, stage: &Path, more: &[(&str, &[u8])], wheels: &Path) -> Result<PathBuf, String> {
    let io = |error: std::io::Error| error.to_string();
    let _ = std::fs::remove_dir_all(stage);
    copy(&folder().join("python/dermis"), &stage.join("dermis")).map_err(io)?;
    let ending = if cfg!(windows) { "pyd" } else { "abi3.so" };
    std::fs::copy(library, stage.join(format!("dermis/_dermis.{ending}"))).map_err(io)?;
    let mut metadata = Command::new(python());
    metadata.args(["-m", "maturin", "pep517", "write-dist-info", "--manifest-path"]).arg(folder().join("Cargo.toml"));
    tool(metadata.arg("--metadata-directory").arg(stage).arg("--interpreter").arg(python()))?;
    if !more.is_empty() {
        let licences = only(stage, ".dist-info")?.join("licenses");
        std::fs::create_dir_all(&licences).map_err(io)?;
        for (name, content) in more {
            std::fs::write(licences.join(name), content).map_err(io)?;
        }
    }
    tool(Command::new(python()).args(["-m", "wheel", "pack", "--dest-dir"]).arg(wheels).arg(stage))?;
    only(wheels, ".whl")
}

/// The one file or folder in a folder with this ending.
///
/// # Errors
/// A text for people: there is none, or there are several.
pub fn only(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut found = paths.filter(|path| path.to_string_lossy().ends_with(ending));
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        _ => Err(format!("{} does not hold one *{ending}", folder.display())),
    }
}

/// The compiled part of the package.
fn library(made: Made) -> Option<PathBuf> {
    let name = format!("{}_dermis{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    match made {
        Made::WithTests => program("dermis-python", "dermis", Build::Tests)?,
        _ => {
            let built = cargo("build").args(["--quiet", "--package", "dermis-python"]).status();
            built.is_ok_and(|status| status.success()).then(PathBuf::new)?
        }
    };
    Some(target().join("debug").join(name))
}

/// Copies the sources of the package, without what Python or a build left among them.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        let is_source =
            path.extension().is_some_and(|e| ["py", "pyi", "js"].iter().any(|known| e == *known)) || name == "py.typed";
        if path.is_dir() && name != "__pycache__" {
            copy(&path, &to.join(name))?;
        } else if is_source {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// The crate of the package.
fn folder() -> PathBuf {
    root().join("crates/dermis-python")
}

fn environment() -> PathBuf {
    target().join("python/venv")
}

/// The environment's Python.
pub fn python() -> PathBuf {
    environment().join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}
