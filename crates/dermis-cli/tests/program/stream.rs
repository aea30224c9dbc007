//! `fit --stream`, `--accumulate` and `--merge`, `eval --stream`: examples that are not held.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};
use dermis_workflow::io::{part_file, share_file, to_bytes};
use dermis_workflow::rig::BoneVec;
use dermis_workflow::rig::glam::{DAffine3, DMat3};

const MWE: &str = "--method mwe --set duplicates=-1 --folds 0";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 24, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk
}

fn near(a: f64, b: f64) -> bool {
    // Models are stored in 32 bits.
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs()) + 1e-9
}

#[test]
fn a_streamed_fit_is_the_fit_that_holds_all_examples() {
    let desk = desk();
    for extra in ["", "--set rows=row", "--set anchor=world", "--base rigid", "--base dqs", "-s 0.01"] {
        let line = format!("fit train.npz --examples train.npz --hold-out test.npz {MWE} {extra} --json");
        let held = desk.json(&line);
        let streamed = desk.json(&format!("{line} --stream -o m.dermis --force"));
        for key in ["train.rms", "train.max", "held_out.rms", "held_out.max", "report.s", "poses"] {
            assert!(near(number(&held, key), number(&streamed, key)), "{extra}: {key}");
        }
        assert_eq!(held["report"]["welded_joints"], streamed["report"]["welded_joints"]);
        assert_eq!(number(&streamed, "memory.example_bytes"), (12 * 74 * (24 + 5)) as f64);
        assert!(number(&streamed, "memory.model_bytes") > 0.0);
        let (held, streamed) = (
            desk.json("eval m.dermis --examples test.npz --json"),
            desk.json("eval m.dermis --examples test.npz --json --stream"),
        );
        assert_eq!(held["error"], streamed["error"]);
        assert_eq!(held["per_pose"], streamed["per_pose"]);
    }
}

/// The joint model reads its examples several times, and comes out as if they were held.
#[test]
fn a_streamed_joint_model_is_the_one_that_holds_all_examples() {
    let desk = desk();
    for extra in
        ["", "--base ddm", "--base dqs --set composites=1", "--set frame=rest -s 0.01", "--mirror off --folds 0"]
    {
        let line = format!("fit train.npz --examples train.npz --hold-out test.npz {extra} --json");
        let held = desk.json(&line);
        let streamed = desk.json(&format!("{line} --stream -o m.dermis --force"));
        for key in ["train.rms", "train.max", "held_out.rms", "held_out.max", "report.s", "poses"] {
            assert!(near(number(&held, key), number(&streamed, key)), "{extra}: {key}");
        }
        for key in ["bases", "composites", "composite_joints", "joints", "mirrored", "groups", "sweep_vertices"] {
            assert_eq!(held["report"][key], streamed["report"][key], "{extra}: {key}");
        }
    }
}

/// Shares of the vertices, solved apart, are the model that is solved at once, to the bit.
#[test]
fn three_shares_merged_are_the_joint_model() {
    let desk = desk();
    for extra in ["", "--base dqs --set composites=1 --coefficients 16", "--set frame=rest -s 0.01", "--mirror off"] {
        for (part, share) in [("a.part", "1/3"), ("b.part", "2/3"), ("c.part", "3/3")] {
            let line =
                format!("fit train.npz --examples train.npz {extra} --accumulate {part} --share {share} --force");
            assert_eq!(number(&desk.json(&format!("{line} --json")), "poses"), 24.0);
        }
        let line = format!("--hold-out test.npz {extra} --force --json");
        let whole = desk.json(&format!("fit train.npz --examples train.npz --stream -o whole.dermis {line}"));
        // In any order.
        let merged = desk.json(&format!("fit train.npz --merge c.part a.part b.part -o merged.dermis {line}"));
        for key in ["held_out.rms", "held_out.max", "report.s", "poses"] {
            assert_eq!(number(&whole, key), number(&merged, key), "{extra}: {key}");
        }
        assert_eq!(whole["report"], merged["report"], "{extra}");
        let eval = |model: &str| desk.json(&format!("eval {model} --examples test.npz --json"));
        let (whole, merged) = (eval("whole.dermis"), eval("merged.dermis"));
        assert_eq!((&whole["error"], &whole["per_pose"]), (&merged["error"], &merged["per_pose"]), "{extra}");
    }
}

