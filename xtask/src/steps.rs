//! Steps of a check: how each ended, how long it took, and what all came to. Steps that keep one core busy run side by side as lanes, each
//! in a process of its own, since what steps print would mix otherwise.

use crate::workspace::{root, target};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How a step ended.
pub enum Outcome {
    Passed,
    Failed,
    /// What is missing.
    NotRun(String),
}

/// A program's exit code for "the tool I need is not here", as in `tools/screenshot.sh`.
const TOOL_IS_MISSING: i32 = 3;

// How a step ended, in the summary and in what a lane tells.
const PASSED: &str = "passed";
const FAILED: &str = "FAILED";
const NOT_RUN: &str = "not run";

/// What ran, in order.
pub struct Steps {
    done: Vec<(String, Outcome, Duration)>,
    start: Instant,
}

/// Steps that run beside others: this program itself, as `test --lane NAME`. One that is dropped before it ended is stopped.
pub struct Lane {
    name: &'static str,
    process: Child,
    printed: PathBuf,
    told: PathBuf,
}

impl Lane {
    /// Starts one; an error is a text for people.
    pub fn start(name: &'static str) -> Result<Self, String> {
        let folder = target().join("xtask/lanes");
        let (printed, told) = (folder.join(format!("{name}.log")), folder.join(format!("{name}.steps")));
        let started = || {
            std::fs::create_dir_all(&folder)?;
            let _ = std::fs::remove_file(&told);
            let log = File::create(&printed)?;
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["test", "--lane", name, "--to"]).arg(&told);
            command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
        };
        let process = started().map_err(|error: std::io::Error| error.to_string())?;
        Ok(Self { name, process, printed, told })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Steps {
    /// None yet.
    pub fn new() -> Self {
        Self { done: Vec::new(), start: Instant::now() }
    }

    /// Runs one.
    pub fn run(&mut self, name: &str, step: impl FnOnce() -> Outcome) {
        headline(name);
        let start = Instant::now();
        let outcome = step();
        self.done.push((name.to_owned(), outcome, start.elapsed()));
    }

    /// Waits for a lane, prints what it printed, and takes its steps over. A lane that told nothing is a step that failed.
    pub fn join(&mut self, mut lane: Lane) {
        let ended = lane.process.wait();
        match std::fs::read(&lane.printed) {
            Ok(printed) => println!("{}", String::from_utf8_lossy(&printed)),
            Err(error) => println!("{}: {error}", lane.printed.display()),
        }
        let told = std::fs::read_to_string(&lane.told).unwrap_or_default();
        let steps: Vec<_> = told.lines().filter_map(step_of).collect();
        if steps.is_empty() {
            println!("what ran beside, {}: {ended:?}", lane.name);
            self.done.push((lane.name.to_owned(), Outcome::Failed, Duration::ZERO));
        }
        self.done.extend(steps);
    }

    /// Writes the steps of a lane to a file: a line each.
    pub fn tell(&self, path: &Path) -> ExitCode {
        let line = |(name, outcome, time): &(String, Outcome, Duration)| {
            let (how, missing) = match outcome {
                Outcome::Passed => (PASSED, ""),
                Outcome::Failed => (FAILED, ""),
                Outcome::NotRun(missing) => (NOT_RUN, missing.as_str()),
            };
            format!("{how}\t{}\t{name}\t{}\n", time.as_secs_f64(), missing.replace(['\t', '\n'], " "))
        };
        match std::fs::write(path, self.done.iter().map(line).collect::<String>()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("{}: {error}", path.display());
                ExitCode::FAILURE
            }
        }
    }

    /// Says what all came to; `what` is the command.
    pub fn summary(&self, what: &str, notes: &[String]) -> ExitCode {
        headline("summary");
        for (name, outcome, time) in &self.done {
            let outcome = match outcome {
                Outcome::Passed => PASSED,
                Outcome::Failed => FAILED,
                Outcome::NotRun(_) => NOT_RUN,
            };
            println!("{outcome:>8} {:>7.1} s  {name}", time.as_secs_f64());
        }
        for note in notes {
            println!("{note}");
        }
        for (name, outcome, _) in &self.done {
            if let Outcome::NotRun(missing) = outcome {
                println!("NOT RUN: {name}: needs {missing}");
            }
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let failed: Vec<_> =
            self.done.iter().filter(|(_, o, _)| matches!(o, Outcome::Failed)).map(|s| s.0.as_str()).collect();
        if failed.is_empty() {
            println!("{what}: all is well after {seconds:.0} s");
            ExitCode::SUCCESS
        } else {
            println!("{what}: FAILED after {seconds:.0} s: {}", failed.join(", "));
            ExitCode::FAILURE
        }
    }
}

/// A step from its line.
fn step_of(line: &str) -> Option<(String, Outcome, Duration)> {
    let mut parts = line.split('\t');
    let (how, seconds, name, missing) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let outcome = match how {
        PASSED => Outcome::Passed,
        NOT_RUN => Outcome::NotRun(missing.to_owned()),
        _ => Outcome::Failed,
    };
    Some((name.to_owned(), outcome, Duration::try_from_secs_f64(seconds).ok()?))
}

/// Says which step begins.
pub fn headline(name: &str) {
    println!("\n==== {name} ====");
}

/// Runs a command in the workspace's folder. What it says goes where ours goes; it is asked nothing.
pub fn of(command: &mut Command) -> Outcome {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.current_dir(root()).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(TOOL_IS_MISSING) => Outcome::NotRun("a tool, named above".into()),
        Ok(status) => {
            println!("{program}: {status}");
            Outcome::Failed
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Outcome::NotRun(program),
        Err(error) => {
            println!("{program} does not start: {error}");
            Outcome::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_tells_how_its_steps_ended() {
        let mut lane = Steps::new();
        lane.run("good", || Outcome::Passed);
        lane.run("bad", || Outcome::Failed);
        lane.run("bare", || Outcome::NotRun("a tool,\tand one more".into()));
        let told = std::env::temp_dir().join(format!("dermis-lane-{}", std::process::id()));
        assert_eq!(lane.tell(&told), ExitCode::SUCCESS);
        let lines = std::fs::read_to_string(&told).unwrap();
        std::fs::remove_file(&told).unwrap();
        let steps: Vec<_> = lines.lines().filter_map(step_of).collect();
        assert!(matches!(&steps[0], (name, Outcome::Passed, _) if name == "good"));
        assert!(matches!(&steps[1], (name, Outcome::Failed, _) if name == "bad"));
        assert!(
            matches!(&steps[2], (name, Outcome::NotRun(missing), _) if name == "bare" && missing == "a tool, and one more")
        );
        // What is no line of a step counts for none.
        assert!(step_of("good").is_none() && step_of("").is_none());
    }
}
