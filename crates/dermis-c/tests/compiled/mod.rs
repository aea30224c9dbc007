//! Programs in C, compiled and run against the library that was built with the test.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the C compiler must be content with.
pub const STRICT: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// The library's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    Shared,
    Static,
}

/// What a static library of Rust needs of the system (`rustc --print native-static-libs`).
const SYSTEM: &[&str] = match cfg!(target_os = "linux") {
    true => &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"],
    false => &["-lm"],
};

/// The folder of the test program, where cargo puts the libraries that it was built with.
pub fn built() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    folder
}

/// The folder of the header.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The folder of the classes for C#.
pub fn csharp() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("csharp")
}

/// A source of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Compiles a program with further options; the program.
pub fn compile(source: &Path, folder: &Path, library: Library, options: &[&str]) -> PathBuf {
    let name = format!("{}_{library:?}", source.file_stem().unwrap().to_str().unwrap());
    let program = folder.join(name.to_lowercase());
    let mut compiler = Command::new("cc");
    compiler.args(options).arg("-I").arg(include()).arg("-o").arg(&program).arg(source);
    match library {
        Library::Static => compiler.arg(built().join("libdermis_c.a")).args(SYSTEM),
        Library::Shared => {
            let rpath = format!("-Wl,-rpath,{}", built().display());
            compiler.arg("-L").arg(built()).args(["-ldermis_c", "-lm"]).arg(rpath)
        }
    };
    let compiled = compiler.output().unwrap();
    assert!(compiled.status.success(), "{compiler:?}\n{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// What a program prints; it must end with 0.
pub fn printed(command: &mut Command) -> String {
    let run = command.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{command:?}: {}\n{said}{}", run.status, String::from_utf8_lossy(&run.stderr));
    said
}
