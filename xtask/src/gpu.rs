//! The graphics card in `cargo xtask test`: tests that need an adapter, and shaders that other programs must take.

use crate::steps::{Outcome, of};
use crate::tools;
use crate::workspace::{cargo, root};
use std::path::PathBuf;
use std::process::Command;

/// An example of dermis-gpu, built with the features of the whole workspace, which the tests have built already.
fn example(name: &str) -> Result<Command, Outcome> {
    match of(cargo("build").args(["--workspace", "--example", name])) {
        Outcome::Passed => {}
        other => return Err(other),
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(Command::new(target.join("debug/examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))))
}

/// The shaders against the `f64` reference, on a card or in software.
pub fn tests(nextest: bool) -> Outcome {
    match example("adapter").map(|mut adapter| of(&mut adapter)) {
        Ok(Outcome::Passed) => {}
        Ok(Outcome::NotRun(_)) => {
            return Outcome::NotRun("a graphics adapter, such as Debian's mesa-vulkan-drivers and libvulkan1".into());
        }
        Ok(Outcome::Failed) => return Outcome::Failed,
        Err(outcome) => return outcome,
    }
    match nextest {
        true => of(cargo("nextest").args(["run", "--workspace", "--no-fail-fast", "-E", "test(/^on_card::/)"])),
        false => of(cargo("test").args(["--workspace", "--test", "card"])),
    }
}

fn with(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments);
    command
}

/// Every shader as SPIR-V, GLSL and HLSL, checked by the tools of the Khronos group.
pub fn shaders() -> Outcome {
    if let Some(missing) =
        tools::SHADER_CHECKERS.iter().find(|tool| !tools::answers(Command::new(tool).arg("--version")))
    {
        return Outcome::NotRun(format!("{missing} (Debian's spirv-tools and glslang-tools)"));
    }
    let folder = root().join("target/xtask/shaders");
    // Files of shaders that are no more would be checked, too.
    let _ = std::fs::remove_dir_all(&folder);
    match example("export_shaders").map(|mut export| of(export.arg(&folder))) {
        Ok(Outcome::Passed) => {}
        Ok(outcome) | Err(outcome) => return outcome,
    }
    let files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
        Ok(files) => files.filter_map(|file| Some(file.ok()?.path())).collect(),
        Err(error) => {
            println!("{}: {error}", folder.display());
            return Outcome::Failed;
        }
    };
    let (mut checked, mut failed) = (0, 0);
    for file in files {
        let [spirv, glslang] = tools::SHADER_CHECKERS.map(Command::new);
        let mut command = match file.extension().and_then(|e| e.to_str()) {
            Some("spv") => with(spirv, &["--target-env", "vulkan1.1"]),
            Some("comp") => glslang,
            Some("hlsl") => {
                let mut command = with(glslang, &["-D", "-V", "-S", "comp", "-e", "main", "-o"]);
                command.arg(folder.join("compiled"));
                command
            }
            _ => continue,
        };
        checked += 1;
        let output = command.arg(&file).output();
        if !output.as_ref().is_ok_and(|output| output.status.success()) {
            failed += 1;
            let said = output.map(|o| [o.stdout, o.stderr].map(|s| String::from_utf8_lossy(&s).into_owned()).concat());
            println!("{}: {}", file.display(), said.unwrap_or_else(|error| error.to_string()));
        }
    }
    println!("{checked} shaders checked, {failed} of them wrong");
    if failed == 0 && checked > 0 { Outcome::Passed } else { Outcome::Failed }
}
