//! Whether a release works: each file is installed where nothing of this project is, and runs its first example.

use super::{GLIBC, Made, SUMS, archive, read, sum};
use crate::bpy;
use crate::steps::Outcome;
use crate::tools::run as tool;
use crate::workspace::{root, target};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// All of it.
pub fn all(made: &Made) -> Result<(), String> {
    sums(made)?;
    let place = target().join("release-check");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    program(made, &place.join("program"))?;
    wheel(made, &place.join("wheel"))?;
    source(made, &place.join("source"))?;
    for release in bpy::RELEASES {
        said(release.step);
        match bpy::check(release, &made.zips) {
            Outcome::Passed => {}
            Outcome::Failed => return Err(format!("{} found something", release.step)),
            Outcome::NotRun(missing) => return Err(format!("{}: it needs {missing}", release.step)),
        }
    }
    println!("\nthe release works");
    Ok(())
}

fn said(what: &str) {
    println!("\n== {what}");
}

/// Every file is as `SHA256SUMS` says, and is named there.
fn sums(made: &Made) -> Result<(), String> {
    said(SUMS);
    let folder = made.program.parent().unwrap_or(Path::new("."));
    let text = std::fs::read_to_string(folder.join(SUMS)).map_err(|error| format!("{SUMS}: {error}"))?;
    for line in text.lines() {
        let (known, name) = line.split_once("  ").ok_or_else(|| format!("{SUMS}: \"{line}\""))?;
        if sum(&folder.join(name))? != known {
            return Err(format!("{name} is not what {SUMS} says"));
        }
        println!("{name}");
    }
    Ok(())
}

/// The archive of the program.
fn program(made: &Made, place: &Path) -> Result<(), String> {
    said("the program");
    archive::unpack(&made.program, place)?;
    let home = place.join(format!("dermis-{}-{}", made.version, made.machine));
    let program = home.join("bin/dermis");
    old_enough(&program)?;
    tool(Command::new("bash").arg("-n").arg(home.join("share/bash-completion/completions/dermis")))?;
    let page = home.join("share/man/man1/dermis-fit.1");
    if !String::from_utf8_lossy(&read(&page)?).contains("hold\\-out") {
        return Err(format!("{} does not name the options of fit", page.display()));
    }
    demo(&program, place)
}

/// The program's own first example, in a shell of a stranger.
fn demo(program: &Path, place: &Path) -> Result<(), String> {
    let start = Instant::now();
    let mut demo = Command::new(program);
    demo.arg("demo").arg("--out").arg(place.join("dermis-demo")).env_clear().env("HOME", place);
    tool(&mut demo)?;
    println!("dermis demo: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// A program names the versions of the C library that it asks for.
fn old_enough(path: &Path) -> Result<(), String> {
    let content = read(path)?;
    let key = b"GLIBC_2.";
    let asked = content.windows(key.len() + 3).filter(|window| window.starts_with(key)).map(|window| {
        let digits = window[key.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, byte| 10 * number + u32::from(byte - b'0'))
    });
    let (newest, allowed) = (asked.max().unwrap_or(0), GLIBC.trim_start_matches("2.").parse().unwrap_or(0));
    println!("{} asks for glibc 2.{newest}", path.display());
    if newest <= allowed { Ok(()) } else { Err(format!("at most {GLIBC} was wanted")) }
}

/// A new environment of Python. Returns its folder of programs.
fn environment(place: &Path) -> Result<PathBuf, String> {
    tool(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    Ok(place.join("bin"))
}

/// The wheel: with pip alone a person has the program and the package.
fn wheel(made: &Made, place: &Path) -> Result<(), String> {
    said("the wheel");
    let start = Instant::now();
    let programs = environment(place)?;
    tool(Command::new(programs.join("python")).args(PIP).arg(&made.wheel))?;
    demo(&programs.join("dermis"), place)?;
    first_example(&programs, place)?;
    println!("installed, and the bundled body fitted twice: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The source: pip compiles it.
fn source(made: &Made, place: &Path) -> Result<(), String> {
    said("the package as source");
    let start = Instant::now();
    let programs = environment(place)?;
    tool(Command::new(programs.join("python")).args(PIP).arg(&made.source))?;
    println!("compiled and installed: {:.0} s", start.elapsed().as_secs_f64());
    demo(&programs.join("dermis"), place)
}

const PIP: [&str; 6] = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout=60"];

/// The first example of the package's page, on the files that the demo wrote.
fn first_example(programs: &Path, place: &Path) -> Result<(), String> {
    let page = root().join("crates/dermis-python/README.md");
    let page = std::fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
    let example = page.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```"));
    let (example, _) = example.ok_or("the page of the Python package has no example")?;
    println!("{example}");
    // Not in the folder of this project, whose own package would be found first.
    let mut python = Command::new("env");
    python.arg("-C").arg(place).arg(programs.join("python")).args(["-c", example]);
    tool(&mut python)
}
