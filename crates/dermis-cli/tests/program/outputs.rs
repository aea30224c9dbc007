//! What is written: in every format the same skins, nothing replaced unasked, nothing but the answer on standard output.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Space, gltf, npz, obj, point_cache};
use dermis_workflow::rig::glam::DVec3;
use std::path::Path;
use std::process::Command;

/// A fitted model in a folder, with the motion "test.npz" and its skins.
fn desk() -> (Desk, Tube) {
    let (desk, test) = (Desk::new(), Tube::new(9, 7, 0.4, Flesh::Bulge));
    desk.put("train.npz", Tube::new(9, 14, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", test.bundle());
    desk.put("test.glb", test.glb());
    desk.good("fit train.npz --examples train.npz --folds 0 -o m.dermis");
    (desk, test)
}

fn rms(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let squares = a.iter().flatten().zip(b.iter().flatten()).map(|(p, q)| p.distance_squared(*q));
    let (sum, count) = squares.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    (sum / f64::from(count)).sqrt()
}

fn skins(contents: dermis_workflow::io::Contents) -> Vec<Vec<DVec3>> {
    contents.records.into_iter().filter_map(|r| r.positions).collect()
}

#[test]
fn posed_skins_are_those_that_eval_scores() {
    let (desk, test) = desk();
    let scored = number(&desk.json("eval m.dermis --examples test.npz --json"), "error.rms");
    desk.good("pose m.dermis --motion test.npz -o s.pc2");
    desk.good("pose m.dermis --motion test.npz -o s.mdd");
    desk.good("pose m.dermis --motion test.npz -o s.npz");
    desk.good("pose m.dermis --motion test.npz -o s");
    desk.good("pose m.dermis --motion test.glb --clip bends -o glb.pc2");
    desk.good("pose m.dermis --motion test.glb#bends -o part.pc2");
    desk.good("pose m.dermis --motion test.npz#rest -o one.obj");
    let space = Space::default();
    let pc2 = |name: &str| skins(point_cache::read_pc2(&desk.bytes(name), name, &space).unwrap());
    let alone = |_: &str, _| Err(std::io::ErrorKind::NotFound.into());
    let mut sequence = obj::Sequence::new("s", &space);
    for name in desk.names("s") {
        sequence.push(&name, &desk.bytes(&format!("s/{name}")), &alone).unwrap();
    }
    let bundle = npz::read(&desk.bytes("s.npz"), "s.npz").unwrap();
    assert_eq!(bundle.records[2].label, "bend 2");
    for (name, found) in [
        ("pc2", pc2("s.pc2")),
        ("mdd", skins(point_cache::read_mdd(&desk.bytes("s.mdd"), "s", &space).unwrap())),
        ("npz", skins(bundle)),
        ("obj", skins(sequence.finish().unwrap())),
        ("clip", pc2("glb.pc2")),
        ("part", pc2("part.pc2")),
    ] {
        let off = (rms(&found, &test.skins) - scored).abs();
        assert!(off < 1e-6 * test.diagonal(), "{name}: off by {off}");
    }
    let one = obj::read(&desk.bytes("one.obj"), "one.obj", &space, &alone).unwrap();
    let rest = one.mesh.unwrap().positions;
    assert!(rest.iter().zip(&test.mesh.positions).all(|(a, b)| a.distance(*b) < 1e-6));
    // The bundle is rig, poses and skins: it scores zero against the model that made it.
    let again = desk.json("eval m.dermis --examples s.npz --json");
    assert!(number(&again, "error.max") < 1e-6 * test.diagonal());
    // Its own frame rate, or another.
    desk.good("pose m.dermis --motion test.glb#bends --fps 100 -o fast.pc2");
    assert_eq!(pc2("fast.pc2").len(), 25, "0.24 s at 100 frames per second");
}

#[test]
fn a_glb_shows_what_the_model_does() {
    shown(unvalidated);
}

fn shown(validate: fn(&Desk, &[&str])) {
    let (desk, test) = desk();
    desk.good("pose m.dermis --motion test.glb#bends -o s.npz");
    let model = skins(npz::read(&desk.bytes("s.npz"), "s.npz").unwrap());
    let mut left = vec![];
    for shapes in [0, 2, 7] {
        let name = format!("e{shapes}.glb");
        let run = desk.good(&format!("export shapes m.dermis --motion test.glb#bends --shapes {shapes} -o {name}"));
        assert!(run.out.contains("written: ") && run.out.contains("skin weights alone"), "{}", run.out);
        let contents = gltf::read(&desk.bytes(&name), &name, &|_, _| unreachable!()).unwrap();
        assert!(contents.morphs.len() <= shapes, "{} shapes", contents.morphs.len());
        for clip in &contents.clips {
            for &time in &clip.key_times {
                let weights = (clip.sample)(time).morph_weights;
                // Blender's importer and others clamp weights to 0..1.
                assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)), "{weights:?}");
            }
        }
        // Evaluated by the definition: targets, then the weights' blend.
        let (mesh, weights) = (contents.mesh.unwrap(), contents.weights.unwrap());
        let skeleton = contents.skeleton.unwrap();
        let clip = &contents.clips[0];
        let shown: Vec<Vec<DVec3>> = clip
            .key_times
            .iter()
            .map(|&time| {
                let frame = (clip.sample)(time);
                let m = skeleton.bone_transforms(&frame.pose);
                let point = |v: usize| {
                    let moved = contents.morphs.iter().zip(&frame.morph_weights).map(|(t, w)| t.deltas[v] * *w);
                    let p = mesh.positions[v] + moved.sum::<DVec3>();
                    weights.of(v).iter().map(|&(b, w)| m[b].transform_point3(p) * w).sum()
                };
                (0..mesh.positions.len()).map(point).collect()
            })
            .collect();
        left.push(rms(&shown, &model));
    }
    assert!(left[0] > 2e-3 && left[1] < 0.7 * left[0], "{left:?}");
    assert!(left[2] < 1e-6 * test.diagonal(), "as many shapes as frames carry everything: {left:?}");
    let still = desk.good("export shapes m.dermis -o still.glb");
    assert!(still.out.contains("--motion"), "it says what is missing: {}", still.out);
    validate(&desk, &["e0.glb", "e2.glb", "e7.glb", "still.glb"]);
    // The exported file is a rig, a motion and examples for the program itself.
    let again = desk.json("eval m.dermis --examples e7.glb --json");
    assert!(number(&again, "error.max") < 1e-5 * test.diagonal());
}

