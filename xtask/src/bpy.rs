//! Blender as a Python module, `bpy`, for what is checked in it without a window: environments below `target/blender`, one for
//! each release, and the add-on in them.

use crate::blender::Zips;
use crate::steps::{Outcome, of};
use crate::tools::{answers, run as tool};
use crate::workspace::{root, target};
use std::path::PathBuf;
use std::process::Command;

/// One release of Blender.
#[derive(Clone, Copy)]
pub struct Release {
    /// The step that checks the add-on in it.
    pub step: &'static str,
    /// The environment's folder.
    folder: &'static str,
    /// The packages of PyPI that hold it; NumPy comes along. Both releases are built for Python 3.11 and for no other.
    packages: [&'static str; 2],
    /// Fails unless it is there.
    imports: &'static str,
    /// What is missing without it.
    missing: &'static str,
}

/// The releases that the add-on is checked in, with the one that other checks take first.
pub const RELEASES: [Release; 2] = [
    Release {
        step: "Blender add-on, Blender 4.5",
        folder: "bpy-4.5",
        packages: ["bpy==4.5.15", "pytest"],
        imports: "import bpy, numpy, pytest, sys; sys.exit(bpy.app.version[:2] != (4, 5))",
        missing: "bpy 4.5 in target/blender/bpy-4.5 (--install-tools makes it, with a Python 3.11)",
    },
    Release {
        step: "Blender add-on, Blender 5.0",
        folder: "bpy-5.0",
        packages: ["bpy==5.0.1", "pytest"],
        imports: "import bpy, numpy, pytest, sys; sys.exit(bpy.app.version[:2] != (5, 0))",
        missing: "bpy 5.0 in target/blender/bpy-5.0 (--install-tools makes it, with a Python 3.11)",
    },
];

/// What is missing without [`python`].
pub const MISSING: &str =
    "a Python that can import bpy (--install-tools makes one with a Python 3.11, or DERMIS_BLENDER_PYTHON names it)";

/// The Python with bpy that checks of files take: the one that `DERMIS_BLENDER_PYTHON` names, or that of 4.5.
pub fn python() -> Option<PathBuf> {
    match std::env::var_os("DERMIS_BLENDER_PYTHON") {
        Some(python) => Some(python.into()),
        None => Some(python_of(RELEASES[0])).filter(|_| is_ready(RELEASES[0])),
    }
}

/// The Pythons of all releases that are there.
pub fn pythons() -> Vec<PathBuf> {
    RELEASES.into_iter().filter(|&release| is_ready(release)).map(python_of).collect()
}

/// Makes the environments that are not there. Returns what could not be installed, for people.
pub fn make_environments() -> Vec<String> {
    let missing = RELEASES.into_iter().filter(|&release| !is_ready(release));
    missing.filter_map(|release| make_environment(release).err()).collect()
}

fn make_environment(release: Release) -> Result<(), String> {
    let home = environment(release);
    let is_3_11 = "import sys, venv; sys.exit(sys.version_info[:2] != (3, 11))";
    let candidates = ["python3.11", "python3", "python"];
    let system = candidates.into_iter().find(|python| answers(Command::new(python).args(["-c", is_3_11])));
    let bpy = release.packages[0];
    let system =
        system.ok_or_else(|| format!("{bpy} was not installed: there is no Python 3.11 with the module venv"))?;
    let installed = tool(Command::new(system).args(["-m", "venv"]).arg(home)).and_then(|()| {
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60", "--retries=2"];
        // A cache would hold what the environment already does: 400 MB.
        tool(Command::new(python_of(release)).args(pip).arg("--no-cache-dir").args(release.packages))
    });
    match installed {
        Ok(()) if is_ready(release) => Ok(()),
        Ok(()) => Err(format!("{bpy} was installed, but does not import")),
        Err(error) => Err(format!("{bpy} was not installed: {error}")),
    }
}

/// The add-on in one release: each zip is installed, enabled, disabled and removed, and the tests run with the extension.
pub fn check(release: Release, zips: &Zips) -> Outcome {
    if !is_ready(release) {
        return Outcome::NotRun(release.missing.into());
    }
    let check = |zip: &PathBuf| {
        let mut command = Command::new(python_of(release));
        // A crash says where it was.
        command.envs([("PYTHONFAULTHANDLER", "1"), ("PYTHONDONTWRITEBYTECODE", "1")]);
        command.arg("tools/check_blender_addon.py").arg(zip);
        command
    };
    let checks =
        [of(&mut check(&zips.legacy)), of(check(&zips.extension).arg("--tests").arg(root().join("blender/tests")))];
    checks.into_iter().find(|outcome| !matches!(outcome, Outcome::Passed)).unwrap_or(Outcome::Passed)
}

/// The add-on in a window of the Blender that is installed: stories of clicks, and pictures of them below `target/blender/window`.
pub fn window(zips: &Zips) -> Outcome {
    let tell = |story: &str| {
        of(Command::new("python3").args(["tools/blender_window.py", story, "--zip"]).arg(&zips.extension).args([
            "--size",
            "1500x1150",
            "--limit",
            "1200",
        ]))
    };
    let stories = ["story", "elbow", "session", "dress"].map(|name| tell(&format!("tools/blender_{name}.py")));
    stories.into_iter().find(|outcome| !matches!(outcome, Outcome::Passed)).unwrap_or(Outcome::Passed)
}

fn is_ready(release: Release) -> bool {
    answers(Command::new(python_of(release)).args(["-c", release.imports]))
}

fn environment(release: Release) -> PathBuf {
    target().join("blender").join(release.folder)
}

fn python_of(release: Release) -> PathBuf {
    environment(release).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}
