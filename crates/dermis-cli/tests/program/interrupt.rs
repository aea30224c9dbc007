//! Ctrl-C: a clean end, nothing half written, an existing file left whole.
#![cfg(unix)]

use crate::Desk;
use crate::tube::{Flesh, Tube};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Starts a line, sends the signal once standard error says that the files are read, returns exit code and the rest.
fn interrupted(desk: &Desk, line: &str) -> (Option<i32>, String) {
    let mut child = desk.command(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while reader.read_line(&mut said).unwrap() > 0 && !said.contains("vertices matched") {}
    assert!(child.try_wait().unwrap().is_none(), "{line} was over too soon:\n{said}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    reader.read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn an_interrupted_fit_leaves_everything_as_it_was() {
    let desk = Desk::new();
    // Seconds of work: many vertices, many poses, both forms.
    desk.put("a.npz", Tube::new(1500, 48, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(1500, 4, 0.5, Flesh::Bulge).bundle());
    desk.put("old.dermis", "an older model");
    for line in [
        "fit a.npz --examples a.npz -o new.dermis --report rep.html",
        "fit a.npz --examples a.npz -o old.dermis --force",
        "fit a.npz --examples a.npz --method mwe --set rows=auto -o new.dermis --report rep.html",
        "fit a.npz --examples a.npz --method mwe --set rows=auto -o old.dermis --force",
        "fit a.npz --examples a.npz --method animation-space -o new.dermis",
        "compare a.npz --examples a.npz --hold-out b.npz --methods joint,mwe-auto,mwe",
    ] {
        let (code, said) = interrupted(&desk, line);
        assert_eq!(code, Some(130), "{line}: {said}");
        assert!(said.contains("error: cancelled") && !said.contains("panicked"), "{line}: {said}");
        assert_eq!(desk.names("."), ["a.npz", "b.npz", "old.dermis"], "{line}");
        assert_eq!(desk.bytes("old.dermis"), b"an older model");
    }
}