/// Vertices that no pose moves beside their frame have no shared features.
#[test]
fn shares_merge_where_joints_stay_still() {
    let desk = Desk::new();
    desk.put("train.npz", Tube::of_the_wrist(9, 24, 0.0, Flesh::Planted).bundle());
    desk.good("fit train.npz --examples train.npz --stream -o whole.dermis");
    for share in 1..=2 {
        desk.good(&format!("fit train.npz --examples train.npz --accumulate {share}.part --share {share}/2"));
    }
    desk.good("fit train.npz --merge 1.part 2.part -o merged.dermis");
    let error = |model: &str| desk.json(&format!("eval {model} --examples train.npz --json"))["error"].clone();
    assert_eq!(error("whole.dermis"), error("merged.dermis"));
}

#[test]
fn shares_that_are_no_whole_are_refused() {
    let desk = desk();
    let fit = "fit train.npz --examples train.npz";
    desk.put("other.npz", Tube::new(11, 6, 0.0, Flesh::Bulge).bundle());
    for share in 1..=2 {
        desk.good(&format!("{fit} --accumulate {share}.part --share {share}/2"));
    }
    desk.good(
        "fit train.npz --examples train.npz#*1 --accumulate few.part --share 2/2 --base lbs --set composites=off",
    );
    desk.good(&format!("{fit} --accumulate lbs.part --share 2/2 --base lbs --set composites=off"));
    desk.good(&format!("{fit} --accumulate lbs1.part --share 1/2 --base lbs --set composites=off"));
    desk.good(&format!("{fit} {MWE} --accumulate sums.part"));
    desk.good("fit other.npz --examples other.npz --accumulate other.part");
    desk.bad("fit train.npz --merge 1.part", &["do not belong together", "every vertex once"]);
    desk.bad("fit train.npz --merge 1.part 2.part 2.part", &["every vertex once"]);
    desk.bad("fit train.npz --merge 1.part lbs.part", &["lbs.part", "base differs"]);
    desk.bad("fit train.npz --merge lbs1.part few.part --base lbs --set composites=off", &["do not belong together"]);
    desk.bad("fit train.npz --merge 1.part other.part", &["other.part", "another rig"]);
    desk.bad("fit train.npz --merge sums.part", &["sums.part", "no share of a fit"]);
    desk.bad(&format!("fit train.npz --merge 1.part {MWE}"), &["1.part", "no statistics"]);
    let bytes = desk.bytes("1.part");
    desk.put("cut.part", &bytes[..bytes.len() - 9]);
    desk.bad("fit train.npz --merge cut.part 2.part", &["cut.part"]);
    let altered = |name: &str, change: &dyn Fn(&mut share_file::ShareFile)| {
        let mut share = share_file::read(&bytes).unwrap();
        change(&mut share);
        desk.put(name, to_bytes(|out| share_file::write(&share, out)).unwrap());
        desk.bad(&format!("fit train.npz --merge {name} 2.part"), &[]);
    };
    altered("nan.part", &|s| s.free = s.free.map(|_| f64::NAN));
    altered("short.part", &|s| {
        let entries = s.free.entries()[..7].to_vec();
        s.free = Default::default();
        s.free.push(entries).unwrap();
    });
    altered("wide.part", &|s| s.free.push([]).unwrap());
    altered("shared.part", &|s| s.shared.push([]).unwrap());
    altered("vertex.part", &|s| s.vertices[0] = u32::MAX);
    altered("twice.part", &|s| s.vertices[0] = s.vertices[1]);
    altered("poses.part", &|s| s.importance.truncate(7));
    altered("none.part", &|s| s.importance.clear());
    altered("weight.part", &|s| s.importance[0] = -1.0);
    altered("length.part", &|s| s.of_vertices[0][3] = -1.0);
    altered("form.part", &|s| s.header.form = serde_json::json!({"base": "lbs"}));
    altered("eta.part", &|s| s.header.form["eta"] = serde_json::json!(-7.0));
    altered("version.part", &|s| s.header.format_version = 2);
}