#[test]
fn driven_shapes_come_with_their_table_and_with_what_they_cost() {
    driven(unvalidated);
}

fn driven(validate: fn(&Desk, &[&str])) {
    let (desk, test) = desk();
    desk.good("fit train.npz --examples train.npz -s 0.01 -o j.dermis");
    desk.good("fit train.npz --examples train.npz --method lbs -o q.dermis");
    let cost = desk.json("export drivers j.dermis --motion test.npz --table d.json --shapes 6 -o d.glb --json");
    assert_eq!(number(&cost, "shapes"), 6.0);
    // The rig is symmetric: its examples count with their mirror images.
    assert_eq!((number(&cost, "training.poses"), number(&cost, "motion.poses")), (28.0, 7.0));
    for set in ["training", "motion"] {
        let [alone, shapes, all] =
            ["weights_alone", "shapes", "all_shapes"].map(|what| number(&cost, &format!("{set}.{what}.rms")));
        // On a motion nobody showed it, compressed shapes may happen to be the nearer ones.
        assert!((all < shapes || set == "motion") && shapes.max(all) < 0.1 * alone, "{cost}");
    }
    let table: serde_json::Value = serde_json::from_slice(&desk.bytes("d.json")).unwrap();
    assert_eq!(
        crate::keys(&table),
        [
            "format",
            "version",
            "generator",
            "mesh",
            "length",
            "sigma",
            "bones",
            "joints",
            "shapes",
            "matrix",
            "offset",
            "clamp"
        ]
    );
    let contents = gltf::read(&desk.bytes("d.glb"), "d", &|_, _| unreachable!()).unwrap();
    for time in &contents.clips[0].key_times {
        assert!((contents.clips[0].sample)(*time).morph_weights.iter().all(|w| (0.0..=1.0).contains(w)));
    }
    // Without a motion the same shapes, and the bind pose is shown as it is.
    let still = desk.good("export drivers j.dermis --table still.json --shapes 6 -o still.glb");
    assert!(still.out.contains("28 training poses") && still.out.contains("with 6 shapes"), "{}", still.out);
    assert_eq!(desk.bytes("still.json"), desk.bytes("d.json"));
    let bytes = desk.bytes("still.glb");
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    assert_eq!(header["meshes"][0]["weights"], table["offset"]);
    let at_rest: Vec<f64> = table["offset"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    for v in 0..test.mesh.positions.len() {
        let moved: DVec3 = contents.morphs.iter().zip(&at_rest).map(|(m, w)| m.deltas[v] * *w).sum();
        assert!(moved.length() < 1e-8, "the shapes cancel at rest: {moved}");
    }
    // The clip, read as examples, is as far from the model as was said.
    let shown = desk.json("eval j.dermis --examples d.glb --json");
    assert!((number(&shown, "error.rms") - number(&cost, "motion.shapes.rms")).abs() < 1e-6, "{shown}");
    desk.good("export drivers j.dermis --motion test.npz --table all.json --shapes all -o all.glb");
    validate(&desk, &["d.glb", "still.glb", "all.glb"]);
    desk.good("export drivers j.dermis --motion test.npz --table one.json --shapes 6 -o one.glb --threads 1");
    assert!(desk.bytes("one.json") == desk.bytes("d.json") && desk.bytes("one.glb") == desk.bytes("d.glb"));
    for (line, says) in [
        ("export drivers q.dermis --table x.json -o x.glb", &["linear blend skinning alone", "export shapes"][..]),
        ("export drivers j.dermis --table x.json --shapes 1 -o x.glb", &["--shapes 1"]),
        ("export shapes j.dermis --shapes all -o x.glb", &["driven shapes"]),
        ("export shapes j.dermis --shapes some -o x.glb", &["some"]),
        ("export drivers j.dermis --table x.glb -o x.glb", &["x.glb", "of its own"]),
        ("export drivers j.dermis --table d.json -o x.glb", &["d.json", "exists already", "--force"]),
    ] {
        desk.bad(line, says);
        assert!(!desk.names(".").iter().any(|n| n.starts_with("x.")), "{line}");
    }
}

#[test]
fn a_pose_space_is_exported_with_what_drives_it() {
    pose_space_exported(unvalidated);
}

fn pose_space_exported(validate: fn(&Desk, &[&str])) {
    let (desk, test) = desk();
    desk.good("fit train.npz --examples train.npz --method psd -o p.dermis");
    desk.good("fit train.npz --examples train.npz --method psd --set budget=9,6 --guard off -o b.dermis");
    desk.good("fit train.npz --examples train.npz --method psd --set form=forward -o f.dermis");
    desk.good("fit train.npz --examples train.npz -s 0.01 -o j.dermis");
    let still = desk.good("export shapes p.dermis -o still.glb").out;
    assert!(still.contains("training poses") && still.contains("values of"), "{still}");
    let cost =
        desk.json("export drivers p.dermis --motion test.npz --table p.json --shapes 12 --kernels 8 -o p.glb --json");
    assert_eq!((number(&cost, "shapes"), number(&cost, "motion.poses")), (12.0, 7.0));
    for set in ["training", "motion"] {
        let [alone, shapes] = ["weights_alone", "shapes"].map(|what| number(&cost, &format!("{set}.{what}.rms")));
        assert!(shapes < 0.2 * alone, "{cost}");
    }
    let table: serde_json::Value = serde_json::from_slice(&desk.bytes("p.json")).unwrap();
    assert_eq!((&table["kind"], table["shapes"].as_array().unwrap().len()), (&"pose-space".into(), 12));
    // A compiled model without a ball is what the file shows.
    let whole = desk.json("export shapes b.dermis --motion test.npz -o b.glb --json");
    assert!(number(&whole, "motion.shapes.max") < 1e-6 * test.diagonal(), "{whole}");
    let shown = desk.json("eval b.dermis --examples b.glb --json");
    assert!(number(&shown, "error.max") < 5e-6 * test.diagonal(), "{shown}");
    // What cannot be driven is baked, and says why.
    let baked = desk.good("export shapes f.dermis --motion test.npz -o f.glb").out;
    assert!(baked.contains("no shapes are driven") && baked.contains("--set form=inverse"), "{baked}");
    let driven = desk.good("export shapes f.dermis --driven --motion test.npz -o fitted.glb").out;
    assert!(driven.contains("fitted to the model's skin"), "{driven}");
    let bare = desk.good("export shapes p.dermis --shapes 0 -o bare.glb").out;
    assert!(bare.contains("is the plain rig") && bare.contains("what the model adds is not in it"), "{bare}");
    assert_eq!(desk.json("export shapes p.dermis --shapes 0 -o bare.glb --force --json")["plain_rig"], true);
    validate(&desk, &["still.glb", "p.glb", "b.glb", "f.glb", "fitted.glb"]);
    for (line, says) in [
        (
            "export drivers f.dermis --kernels 4 --table x.json -o x.glb",
            &["--set form=inverse", "leave --kernels out"][..],
        ),
        ("export shapes b.dermis --shapes 4 -o x.glb", &["--shapes 4", "needs 10"]),
        ("export shapes b.dermis --kernels 2 -o x.glb", &["--kernels 2", "needs 6"]),
        ("export shapes p.dermis --kernels 0 -o x.glb", &["--kernels 0"]),
        ("export shapes p.dermis --shapes 1 -o x.glb", &["--shapes 1", "two at least"]),
        ("export drivers j.dermis --kernels 8 --table x.json -o x.glb", &["--kernels", "joint"]),
        ("export bones p.dermis --kernels 8 --motion test.npz -o x.glb", &["--kernels"]),
    ] {
        desk.bad(line, says);
        assert!(!desk.names(".").iter().any(|n| n.starts_with("x.")), "{line}");
    }
}

/// The exports above in the Khronos validator. `cargo xtask test` runs these where it is installed.
mod with_gltf_validator {
    use super::*;

    fn validate(desk: &Desk, names: &[&str]) {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/validate_gltf.mjs");
        let run = Command::new("node").arg(tool).args(names.iter().map(|n| desk.path(n))).output().unwrap();
        let said = [run.stdout, run.stderr].concat();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&said));
    }

    #[test]
    fn a_glb_that_shows_the_model_is_valid() {
        shown(validate);
    }

    #[test]
    fn driven_shapes_are_valid() {
        driven(validate);
    }

    #[test]
    fn an_exported_pose_space_is_valid() {
        pose_space_exported(validate);
    }
}

