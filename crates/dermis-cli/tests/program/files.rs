//! Outputs where something is in the way: an input of the same name, a device that takes no more, a limit on file sizes.

use crate::Desk;
use crate::tube::{Flesh, Tube};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.put("t.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk
}

#[test]
fn no_output_replaces_an_input() {
    let desk = desk();
    desk.good("export shapes m.dermis --motion t.npz -o walk.glb");
    let files = ["a.npz", "m.dermis", "t.npz", "walk.glb"];
    let before = files.map(|name| desk.bytes(name));
    for line in [
        "eval m.dermis --examples t.npz --vertex-errors t.npz --force",
        "pose m.dermis --motion t.npz -o t.npz --force",
        "pose m.dermis --motion t.npz -o ./t.npz --force",
        "suggest m.dermis --motion t.npz -o t.npz --force",
        "export shapes m.dermis --motion walk.glb -o walk.glb --force",
        "convert a.npz -o a.npz --force",
        "weights a.npz --heat -o a.npz --force",
        "decompose t.npz --bones 2 -o t.npz --force",
        "invert a.npz --sculpts t.npz -o t.npz --force",
    ] {
        desk.bad(line, &["is read and would be replaced", "choose another output"]);
        assert!(files.map(|name| desk.bytes(name)) == before, "{line}");
    }
    // Nor does a name that says something else.
    for line in [
        "fit a.npz --examples a.npz --folds 0 -o a.npz --force",
        "fit a.npz --examples a.npz --hold-out t.npz -o t.npz --force",
        "fit a.npz --examples a.npz --method mwe --accumulate a.npz --force",
        "export drivers m.dermis --motion t.npz --table m.dermis -o new.glb --force",
    ] {
        desk.bad(line, &["this name is not one of", "name it"]);
        assert!(files.map(|name| desk.bytes(name)) == before, "{line}");
    }
    #[cfg(unix)]
    {
        std::fs::copy(desk.path("a.npz"), desk.path("a")).unwrap();
        desk.bad("fit a --examples a --folds 0 -o a --force", &["is read and would be replaced"]);
        std::os::unix::fs::symlink("t.npz", desk.path("other.npz")).unwrap();
        desk.bad("convert t.npz -o other.npz --force", &["\"other.npz\"", "is read and would be replaced"]);
    }
}

/// What was not printed was not said.
#[cfg(target_os = "linux")]
#[test]
fn a_standard_output_that_takes_no_more_is_an_error() {
    let desk = desk();
    for line in [
        "inspect a.npz",
        "inspect a.npz --json",
        "eval m.dermis --examples t.npz --json",
        "recipe m.dermis",
        "completions bash",
        "help",
        "help fit",
        "fit --help",
        "--version",
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = desk.command(line).stdout(full).output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("standard output"), "{line}: {said}");
    }
}

/// A model beyond the limit is an error that names it, and nothing of it is left.
#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_leaves_nothing_behind() {
    let desk = desk();
    let before = (desk.names("."), desk.bytes("m.dermis"));
    let limited = format!("ulimit -f 1; exec {} \"$@\"", env!("CARGO_BIN_EXE_dermis"));
    for (line, file) in [
        ("fit a.npz --examples a.npz --folds 0 -o new.dermis", "new.dermis"),
        ("fit a.npz --examples a.npz --folds 0 -o m.dermis --force", "m.dermis"),
        ("pose m.dermis --motion t.npz -o new.pc2", "new.pc2"),
        ("convert a.npz -o new.glb", "new.glb"),
    ] {
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(desk.path(".")).args(["-c", &limited, "sh"]).args(line.split_whitespace());
        let run = shell.output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains("error: ") && said.contains(file), "{line}: {said}");
        assert!((desk.names("."), desk.bytes("m.dermis")) == before, "{line}");
    }
}

/// A folder of frames whose writing was stopped is not taken for a whole, shorter motion.
#[cfg(unix)]
#[test]
fn frames_that_were_not_written_to_their_end_are_refused() {
    let desk = desk();
    let limited = format!("ulimit -f 1; exec {} \"$@\"", env!("CARGO_BIN_EXE_dermis"));
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(desk.path(".")).args(["-c", &limited, "sh"]);
    let run = shell.args(["pose", "m.dermis", "--motion", "t.npz", "-o", "frames"]).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    desk.bad("inspect frames", &["\"frames\"", "not written to its end", "write it again"]);
    desk.good("pose m.dermis --motion t.npz -o frames --force");
    desk.good("inspect frames");
    assert_eq!(desk.names("frames").len(), 5);
}
