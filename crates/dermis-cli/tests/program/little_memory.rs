//! The program under a limit on its memory.
//!
//! What can be promised: whatever the limit, an output is the old file, or the new one whole. The program ends in success,
//! with a named error (exit code 2), or by Rust's own end for an allocation that fails, which no program can catch: it names
//! the bytes asked for, and nothing else of it stays than a file under way, which the next write there removes.
#![cfg(unix)]

use super::Desk;
use super::tube::{Flesh, Tube};
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

/// The signal of an abort.
const SIGABRT: i32 = 6;

/// A grid of 150 × 150 vertices.
fn grid() -> String {
    let mut text = String::new();
    for at in 0..150 * 150 {
        let _ = writeln!(text, "v {} {} 0.125", at % 150, at / 150);
    }
    for at in (0..149 * 150).filter(|at| at % 150 != 149) {
        let _ = writeln!(text, "f {} {} {} {}", at + 1, at + 2, at + 152, at + 151);
    }
    text
}

/// A run of the program that may use so many KiB of addresses.
fn limited(desk: &Desk, kib: u64, line: &str) -> Output {
    let script = format!("ulimit -v {kib} && exec {} \"$@\"", env!("CARGO_BIN_EXE_dermis"));
    let mut shell = Command::new("sh");
    // One thread: every further one takes addresses of its own, and none of them reads or writes.
    shell.current_dir(desk.path(".")).env("RAYON_NUM_THREADS", "1").args(["-c", &script, "sh"]);
    shell.args(line.split_whitespace()).output().unwrap()
}

#[test]
fn an_output_is_old_or_new_however_little_memory_there_is() {
    let desk = Desk::new();
    desk.put("a.obj", grid());
    desk.good("convert a.obj -o new.npz");
    let (old, new) = (b"old".to_vec(), desk.bytes("new.npz"));
    // The least with which the program says its version: below, the system does not even start it.
    let mut kib = 4_096;
    while !limited(&desk, kib, "--version").status.success() {
        kib += kib / 8;
    }
    let (mut outcomes, mut succeeded) = (Vec::new(), false);
    while !succeeded {
        desk.put("out.npz", &old);
        let run = limited(&desk, kib, "convert a.obj -o out.npz --force");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let outcome = match (run.status.code(), run.status.signal()) {
            (Some(0), _) => "success",
            (Some(2), _) if said.contains("error: ") => "error",
            (None, Some(SIGABRT)) if said.contains("memory allocation of ") => "abort",
            other => panic!("{kib} KiB: {other:?}\n{said}"),
        };
        succeeded = outcome == "success";
        assert!(desk.bytes("out.npz") == if succeeded { &new[..] } else { &old[..] }, "{kib} KiB: {outcome}");
        // The next program would remove a file under way once it is a minute old.
        for left in desk.names(".").iter().filter(|name| outcome == "abort" && name.starts_with(".dermis-")) {
            std::fs::remove_file(desk.path(left)).unwrap();
        }
        let names = desk.names(".");
        assert_eq!(names, ["a.obj", "new.npz", "out.npz"], "{kib} KiB: {outcome}");
        outcomes.push(outcome);
        kib += kib / 8;
        assert!(kib < 8 << 20, "it does not succeed with 8 GiB: {outcomes:?}");
    }
    assert!(outcomes.len() > 1, "the limits were too generous to test anything: {outcomes:?}");
}

/// Skins of 4,000 frames of 1,600 vertices would take 154 MB; a motion of 20 frames sets the limit.
#[test]
fn a_long_motion_is_posed_in_the_memory_of_a_short_one() {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(200, 12, 0.3, Flesh::Weights).bundle());
    desk.good("fit train.npz --examples train.npz --method own-weights --folds 0 -o model.dermis");
    desk.put("short.npz", Tube::new(200, 20, 0.1, Flesh::Weights).motion());
    desk.put("long.npz", Tube::new(200, 4000, 0.1, Flesh::Weights).motion());
    for ending in ["pc2", "mdd", "npz"] {
        let line = |motion: &str| format!("pose model.dermis --motion {motion}.npz -o out-{motion}.{ending} --force");
        let mut kib = 16_384;
        loop {
            let run = limited(&desk, kib, &line("short"));
            if run.status.success() {
                break;
            }
            kib += kib / 8;
            assert!(kib < 8 << 20, "{ending}, with 8 GiB: {}", String::from_utf8_lossy(&run.stderr));
        }
        // The poses of the long motion are held: 4,000 of three matrices, twice while they are read.
        let run = limited(&desk, kib + kib / 8 + 24_000, &line("long"));
        assert!(run.status.success(), "{ending}, {kib} KiB: {}", String::from_utf8_lossy(&run.stderr));
        assert!(ending == "npz" || desk.bytes(&format!("out-long.{ending}")).len() > 4000 * 1600 * 12, "{ending}");
    }
}