/// For tests of an export that leave its validity to [`with_gltf_validator`].
fn unvalidated(_: &Desk, _: &[&str]) {}

/// An existing output stays as it is unless `--force` says otherwise, and the refusal comes before the work.
#[test]
fn existing_outputs_are_kept_unless_forced() {
    let (desk, _) = desk();
    desk.put("kept", "mine");
    desk.put("kept.pc2", "mine");
    desk.put("kept.glb", "mine");
    desk.put("kept.html", "mine");
    desk.put("kept2.html", "mine");
    desk.put("full/mine.txt", "mine");
    std::fs::create_dir(desk.path("empty")).unwrap();
    for (line, kept) in [
        ("fit nothing.npz --examples nothing.npz -o kept", "kept"),
        ("fit train.npz --examples train.npz -o kept", "kept"),
        ("fit train.npz --examples train.npz --report kept.html", "kept.html"),
        ("eval m.dermis --examples test.npz --report kept2.html", "kept2.html"),
        ("pose m.dermis --motion test.npz -o kept.pc2", "kept.pc2"),
        ("pose m.dermis --motion test.npz -o full", "full/mine.txt"),
        ("export shapes m.dermis -o kept.glb", "kept.glb"),
    ] {
        desk.bad(line, &["exists already", "--force"]);
        assert!(desk.bytes(kept) == b"mine", "{line}");
        if !line.contains("nothing") {
            desk.good(&format!("{line} --force --quiet"));
            assert_eq!(desk.bytes(kept) == b"mine", kept.starts_with("full"), "{line}: other files in a folder stay");
        }
    }
    desk.good("pose m.dermis --motion test.npz -o empty");
    assert_eq!(desk.names("empty").len(), 7);
    // Frames of an earlier, longer run do not stay among the new ones.
    desk.good("pose m.dermis --motion test.npz#bend* -o empty --force");
    assert_eq!(desk.names("empty").len(), 6);
    for line in [
        "fit train.npz --examples train.npz -o no/where.dermis",
        "fit train.npz --examples train.npz --report no/where.html",
        "pose m.dermis --motion test.npz -o no/where.pc2",
        "export shapes m.dermis -o no/where.glb",
        "demo --out no/where",
    ] {
        desk.bad(line, &["\"no\" does not exist"]);
    }
    // A folder cannot become a file, nor a file a folder, forced or not.
    desk.bad("fit train.npz --examples train.npz -o full --force", &["full", "folder"]);
    desk.bad("pose m.dermis --motion test.npz -o m.dermis --force", &["m.dermis"]);
    desk.bad("eval m.dermis --examples test.npz --report m.dermis --force", &["m.dermis.html"]);
    desk.good("inspect m.dermis");
    assert!(desk.names(".").iter().all(|n| !n.contains(".part")), "{:?}", desk.names("."));
}

