//! The engine for browsers: `crates/dermis-browser` as a module of WebAssembly, its size, and recipes that run in it and in the program
//! (`js/test/engine.mjs`).
//!
//! It is compiled by the workspace's own compiler where rustup has the target. Elsewhere by the compiler that Debian packages for building
//! browsers, unpacked below `target/tools` and not installed; it brings the sources of the standard library, which is compiled along.

use crate::page::{self, BODY};
use crate::steps::{Outcome, of};
use crate::tools::{
    answers, apt_update, folder, has_browser, has_gltf_validator, has_playwright, has_three, output_of, run as ran,
};
use crate::usage::usage;
use crate::workspace::{Build, cargo, dermis, program, root, target};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const TARGET: &str = "wasm32-unknown-unknown";
/// Vectors, which every browser of the last years has.
const FLAGS: &str = "-C target-feature=+simd128";
/// ufbx without a C library, whose functions `dermis-browser` has.
const C_FLAGS: &str = "-O2 -msimd128 -DUFBX_NO_LIBC -DUFBX_NO_STDIO";
/// The standard library where it is compiled along: as rustup has it.
const OF_STD: [&str; 5] = ["core", "alloc", "std", "hashbrown", "compiler_builtins"];

/// How many damaged files the engine is handed.
const HOSTILE: &str = "1000";

/// What the engine is compiled for. Each has a profile in the workspace's manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Made {
    /// To be given away: small and fast.
    #[default]
    ToGive,
    /// To be tested: soon.
    ToTest,
}

/// What is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Options {
    /// The compiler is brought first.
    install: bool,
    made: Made,
    /// The engine is handed damaged files as well.
    hostile: bool,
}

impl Options {
    fn of(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for argument in arguments {
            match *argument {
                "--install-tools" => options.install = true,
                "--quick" => options.made = Made::ToTest,
                "--hostile" => options.hostile = true,
                other => return Err(format!("\"{other}\" is not understood here")),
            }
        }
        Ok(options)
    }
}