/// What a part belongs to is stored in names that outlive the program's own.
#[test]
fn a_part_names_its_anchor_as_the_rig_does() {
    let desk = desk();
    for (anchor, stored) in
        [("world", "world"), ("root", "root"), ("dominant", "dominant"), ("bone:elbow", "bone elbow")]
    {
        desk.good(&format!(
            "fit train.npz --examples train.npz {MWE} --set anchor={anchor} --accumulate a.part --force"
        ));
        let header = part_file::read(&desk.bytes("a.part")).unwrap().header;
        let found = header.settings.iter().find(|(key, _)| key == "anchor");
        assert_eq!(found.map(|(_, value)| value.as_str()), Some(stored), "{anchor}");
    }
}

#[test]
fn three_parts_merged_are_the_whole() {
    let desk = desk();
    for (part, range) in [("a.part", "#*1"), ("b.part", "#*2"), ("c.part", "#!*1,*2")] {
        let out = desk.json(&format!("fit train.npz --examples train.npz{range} {MWE} --accumulate {part} --json"));
        assert!(number(&out, "poses") > 0.0);
    }
    let whole = desk.json(&format!("fit train.npz --examples train.npz --hold-out test.npz {MWE} --stream --json"));
    let merged = desk.json(&format!("fit train.npz --merge a.part b.part c.part --hold-out test.npz {MWE} --json"));
    for key in ["held_out.rms", "held_out.max", "report.s"] {
        assert!(near(number(&whole, key), number(&merged, key)), "{key}: {whole} {merged}");
    }
    desk.good(&format!("fit train.npz --merge a.part b.part c.part {MWE} -o one.dermis"));
    desk.good(&format!("fit train.npz --merge a.part b.part c.part {MWE} -o two.dermis"));
    assert_eq!(desk.bytes("one.dermis"), desk.bytes("two.dermis"));
    // Nothing to measure: what was fitted is told all the same.
    let bare = desk.json(&format!("fit train.npz --merge a.part b.part c.part {MWE} --json"));
    assert_eq!(number(&bare, "poses"), 24.0);
}

#[test]
fn parts_that_do_not_fit_are_refused_with_what_differs() {
    let desk = desk();
    desk.put("other.npz", Tube::new(11, 6, 0.0, Flesh::Bulge).bundle());
    desk.good(&format!("fit train.npz --examples train.npz {MWE} --accumulate a.part"));
    desk.good(&format!("fit train.npz --examples train.npz {MWE} --set rows=row --accumulate row.part"));
    desk.good(&format!("fit other.npz --examples other.npz {MWE} --accumulate other.part"));
    desk.bad(&format!("fit train.npz --merge a.part other.part {MWE}"), &["other.part", "another rig"]);
    desk.bad(&format!("fit train.npz --merge row.part {MWE}"), &["row.part", "rows", "full"]);
    desk.bad(&format!("fit train.npz --merge a.part {MWE} --base rigid"), &["base", "lbs", "rigid"]);
    desk.bad(&format!("fit train.npz --merge a.part {MWE} --set rings=1"), &["influence maps"]);
    desk.bad(&format!("fit train.npz --merge train.npz {MWE}"), &["train.npz", "statistics"]);
    desk.bad(&format!("fit train.npz --merge none.part {MWE}"), &["none.part"]);

    let bytes = desk.bytes("a.part");
    desk.put("cut.part", &bytes[..bytes.len() - 9]);
    desk.bad(&format!("fit train.npz --merge cut.part {MWE}"), &["cut.part"]);
    let altered = |name: &str, change: &dyn Fn(&mut part_file::PartFile)| {
        let mut part = part_file::read(&bytes).unwrap();
        change(&mut part);
        desk.put(name, to_bytes(|out| part_file::write(&part, out)).unwrap());
        desk.bad(&format!("fit train.npz --merge {name} {MWE}"), &[name]);
    };
    altered("nan.part", &|p| p.moments[1] = f64::NAN);
    altered("short.part", &|p| p.moments.truncate(7));
    altered("grams.part", &|p| p.grams.truncate(7));
    altered("poses.part", &|p| p.importance.truncate(7));
    altered("none.part", &|p| p.importance.clear());
    altered("residuals.part", &|p| p.residuals.truncate(8));
    altered("stride.part", &|p| p.header.stride = 1 << 40);
    altered("zero.part", &|p| p.header.stride = 0);
    altered("version.part", &|p| p.header.format_version = 2);
    altered("squares.part", &|p| p.squares[2] = -1.0);
    altered("largest.part", &|p| p.largest[2] = -1.0);
    altered("weight.part", &|p| p.importance[0] = -1.0);
}

