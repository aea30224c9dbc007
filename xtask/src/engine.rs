//! The engine for browsers: `crates/dermis-browser` as a module of WebAssembly, its size, and recipes that run in it and in the program
//! (`js/test/engine.mjs`).
//!
//! It is compiled by the workspace's own compiler where rustup has the target. Elsewhere by the compiler that Debian packages for building
//! browsers, unpacked below `target/tools` and not installed; it brings the sources of the standard library, which is compiled along.

use crate::commit::{Outcome, of};
use crate::page::{self, BODY};
use crate::tools::{
    answers, apt_update, folder, has_browser, has_gltf_validator, has_playwright, has_three, output_of, run as ran,
};
use crate::usage::usage;
use crate::workspace::{Build, cargo, dermis, root, target};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-unknown-unknown";
/// A profile of the workspace's manifest.
const PROFILE: &str = "release-browser";
/// Vectors, which every browser of the last years has.
const FLAGS: &str = "-C target-feature=+simd128";
/// ufbx without a C library, whose functions `dermis-browser` has.
const C_FLAGS: &str = "-O2 -msimd128 -DUFBX_NO_LIBC -DUFBX_NO_STDIO";
/// The standard library where it is compiled along: as rustup has it.
const OF_STD: [&str; 5] = ["core", "alloc", "std", "hashbrown", "compiler_builtins"];

/// Builds the engine and the pages, prints their sizes, and runs their tests against the program; before that, if it is asked for, brings the
/// compiler.
pub fn run(arguments: &[&str]) -> ExitCode {
    match arguments {
        [] => {}
        ["--install-tools"] if Toolchain::found().is_some() => println!("a compiler for WebAssembly is here"),
        ["--install-tools"] => {
            if let Err(error) = install() {
                println!("a compiler for WebAssembly was not installed: {error}");
                return ExitCode::FAILURE;
            }
        }
        [extra, ..] => return usage(&format!("\"{extra}\" is not understood here")),
    }
    let outcome = match dermis(Build::Release) {
        Some(program) => check(&program),
        None => Outcome::Failed,
    };
    match outcome {
        Outcome::Passed => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::NotRun(missing) => {
            println!("NOT RUN: {missing}");
            ExitCode::FAILURE
        }
    }
}

/// The step of `cargo xtask test`, with the program as the tests are built.
pub fn step(program: Option<&PathBuf>) -> Outcome {
    program.map_or(Outcome::Failed, |program| check(program))
}

fn check(program: &Path) -> Outcome {
    let Some(toolchain) = Toolchain::found() else { return Outcome::NotRun(MISSING.into()) };
    let Some(module) = toolchain.build() else { return Outcome::Failed };
    println!("{}: {:.2} MB", module.display(), std::fs::metadata(&module).map_or(0, |file| file.len()) as f64 * 1e-6);
    if !answers(Command::new("node").arg("--version")) {
        return Outcome::NotRun("node".into());
    }
    if toolchain.c.is_none() {
        return Outcome::NotRun("a clang that compiles for WebAssembly, and llvm-ar: the engine reads no FBX".into());
    }
    let desk = target().join("xtask/browser");
    let made = by_the_program(program, &desk).and_then(|()| page::make(&module, TARGET, &target().join("browser")));
    let [_, page] = match made {
        Ok(pages) => pages,
        Err(error) => {
            println!("{error}");
            return Outcome::Failed;
        }
    };
    match of(Command::new("node").arg(root().join("js/test/engine.mjs")).arg(module).arg(&desk)) {
        Outcome::Passed => {}
        other => return other,
    }
    if !has_browser() || !has_playwright() || !has_gltf_validator() {
        return Outcome::NotRun(
            "the page in Chromium: Chromium, or the npm packages playwright-core and gltf-validator".into(),
        );
    }
    match of(Command::new("node").arg(root().join("js/test/page.mjs")).arg(folder()).arg(page).arg(&desk).arg(program))
    {
        Outcome::Passed => {}
        other => return other,
    }
    match of(Command::new("node").arg(root().join("js/test/studio.mjs")).arg(folder()).arg(&desk).arg(program)) {
        Outcome::Passed => {}
        other => return other,
    }
    if !has_three() {
        return Outcome::NotRun("sculpts of the page in three.js: the npm package three".into());
    }
    let rig = desk.join(BODY[0]);
    of(Command::new("node").arg(root().join("js/test/loop.mjs")).arg(folder()).arg(page).arg(rig).arg(desk))
}