#[test]
fn standard_output_holds_the_answer_alone() {
    let (desk, _) = desk();
    for line in [
        "fit train.npz --examples train.npz --hold-out test.npz --json --quiet -o a.dermis --report a.html",
        "fit train.npz --examples train.npz --json -v -o b.dermis --report b.html",
        "eval m.dermis --examples test.npz --json --report c.html",
        "compare train.npz --examples train.npz --hold-out test.npz --methods own-weights --json",
        "inspect m.dermis train.npz test.glb --json",
    ] {
        let run = desk.good(line);
        let value: serde_json::Value = serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(value.is_object() || value.is_array());
        assert_eq!(run.out.trim_end().lines().count(), 1);
        assert!(!run.err.contains('\u{1b}'), "no bars where nobody watches: {}", run.err);
    }
    assert!(exists(&desk.path("a.html")) && exists(&desk.path("c.html")));
    assert!(desk.bytes("a.html").starts_with(b"<!"));
    assert!(exists(&desk.path("a.dermis")));
    for line in ["fit train.npz --examples train.npz --folds 0", "eval m.dermis --examples test.npz"] {
        let run = desk.good(line);
        assert!(run.out.contains("the rig's own weights"), "{}", run.out);
        assert!(run.out.lines().all(|l| l.chars().count() <= 140), "lines a terminal can show:\n{}", run.out);
        assert!(!run.out.contains("000000"), "numbers a person can read:\n{}", run.out);
    }
}

/// Lengths of a rig without a known unit are shown in thousandths of it, in columns that stay apart.
#[test]
fn unknown_units_keep_the_columns_apart() {
    let desk = Desk::new();
    let tube = Tube::new(9, 8, 0.0, Flesh::Bulge);
    let mut contents = tube.contents();
    contents.space = Space { unit: "furlongs, about".into(), ..Space::default() };
    desk.put("a.npz", to_bytes(|out| npz::write(&contents, npz::StoredFloat::Double, out)).unwrap());
    let run = desk.good("fit a.npz --examples a.npz");
    let line = run.out.lines().find(|l| l.starts_with("training")).unwrap();
    assert!(line.split_whitespace().filter(|w| w.parse::<f64>().is_ok()).count() >= 5, "{line}");
}
