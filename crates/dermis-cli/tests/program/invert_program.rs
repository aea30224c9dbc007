//! `dermis invert --program`: a deformer at the other end of two pipes, one that behaves and many that do not.
#![cfg(unix)]

use crate::invert::{off, rest_shapes};
use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::npz::{StoredFloat, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, Space, UpAxis};
use dermis_workflow::rig::glam::DVec3;
use std::process::Command;

/// The program's arguments, the last of which holds blanks.
fn invert(desk: &Desk, more: &str, program: &str) -> crate::Run {
    let mut command = desk.command(&format!("invert a.npz --sculpts a.npz -o x.npz --force {more} --program"));
    let output = command.arg(program).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    crate::Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn desk(rings: usize) -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(rings, 6, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    (desk, tube)
}

const HELLO: &str = r"printf 'DERM\r\n\032\n\001\000\000\000'";
const READY: &str = r"printf 'REDY\000\000\000\000'";
/// Head of a SKIN for 74 vertices (1780 bytes), and the number of the first call.
const SKIN: &str = r"printf 'SKIN\364\006\000\000\001\000\000\000'";

/// Programs that misbehave are named by call and by what was received, and ended; nothing is written. A program that were not
/// ended would sleep on, and the test with it. Programs that should fall silent have the time to start first.
#[test]
fn programs_that_misbehave_are_ended() {
    let (desk, _) = desk(9);
    for (limit, script, says) in [
        ("60", "exit 3", &["at its start", "exit status: 3", "after 0 of 12 bytes"][..]),
        ("0.5", "sleep 1000", &["at its start", "no answer in 0.5 s", "0 of 12 bytes"]),
        ("60", "echo Hello, I am a deformer; sleep 1000", &["\"Hello, I am \"", "magic"]),
        ("60", r"printf 'DERM\r\n\032\n\002\000\000\000'; sleep 1000", &["speaks version 2", "Dermis 1"]),
        ("3", "HELLO; sleep 1000", &["at its start", "0 of 8 bytes"]),
        ("3", "HELLO; READY; sleep 1000", &["\"rest\"", "call 1", "no answer in 3 s", "0 of 1788 bytes"]),
        ("60", "HELLO; READY; exec >&-; sleep 1000", &["call 1", "closed its standard output", "0 of 1788"]),
        ("60", "HELLO; READY; echo out of licences >&2; exit 1", &["call 1", "exit status: 1", "out of licences"]),
        ("3", "HELLO; READY; SKIN; head -c 700 /dev/zero; sleep 1000", &["call 1", "712 of 1788 bytes"]),
        ("60", "HELLO; READY; SKIN; head -c 700 /dev/zero", &["call 1", "ended", "712 of 1788 bytes"]),
        (
            "60",
            r"HELLO; READY; printf 'SKIN\034\000\000\000\001\000\000\000'; head -c 24 /dev/zero; sleep 1000",
            &["call 1", "1 points (28 bytes) for 74"],
        ),
        ("60", r"HELLO; READY; printf 'SKIN\377\377\377\377'; cat /dev/zero", &["call 1", "4294967295 bytes", "1780"]),
        ("60", r"HELLO; READY; printf 'FAIL\377\377\377\377'; cat /dev/zero", &["call 1", "4294967295 bytes"]),
        (
            "60",
            "HELLO; READY; SKIN; head -c 1776 /dev/zero | tr '\\000' '\\377'; sleep 1000",
            &["call 1", "74 of 74 points are not finite", "vertex 0"],
        ),
        (
            "60",
            r"HELLO; READY; printf 'SKIN\364\006\000\000\011\000\000\000'; head -c 1776 /dev/zero; sleep 1000",
            &["call 1", "it answered call 9"],
        ),
        ("60", "HELLO; READY; echo evaluating the mesh; sleep 1000", &["call 1", "\"evaluati\"", "nothing but frames"]),
        ("60", "HELLO; READY; READY; sleep 1000", &["call 1", "\"REDY\"", "instead of SKIN"]),
        ("60", r"HELLO; READY; printf 'FAIL\005\000\000\000noisy'; sleep 1000", &["call 1", "it says: noisy"]),
        ("60", "yes", &["at its start", "magic"]),
    ] {
        desk.put("p.sh", script.replace("HELLO", HELLO).replace("READY", READY).replace("SKIN;", &format!("{SKIN};")));
        let run = invert(&desk, &format!("--time-limit {limit}"), "sh p.sh");
        assert_eq!(run.code, 2, "{script}: {}{}", run.out, run.err);
        for word in says.iter().chain(&["sh p.sh", "docs/invert-protocol.md"]) {
            assert!(run.err.contains(word), "{script}: \"{word}\" is not in\n{}", run.err);
        }
        assert!(run.err.lines().all(|line| line.len() < 500) && !run.err.contains("panicked"), "{}", run.err);
        assert!(!exists(&desk.path("x.npz")) && run.out.is_empty(), "{script}");
    }
    for (program, says) in [("", "is empty"), ("'sh p.sh", "quote"), ("no-such-program -x", "cannot be started")] {
        let run = invert(&desk, "", program);
        assert!(run.code == 2 && run.err.contains(says), "{program}: {}", run.err);
    }
    for limit in ["0", "-1", "nan", "1e300"] {
        let run = invert(&desk, &format!("--time-limit {limit}"), "sh p.sh");
        assert!(run.code == 2 && run.err.contains("--time-limit"), "{limit}: {}", run.err);
    }
}

/// More is written to it than a pipe holds, and it never reads: the time limit holds all the same. What it has started is
/// ended with it.
#[test]
fn a_program_that_never_reads_is_ended_with_its_children() {
    let (desk, _) = desk(1500);
    // Both hold a pipe open. Its end is read when both are gone.
    assert!(Command::new("mkfifo").arg(desk.path("alive")).status().unwrap().success());
    let (alive, pipe) = (desk.path("alive"), desk.path("alive"));
    let reader = std::thread::spawn(move || std::fs::read_to_string(alive).unwrap());
    desk.put("p.sh", "exec 9> alive\necho started >&9\nsleep 1000 &\nwait");
    let run = invert(&desk, "--time-limit 3", "sh p.sh");
    assert!(run.code == 2 && run.err.contains("no answer in 3 s"), "{}", run.err);
    // If the program never came to open the pipe, the reader still waits for somebody who does.
    drop(std::fs::File::options().read(true).write(true).open(pipe).unwrap());
    assert_eq!(reader.join().unwrap(), "started\n");
}

/// Ctrl-C while a program is waited for: the program itself sends the signal once it was greeted.
#[test]
fn waiting_for_a_program_can_be_interrupted() {
    let (desk, _) = desk(9);
    desk.put("p.sh", format!("{HELLO}; {READY}; kill -INT $PPID; sleep 1000"));
    let run = invert(&desk, "", "sh p.sh");
    assert!(run.code == 130 && run.err.contains("error: cancelled"), "{}", run.err);
    assert_eq!(desk.names("."), ["a.npz", "p.sh"]);
}

/// Programs in Python. `cargo xtask test` runs these where there is one.
mod with_python {
    use super::*;

    /// The example of docs/invert-protocol.md with its file of weights.
    fn example(desk: &Desk, tube: &Tube) {
        let page = include_str!("../../../../docs/invert-protocol.md");
        let code = page.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
        desk.put("deform.py", code);
        let row = |row: &[(dermis_workflow::rig::BoneIndex, f64)]| {
            row.iter().map(|(b, w)| format!("{} {w:.17e}", b.get())).collect::<Vec<_>>().join(" ")
        };
        desk.put("weights.txt", tube.weights.rows().map(row).collect::<Vec<_>>().join("\n"));
    }

    /// Skinning written in another language from the page alone: it agrees with the closed form of ours.
    #[test]
    fn the_example_of_the_page_is_our_skinning() {
        let (desk, tube) = desk(9);
        example(&desk, &tube);
        let run = invert(&desk, "--rest-space --json", "python3 deform.py weights.txt");
        assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        assert!(off(&desk, "x.npz", &tube, &[0, 1, 2, 3, 4, 5]) < 2e-7);
        let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let sculpts = found["sculpts"].as_array().unwrap();
        assert!(
            sculpts.iter().all(|s| number(s, "residual_max.diagonals") < 1e-10 && number(s, "calls") < 20.0),
            "{found}"
        );
        // The bundle names its deformer and holds what is left of every sculpt.
        let contents = dermis_workflow::io::npz::read(&desk.bytes("x.npz"), "x.npz").unwrap();
        assert_eq!(contents.unread, ["remainders", "rest_corrections"]);
        assert!(contents.inverted.unwrap().sentence().contains("through a program"));
        // It says itself what is wrong with its weights.
        desk.put("weights.txt", "0 1\n0 1\n");
        let run = invert(&desk, "", "python3 deform.py weights.txt");
        assert!(run.code == 2 && run.err.contains("it says: weights for 2 vertices of 74"), "{}", run.err);
        // What it dies of is on its standard error.
        let run = invert(&desk, "", "python3 deform.py nowhere.txt");
        assert!(run.code == 2 && run.err.contains("at its start") && run.err.contains("nowhere.txt"), "{}", run.err);
    }

    /// A rig in centimetres with Z up: the program is spoken to in these, and the result is the same.
    #[test]
    fn the_program_sees_the_axes_and_unit_of_the_file() {
        let (desk, tube) = desk(9);
        example(&desk, &tube);
        let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() };
        desk.put(
            "a.npz",
            to_bytes(|out| write(&Contents { space, ..tube.contents() }, StoredFloat::Double, out)).unwrap(),
        );
        // It stops at points that are not in centimetres.
        let code = String::from_utf8(desk.bytes("deform.py")).unwrap();
        let check = "        points = struct.unpack_from(f\"<{3 * len(weights)}d\", payload, 8)\n";
        assert!(code.contains(check));
        let stricter = format!(
            "{check}        if max(points[::3]) < 100 or max(points[2::3]) > 30: send(b\"FAIL\", b\"not centimetres\")\n"
        );
        desk.put("deform.py", code.replace(check, &stricter));
        let run = invert(&desk, "--rest-space", "python3 deform.py weights.txt");
        assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        assert!(off(&desk, "x.npz", &tube, &[0, 1, 2, 3, 4, 5]) < 2e-7);
    }

    /// A program that smooths is found out, and refused with the remedy.
    #[test]
    fn a_program_that_smooths_is_refused() {
        let (desk, tube) = desk(9);
        example(&desk, &tube);
        let code = String::from_utf8(desk.bytes("deform.py")).unwrap();
        let end = "        send(b\"SKIN\"";
        let mean = "        skin = [x + 0.1 * sum(skin[i % 3::3]) / len(weights) for i, x in enumerate(skin)]\n";
        desk.put("deform.py", code.replace(end, &format!("{mean}{end}")));
        let run = invert(&desk, "", "python3 deform.py weights.txt");
        assert_eq!(run.code, 2);
        for word in ["sculpt \"rest\"", "because others moved", "--coupled iterate"] {
            assert!(run.err.contains(word), "{}", run.err);
        }
    }

    /// Along the chain of vertex numbers every vertex goes 0.3 of the way to the middle of its neighbours; at its ends to one.
    fn smoothed(skin: &[DVec3]) -> Vec<DVec3> {
        let last = skin.len() - 1;
        (0..=last).map(|v| skin[v].lerp((skin[v.saturating_sub(1)] + skin[(v + 1).min(last)]) * 0.5, 0.3)).collect()
    }

    /// The same in the program: refused by what couples and the remedy, and solved by it. Smoothing keeps at least 0.4 of any
    /// displacement, so there is one for every sculpt.
    #[test]
    fn a_program_that_smooths_along_a_chain_is_inverted_by_iteration() {
        let (desk, tube) = desk(9);
        example(&desk, &tube);
        let code = String::from_utf8(desk.bytes("deform.py")).unwrap();
        let end = "        send(b\"SKIN\"";
        let chain = "        n, old = len(weights), skin\n        \
                     beside = lambda i: (old[max(i - 3, i % 3)] + old[min(i + 3, 3 * n - 3 + i % 3)]) / 2\n        \
                     skin = [x + 0.3 * (beside(i) - x) for i, x in enumerate(old)]\n";
        assert!(code.contains(end));
        desk.put("deform.py", code.replace(end, &format!("{chain}{end}")));
        for method in ["auto", "gauss-newton", "direction-set"] {
            let run = invert(&desk, &format!("--algorithm {method}"), "python3 deform.py weights.txt");
            assert!(run.code == 2 && run.out.is_empty() && !exists(&desk.path("x.npz")), "{method}: {}", run.err);
            for word in ["sculpt \"rest\"", "of those held still", "because others moved", "--coupled iterate"] {
                assert!(run.err.contains(word), "{method}: {}", run.err);
            }
        }
        let run = invert(&desk, "--coupled iterate --rest-space --json", "python3 deform.py weights.txt");
        assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        for sculpt in found["sculpts"].as_array().unwrap() {
            assert!(number(sculpt, "residual_max.diagonals") < 1e-9, "{sculpt}");
            assert!(number(sculpt, "vertices_coupled") > 10.0 && number(sculpt, "vertices_left") == 0.0, "{sculpt}");
            assert!(number(sculpt, "calls") < 60.0, "{sculpt}");
            assert_eq!((&sculpt["stopped"], number(sculpt, "vertices_limited")), (&"reached".into(), 0.0), "{sculpt}");
        }
        assert!(
            found["warnings"].to_string().contains("because others moved: the corrections are approximate"),
            "{found}"
        );
        for (s, (_, shape)) in rest_shapes(&desk, "x.npz").iter().enumerate() {
            let m: Vec<_> =
                tube.poses[s].bones.iter().zip(tube.skeleton.bind().iter()).map(|(t, b)| *t * b.inverse()).collect();
            let blend = |(v, p): (usize, &DVec3)| -> DVec3 {
                tube.weights.of(v).iter().map(|&(b, w)| m[b.get()].transform_point3(*p) * w).sum()
            };
            let skin = smoothed(&shape.iter().enumerate().map(blend).collect::<Vec<_>>());
            let off = skin.iter().zip(&tube.skins[s]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            // As near as the iteration comes.
            assert!(off < 3e-7, "sculpt {s}: {off}");
        }
        // Cut at the moves that the sculpts ask for vertex by vertex, corrections stop short of the sculpts, and it is said so.
        let short = "--coupled iterate --max-correction 1 --rest-space --json";
        let run = invert(&desk, short, "python3 deform.py weights.txt");
        let cut: serde_json::Value = serde_json::from_str(&run.out).unwrap();
        let of = |found: &serde_json::Value, key: &str| -> f64 {
            found["sculpts"].as_array().unwrap().iter().map(|sculpt| number(sculpt, key)).fold(0.0, f64::max)
        };
        let longest = "largest_correction.metres";
        assert!(of(&cut, "vertices_limited") > 0.0 && of(&cut, longest) < of(&found, longest), "{cut}");
        assert!(cut["warnings"].to_string().contains("were cut at the longest that is allowed"), "{cut}");
        assert!(cut["sculpts"].to_string().contains("\"stopped\":\"no-gain\""), "{cut}");
        for (wrong, says) in
            [("--coupled iterate --max-correction 0.5", "--max-correction 0.5"), ("--max-correction 2", "--coupled")]
        {
            let run = invert(&desk, wrong, "python3 deform.py weights.txt");
            assert!(run.code == 2 && run.err.contains(says), "{}", run.err);
        }
        // What couples nothing is inverted as ever, whatever is said of coupling.
        let plain = desk.json("invert a.npz --sculpts a.npz --coupled iterate --rest-space -o x.npz --force --json");
        assert!(plain["sculpts"].as_array().unwrap().iter().all(|s| number(s, "vertices_coupled") == 0.0), "{plain}");
        assert!(off(&desk, "x.npz", &tube, &[0, 1, 2, 3, 4, 5]) < 2e-7);
    }

    /// A program that breaks off in the middle: the sculpt and the call are named, and an older output stays.
    #[test]
    fn a_program_that_breaks_off_is_named_with_sculpt_and_call() {
        let (desk, tube) = desk(9);
        example(&desk, &tube);
        desk.put("x.npz", "an older file");
        let code = String::from_utf8(desk.bytes("deform.py")).unwrap();
        let head = "    elif kind == b\"CALL\":\n";
        for (what, says) in [
            ("while call == 9: pass", "no answer in 5 s; 0 of 1788 bytes"),
            ("if call == 9: sys.exit('no more licences')", "the last it said: no more licences"),
            (
                "if call == 9: payload = payload[:8] + struct.pack('<d', float('nan')) + payload[16:]",
                "points are not finite",
            ),
        ] {
            let broken = format!("{head}        call = struct.unpack_from('<I', payload)[0]\n        {what}\n");
            desk.put("broken.py", code.replace(head, &broken));
            // Python itself takes a while to start on a busy machine.
            let run = invert(&desk, "--time-limit 5", "python3 broken.py weights.txt");
            // The rest pose takes seven calls.
            for word in ["sculpt \"bend 1\"", "call 9", says] {
                assert!(run.code == 2 && run.err.contains(word), "{what}: {}", run.err);
            }
            assert_eq!(desk.bytes("x.npz"), b"an older file");
        }
    }
}