/// What the step needs, and where it comes from.
pub const MISSING: &str = "a compiler for WebAssembly (rustup target add wasm32-unknown-unknown; on Debian cargo xtask browser --install-tools; \
                           or name a folder with Debian's rustc-web in DERMIS_WASM_TOOLCHAIN)";

/// What compiles for browsers.
pub struct Toolchain {
    /// The folder where Debian's packages are unpacked; without one the workspace's own compiler has the target.
    unpacked: Option<PathBuf>,
    /// clang and llvm-ar, if they are there.
    c: Option<[PathBuf; 2]>,
}

impl Toolchain {
    /// The first that is there: rustup's target, the folder that `DERMIS_WASM_TOOLCHAIN` names, the one below `target/tools`.
    pub fn found() -> Option<Self> {
        let sysroot = output_of(Command::new("rustc").args(["--print", "sysroot"])).unwrap_or_default();
        if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
            return Some(Self { unpacked: None, c: c_compiler(Path::new("")) });
        }
        let named = std::env::var_os("DERMIS_WASM_TOOLCHAIN").map(PathBuf::from);
        let folder = named.unwrap_or_else(unpacked);
        let llvm = llvm_of(&folder)?;
        let c = c_compiler(&llvm.join("bin")).or_else(|| c_compiler(Path::new("")));
        folder.join("usr/bin/rustc").is_file().then_some(Self { unpacked: Some(folder), c })
    }

    /// Builds the module; result: its path.
    fn build(&self) -> Option<PathBuf> {
        let folder = target().join("browser");
        // Elsewhere the crate is a library of the program.
        let mut build = cargo("rustc");
        build.args(["--lib", "--crate-type", "cdylib"]);
        build.args(["--package", "dermis-browser", "--profile", PROFILE, "--target", TARGET]);
        build.env("CARGO_TARGET_DIR", &folder).env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
        if let Some(unpacked) = &self.unpacked {
            let llvm = llvm_of(unpacked)?;
            let libraries = [unpacked.join("usr/lib/x86_64-linux-gnu"), llvm.join("lib")];
            build.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).ok()?);
            build.env("RUSTC", unpacked.join("usr/bin/rustc"));
            build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", llvm.join("bin/wasm-ld"));
            // Its standard library is there as sources alone, and to compile those along is a feature of unstable compilers.
            build.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
            for package in OF_STD {
                build.arg("--config").arg(format!("profile.{PROFILE}.package.{package}.opt-level=3"));
            }
        }
        match &self.c {
            Some([compiler, archiver]) => {
                build.env("CC_wasm32_unknown_unknown", compiler).env("AR_wasm32_unknown_unknown", archiver);
                build.env("CFLAGS_wasm32_unknown_unknown", C_FLAGS);
            }
            None => {
                build.arg("--no-default-features");
            }
        }
        let built = build.current_dir(root()).status().is_ok_and(|status| status.success());
        built.then(|| folder.join(TARGET).join(PROFILE).join("dermis_browser.wasm"))
    }
}

/// The folder of LLVM in unpacked packages of Debian.
fn llvm_of(unpacked: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(unpacked.join("usr/lib")).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.filter(|folder| folder.join("bin/wasm-ld").is_file()).max()
}