/// Builds the engine and the pages, prints their sizes, and runs their tests against the program; before that, if it is asked for, brings the
/// compiler.
pub fn run(arguments: &[&str]) -> ExitCode {
    let options = match Options::of(arguments) {
        Ok(options) => options,
        Err(mistake) => return usage(&mistake),
    };
    if options.install
        && let Err(error) = install()
    {
        println!("a compiler for WebAssembly was not installed: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match dermis(Build::Release) {
        Some(program) => check(&program, options),
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
    program.map_or(Outcome::Failed, |program| check(program, Options { made: Made::ToTest, ..Options::default() }))
}

fn check(program: &Path, options: Options) -> Outcome {
    let Some(toolchain) = Toolchain::found() else { return Outcome::NotRun(MISSING.into()) };
    let Some(built) = toolchain.build(options.made) else { return Outcome::Failed };
    let pages = target().join(if options.made == Made::ToTest { "browser/quick" } else { "browser" });
    let module = pages.join("dermis_browser.wasm");
    if let Err(error) = strip(&built, &module) {
        println!("{error}");
        return Outcome::Failed;
    }
    println!("{}: {:.2} MB", module.display(), std::fs::metadata(&module).map_or(0, |file| file.len()) as f64 * 1e-6);
    if !answers(Command::new("node").arg("--version")) {
        return Outcome::NotRun("node".into());
    }
    if toolchain.c.is_none() {
        return Outcome::NotRun("a clang that compiles for WebAssembly, and llvm-ar: the engine reads no FBX".into());
    }
    let desk = target().join("xtask/browser");
    let made =
        by_the_program(program, &desk).and_then(|()| page::make(&module, TARGET, &pages, options.made == Made::ToGive));
    let [_, page] = match made {
        Ok(pages) => pages,
        Err(error) => {
            println!("{error}");
            return Outcome::Failed;
        }
    };
    match of(Command::new("node").arg(root().join("js/test/engine.mjs")).arg(&module).arg(&desk)) {
        Outcome::Passed => {}
        other => return other,
    }
    if options.hostile {
        match damaged(&module) {
            Outcome::Passed => {}
            other => return other,
        }
    }
    in_chromium(&page, &desk, program)
}

/// Uses the page, that of `dermis studio`, and the loop of sculpting.
fn in_chromium(page: &Path, desk: &Path, program: &Path) -> Outcome {
    if !has_browser() || !has_playwright() || !has_gltf_validator() {
        return Outcome::NotRun(
            "the page in Chromium: Chromium, or the npm packages playwright-core and gltf-validator".into(),
        );
    }
    let uses = |script: &str, of_script: &[&Path]| {
        of(Command::new("node").arg(root().join("js/test").join(script)).arg(folder()).args(of_script))
    };
    match uses("page.mjs", &[page, desk, program]) {
        Outcome::Passed => {}
        other => return other,
    }
    match uses("studio.mjs", &[desk, program]) {
        Outcome::Passed => {}
        other => return other,
    }
    match has_three() {
        true => uses("loop.mjs", &[page, &desk.join(BODY[0]), desk]),
        false => Outcome::NotRun("sculpts of the page in three.js: the npm package three".into()),
    }
}

/// Hands damaged files to the engine: the good ones are the fuzzer's seeds.
fn damaged(module: &Path) -> Outcome {
    let seeds = target().join("xtask/browser-seeds");
    let _ = std::fs::remove_dir_all(&seeds);
    match program("dermis-fuzz", "fuzz-seeds", Build::Release).map(|written| of(Command::new(written).arg(&seeds))) {
        Some(Outcome::Passed) => {}
        Some(other) => return other,
        None => return Outcome::Failed,
    }
    of(Command::new("node").arg(root().join("js/test/hostile.mjs")).arg(module).arg(&seeds).arg(HOSTILE))
}

/// Copies a module without its custom sections, such as the names of functions: of them nothing runs.
///
/// # Errors
/// A text for people.
fn strip(module: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let bytes = std::fs::read(module).map_err(|error| failed(module, error))?;
    let stripped = without_custom_sections(&bytes).ok_or_else(|| format!("{}: no module", module.display()))?;
    std::fs::create_dir_all(to.parent().unwrap_or(to)).map_err(|error| failed(to, error))?;
    std::fs::write(to, stripped).map_err(|error| failed(to, error))
}

/// The sections of a module but those of kind zero; `None` if the bytes are none.
///
/// A module is eight bytes and sections; a section its kind, a byte; its length, seven bits to a byte, the lowest first; and its bytes.
fn without_custom_sections(module: &[u8]) -> Option<Vec<u8>> {
    const HEAD: usize = 8;
    let mut kept = module.get(..HEAD).filter(|head| head.starts_with(b"\0asm"))?.to_vec();
    let mut at = HEAD;
    while at < module.len() {
        let (mut length, mut next) = (0, at + 1);
        for shift in (0..35).step_by(7) {
            let byte = *module.get(next)?;
            length |= usize::from(byte & 0x7f) << shift;
            next += 1;
            if byte < 0x80 {
                break;
            }
        }
        let section = module.get(at..next + length)?;
        if section[0] != 0 {
            kept.extend_from_slice(section);
        }
        at = next + length;
    }
    Some(kept)
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
    fn build(&self, made: Made) -> Option<PathBuf> {
        let folder = target().join("browser");
        let profile = match made {
            Made::ToGive => "release-browser",
            Made::ToTest => "browser-quick",
        };
        // Elsewhere the crate is a library of the program.
        let mut build = cargo("rustc");
        build.args(["--lib", "--crate-type", "cdylib"]);
        build.args(["--package", "dermis-browser", "--profile", profile, "--target", TARGET]);
        build.env("CARGO_TARGET_DIR", &folder).env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
        if let Some(unpacked) = &self.unpacked {
            let llvm = llvm_of(unpacked)?;
            let libraries = [unpacked.join("usr/lib/x86_64-linux-gnu"), llvm.join("lib")];
            build.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).ok()?);
            build.env("RUSTC", unpacked.join("usr/bin/rustc"));
            build.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", llvm.join("bin/wasm-ld"));
            // Its standard library is there as sources alone, and to compile those along is a feature of unstable compilers.
            build.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
            for package in OF_STD.into_iter().filter(|_| made == Made::ToGive) {
                build.arg("--config").arg(format!("profile.{profile}.package.{package}.opt-level=3"));
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
        built.then(|| folder.join(TARGET).join(profile).join("dermis_browser.wasm"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood() {
        assert_eq!(Options::of(&[]), Ok(Options::default()));
        let two = Options { made: Made::ToTest, hostile: true, ..Options::default() };
        assert_eq!(Options::of(&["--hostile", "--quick"]), Ok(two));
        assert!(Options::of(&["--hostile", "--fast"]).is_err_and(|mistake| mistake.contains("--fast")));
    }

    /// Sections as the specification of WebAssembly writes them, one of them with a length of two bytes.
    #[test]
    fn custom_sections_are_taken_off() {
        let head = b"\0asm\x01\0\0\0";
        let types: &[u8] = &[1, 4, 1, 0x60, 0, 0];
        let names = [&[0, 0x80, 1][..], &[7; 128]].concat();
        let module = [head, &names[..], types, &[0, 1, 0]].concat();
        assert_eq!(without_custom_sections(&module), Some([head, types].concat()));
        for length in 0..module.len() {
            let cut = without_custom_sections(&module[..length]);
            assert!(cut.is_none() || [8, 139, 145].contains(&length), "{length}");
        }
        assert_eq!(without_custom_sections(b"MZ"), None);
    }
}