/// What is wrong with a set in the middle is told, whether reading or summing finds it, and no model is left behind.
#[test]
fn a_set_that_goes_wrong_half_way_is_refused() {
    let desk = desk();
    let whole = desk.bytes("train.npz");
    desk.put("cut.npz", &whole[..whole.len() / 2]);
    let line = format!("{MWE} --stream -o m.dermis --force");
    desk.bad(&format!("fit train.npz --examples cut.npz {line}"), &["cut.npz"]);
    // More poses than one slice; in the last but one a bone has no extent, so that nothing is seen from it.
    let mut long = dermis_workflow::io::npz::read(&Tube::new(9, 70, 0.0, Flesh::Bulge).bundle(), "").unwrap();
    let flat = long.records.len() - 2;
    if let Some(pose) = &mut long.records[flat].pose {
        let flat = |bone: &DAffine3| DAffine3 { matrix3: DMat3::ZERO, ..*bone };
        pose.bones = BoneVec::new(pose.bones.iter().map(flat).collect());
    }
    let long =
        to_bytes(|out| dermis_workflow::io::npz::write(&long, dermis_workflow::io::npz::StoredFloat::Double, out))
            .unwrap();
    desk.put("flat.npz", long);
    desk.bad(&format!("fit train.npz --examples flat.npz {line}"), &["68"]);
    desk.bad(&format!("fit train.npz --examples train.npz flat.npz {line}"), &["68"]);
    assert!(!desk.path("m.dermis").exists());
}

#[test]
fn what_cannot_be_streamed_is_refused() {
    let desk = desk();
    let line = "fit train.npz --examples train.npz --stream";
    desk.bad(&format!("{line} --method psd"), &["the method psd cannot be fitted from sums", "--method"]);
    desk.bad(
        "fit train.npz --examples train.npz --accumulate a.part --method psd",
        &["the method psd", "--method mwe"],
    );
    desk.bad(
        &format!("fit train.npz --examples train.npz --accumulate a.part --share 1/2 {MWE}"),
        &["--share", "sums"],
    );
    desk.bad("fit train.npz --examples train.npz --accumulate a.part --share 3/2", &["3/2", "second of four"]);
    desk.bad("fit train.npz --examples train.npz --share 1/2", &["--accumulate"]);
    desk.bad(&format!("{line} --method mwe --guard off"), &["guard"]);
    desk.bad(&format!("{line} --method mwe --set centring=mean"), &["centring"]);
    desk.bad(&format!("{line} --method mwe --set ridge-mode=unit"), &["ridge"]);
    desk.bad(&format!("{line} --method mwe --maps examples"), &["influence maps from the examples", "--maps"]);
    desk.bad(&format!("fit train.npz --examples train.npz#nothing --stream {MWE}"), &["nothing"]);
}