/// clang and llvm-ar in a folder, or without one in the path, if they compile for browsers.
fn c_compiler(folder: &Path) -> Option<[PathBuf; 2]> {
    let tools = [folder.join("clang"), folder.join("llvm-ar")];
    let libraries =
        folder.parent().map(|llvm| std::env::join_paths([llvm.join("lib"), llvm.join("../x86_64-linux-gnu")]));
    let with = |command: &mut Command| match &libraries {
        Some(Ok(libraries)) => answers(command.env("LD_LIBRARY_PATH", libraries)),
        _ => answers(command),
    };
    let arguments = [&format!("--target={TARGET}"), "-x", "c", "-fsyntax-only", "/dev/null"];
    let compiles = with(Command::new(&tools[0]).args(arguments)) && with(Command::new(&tools[1]).arg("--version"));
    compiles.then_some(tools)
}

/// Where Debian's packages are unpacked.
fn unpacked() -> PathBuf {
    folder().join("wasm/root")
}

/// Downloads Debian's compiler for browsers, and LLVM's for C, and unpacks them, unless a compiler is here: as packages they could not stand
/// beside rustup.
///
/// # Errors
/// A text for people.
pub fn install() -> Result<(), String> {
    if Toolchain::found().is_some() {
        println!("a compiler for WebAssembly is here");
        return Ok(());
    }
    apt_update()?;
    // The packages' names have versions, which those they depend on tell.
    let depends = |package: &str, on: &str| {
        let said = output_of(Command::new("apt-cache").args(["depends", package])).unwrap_or_default();
        let named =
            said.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).find(|name| name.starts_with(on));
        named.map(str::to_owned).ok_or_else(|| format!("apt-cache knows no package {on}… that {package} depends on"))
    };
    let standard = depends("libstd-rust-web-dev", "libstd-rust-web-")?;
    let llvm = depends(&standard, "libllvm")?;
    let version = llvm.trim_start_matches("libllvm");
    let mut packages: Vec<String> = ["rustc-web", "libstd-rust-web-dev", "rust-web-src"].map(String::from).into();
    packages.extend(["lld-", "clang-", "llvm-", "libclang-cpp"].map(|name| format!("{name}{version}")));
    packages.extend([standard, format!("libclang-common-{version}-dev"), llvm.clone()]);
    let (place, into) = (folder().join("wasm/packages"), unpacked());
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    let script = "cd \"$0\" && rm -f *.deb && apt-get download --quiet \"$@\"";
    ran(Command::new("sh").arg("-c").arg(script).arg(&place).args(packages))?;
    let script = "for package in \"$0\"/*.deb; do dpkg-deb -x \"$package\" \"$1.part\" || exit 1; done; rm -r \"$0\"; mv \"$1.part\" \"$1\"";
    ran(Command::new("sh").arg("-c").arg(script).arg(&place).arg(into))
}

/// Runs the recipes of the test in the program, in an emptied folder with the files of the bundled body: on one thread and without vectors that
/// WebAssembly has not.
fn by_the_program(program: &Path, desk: &Path) -> Result<(), String> {
    let failed = |what: &Path, error: std::io::Error| format!("{}: {error}", what.display());
    let _ = std::fs::remove_dir_all(desk);
    std::fs::create_dir_all(desk).map_err(|error| failed(desk, error))?;
    for name in BODY {
        let file = root().join("assets/body").join(name);
        std::fs::copy(&file, desk.join(name)).map_err(|error| failed(&file, error))?;
    }
    let recipes = root().join("js/test/engine");
    let entries = std::fs::read_dir(&recipes).map_err(|error| failed(&recipes, error))?;
    let mut recipes: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    recipes.sort();
    for recipe in recipes {
        let ran = Command::new(program)
            .env("DERMIS_SIMD", "scalar")
            .args(["run", "--json", "--threads", "1"])
            .arg(&recipe)
            .current_dir(desk)
            .output();
        let ran = ran.map_err(|error| failed(program, error))?;
        if !ran.status.success() {
            return Err(format!("{}:\n{}", recipe.display(), String::from_utf8_lossy(&ran.stderr)));
        }
        if let (Some(stem), [b'{', ..]) = (recipe.file_stem(), &ran.stdout[..]) {
            let outcome = desk.join(stem).with_extension("outcome.json");
            std::fs::write(&outcome, &ran.stdout).map_err(|error| failed(&outcome, error))?;
        }
    }
    Ok(())
}
