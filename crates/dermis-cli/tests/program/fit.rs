//! `fit`: every kind of source and choice, numbers where they are known.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};
use dermis_workflow::rig::glam::{DAffine3, DQuat, DVec3};

/// rms that single precision leaves on a body of this size: positions near 1 m are rounded to 6e-8.
fn rounding(tube: &Tube) -> f64 {
    1e-6 * tube.diagonal()
}

/// The keys that other programs read, in this order, from the default method and from another.
#[test]
fn json_has_the_keys_that_are_promised() {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    let errors = ["rms", "max", "p95", "e_rms", "distortion_percent"];
    let first = ["method", "vertices", "bones", "poses", "unit", "diagonal", "seconds", "error", "baseline"];
    for (method, option) in [("joint", ""), ("mwe", "--method mwe")] {
        let line = format!("fit train.npz --examples train.npz {option} --json");
        let fit = desk.json(&format!("{line} --hold-out test.npz -o m.dermis --force"));
        let eval = desk.json("eval m.dermis --examples test.npz --json");
        for value in [&fit, &eval] {
            assert_eq!(keys(value)[..9], first);
            assert_eq!(value["method"], method);
            assert_eq!(value["unit"], "m");
            assert_eq!((number(value, "vertices"), number(value, "bones")), (74.0, 3.0));
            assert_eq!(value["baseline"]["method"], "lbs");
            for key in errors {
                assert!(number(value, &format!("error.{key}")) >= 0.0);
                assert!(number(value, &format!("baseline.error.{key}")) >= 0.0);
            }
            assert!(number(value, "seconds") >= 0.0);
            for pose in value["per_pose"].as_array().unwrap() {
                assert_eq!(keys(pose)[..3], ["label", "rms", "max"]);
            }
        }
        assert_eq!((number(&fit, "poses"), number(&eval, "poses")), (12.0, 5.0));
        for key in errors {
            // The same examples, the same model: read back from its file.
            assert_eq!(number(&fit, &format!("held_out.{key}")), number(&eval, &format!("error.{key}")));
            assert!(number(&fit, &format!("train.{key}")) >= 0.0);
        }
        // What is told of the fit is what its file holds, the held-out leverage included.
        assert_eq!(fit["report"], eval["report"]);
        assert!(number(&fit, "report.held_out_leverage") > 0.0);
        assert!(fit["per_pose"][1]["label"] == "bend 1");
        let without = desk.json(&format!("{line} --folds 0"));
        assert!(without["held_out"].is_null() && without.as_object().unwrap().contains_key("held_out"));

        let methods = format!("own-weights,{method}");
        let compare = desk
            .json(&format!("compare train.npz --examples train.npz --hold-out test.npz --methods {methods} --json"));
        assert_eq!(keys(&compare)[..3], ["validation", "vertices", "rows"]);
        for (row, method) in compare["rows"].as_array().unwrap().iter().zip(methods.split(',')) {
            for key in ["method", "train", "held_out", "model_bytes", "seconds_fit", "vertices_per_second"] {
                assert!(row.as_object().unwrap().contains_key(key), "{key}");
            }
            assert_eq!(row["method"], method);
            assert!(number(row, "vertices_per_second") > 0.0 && number(row, "model_bytes") > 0.0);
        }
        let of = |m: usize| number(&compare["rows"][m], "held_out.rms");
        assert!(of(1) < 0.6 * of(0), "the bulge is learnt: {} of {}", of(1), of(0));
        assert_eq!(of(0), number(&fit, "baseline.error.rms"));
        assert_eq!(of(1), number(&fit, "error.rms"), "one recipe for both verbs");
        assert_eq!(compare["recommended"], method);
    }
}

/// What multi-weight enveloping holds is found again: from skins of its own making nothing is left, on unseen poses
/// either.
#[test]
fn planted_corrections_are_recovered() {
    let desk = Desk::new();
    let train = Tube::new(9, 30, 0.0, Flesh::Planted).with_maps();
    desk.put("train.npz", train.bundle());
    desk.put("test.npz", Tube::new(9, 12, 0.8, Flesh::Planted).bundle());
    for rows in ["full", "row"] {
        let value = desk.json(&format!(
            "fit train.npz --examples train.npz --hold-out test.npz --method mwe --set anchor=bone:root --set rows={rows} --lambda 1e-9 \
             --json"
        ));
        let (left, planted) = (number(&value, "error.rms"), number(&value, "baseline.error.rms"));
        assert!(planted > 5e-3, "{planted}");
        match rows {
            // 30 poses, 24 features that move: determined; a ridge of 1e-9 against features of order one.
            "full" => assert!(left < 1e-4 * planted, "{left} of {planted}"),
            // An axis that reads its own row alone cannot hold it.
            _ => assert!(left > 0.01 * planted, "{left} of {planted}"),
        }
    }
}

/// Skins of the weights alone: nothing to correct, in any method; a model never makes up what it has not seen.
#[test]
fn skins_of_the_weights_leave_nothing() {
    let desk = Desk::new();
    let tube = Tube::new(9, 12, 0.0, Flesh::Weights);
    desk.put("a.npz", tube.bundle());
    for options in [
        "",
        "--lambda 1e-9",
        "--method lbs",
        "--method own-weights",
        "--method psd",
        "--method mwe",
        "--published",
        "--method mwe --set rows=row",
        "--method mwe --lambda 0",
    ] {
        let value = desk.json(&format!("fit a.npz --examples a.npz --folds 0 {options} --json"));
        let rms = number(&value, "error.rms");
        assert!(rms < rounding(&tube), "{options}: {rms}");
    }
}

/// The whole character turned and carried away: the same errors, to single precision.
#[test]
fn a_moved_character_scores_the_same() {
    let desk = Desk::new();
    let tube = Tube::new(9, 12, 0.0, Flesh::Bulge);
    desk.put("train.npz", tube.bundle());
    desk.put("test.npz", Tube::new(9, 6, 0.4, Flesh::Bulge).bundle());
    let turn = DQuat::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), 2.0);
    let g = DAffine3::from_rotation_translation(turn, DVec3::new(0.7, -0.4, 0.5));
    desk.put("moved.npz", Tube::new(9, 6, 0.4, Flesh::Bulge).moved(g).bundle());
    for options in [
        "",
        "--set frame=rest",
        "--set frame=blend",
        "--base dqs",
        "--base rigid",
        "--method mwe",
        "--method mwe --base dqs",
        "--method mwe --base rigid",
        "--method mwe --set anchor=root",
        "--method psd",
        "--method animation-space",
    ] {
        desk.good(&format!("fit train.npz --examples train.npz --folds 0 -o m.dermis --force {options}"));
        let here = desk.json("eval m.dermis --examples test.npz --json");
        let there = desk.json("eval m.dermis --examples moved.npz --json");
        for (a, b) in here["per_pose"].as_array().unwrap().iter().zip(there["per_pose"].as_array().unwrap()) {
            for key in ["rms", "max"] {
                let off = (number(a, key) - number(b, key)).abs();
                assert!(off < rounding(&tube), "{options} {}: {key} is off by {off}", a["label"]);
            }
        }
    }
}

/// In the bind pose every correction shows the rest mesh.
#[test]
fn the_bind_pose_is_exact() {
    let desk = Desk::new();
    let tube = Tube::new(9, 12, 0.0, Flesh::Bulge);
    desk.put("train.npz", tube.bundle());
    for options in [
        "",
        "--set frame=rest",
        "--set frame=blend",
        "--base dqs",
        "--base rigid",
        "--guard off",
        "--mirror off",
        "--method mwe",
        "--method mwe --base dqs",
        "--method mwe --base rigid",
        "--method mwe --set rows=row",
        "--method mwe --set anchor=world",
    ] {
        desk.good(&format!("fit train.npz --examples train.npz --folds 0 -o m.dermis --force {options}"));
        let value = desk.json("eval m.dermis --examples train.npz#rest --json");
        let off = number(&value, "error.max");
        assert!(off < rounding(&tube), "{options}: {off}");
    }
}

/// One set of examples in every form a user may have it: the same model.
#[test]
fn every_source_gives_the_same_model() {
    let desk = Desk::new();
    let tube = Tube::new(9, 14, 0.0, Flesh::Bulge);
    desk.put("all.npz", tube.bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    desk.put("rig.glb", tube.glb());
    desk.put("motion.npz", tube.motion());
    desk.put("skins.npz", tube.sequence());
    desk.put("skins.pc2", tube.pc2());
    desk.put("skins.mdd", tube.mdd());
    desk.put("sculpts.glb", tube.sculpts(true));
    desk.put("keyed.glb", tube.sculpts(false));
    tube.objs(&desk, "objs");
    let methods = ["--method joint", "--method mwe --set rows=full"];
    let score = |rig: &str, examples: &str, method: &str| {
        let line = format!("fit {rig} --examples {examples} --hold-out test.npz --lambda 0.01 {method} --json");
        number(&desk.json(&line), "error.rms")
    };
    let references = methods.map(|method| score("all.npz", "all.npz", method));
    for (rig, examples) in [
        ("rig.glb", "all.npz"),
        ("all.npz", "rig.glb#bends skins.pc2"),
        ("rig.glb", "rig.glb#bends skins.pc2"),
        ("rig.glb", "rig.glb#bends skins.mdd"),
        ("rig.glb", "rig.glb#bends objs"),
        ("rig.glb", "motion.npz skins.npz"),
        ("rig.glb", "motion.npz skins.pc2"),
        ("rig.glb", "sculpts.glb"),
        ("rig.glb", "keyed.glb"),
        ("sculpts.glb", "sculpts.glb#bends"),
        ("all.npz", "all.npz#rest,bend*"),
        ("all.npz", "all.npz#rest all.npz#!rest"),
    ] {
        for (method, reference) in methods.into_iter().zip(references) {
            let rms = score(rig, examples, method);
            // Single precision in the files, twice through the weights for sculpts; the fits are well conditioned at
            // s = 0.01.
            let off = (rms - reference).abs();
            assert!(off < 1e-5 * tube.diagonal(), "{rig} {examples} {method}: {rms}, not {reference}");
        }
    }
}

/// The options of multi-weight enveloping.
#[test]
fn maps_anchors_and_bases_are_taken_as_asked() {
    let desk = Desk::new();
    let tube = Tube::new(9, 14, 0.0, Flesh::Bulge);
    let vertices = tube.mesh.positions.len();
    desk.put("plain.npz", tube.bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    desk.put("anchors.txt", "root\n".repeat(vertices));
    desk.put("short.txt", "root\n");
    desk.put("odd.txt", "knee\n".repeat(vertices));
    desk.put("mapped.npz", Tube::new(9, 14, 0.0, Flesh::Bulge).with_maps().bundle());
    let base = |desk: &Desk, set: &str| desk.good(&format!("pose m.dermis --motion {set} -o base.pc2 --force"));
    let score = |options: &str| {
        let line = format!(
            "fit plain.npz --examples plain.npz --hold-out test.npz --method mwe --lambda 0.01 {options} --json"
        );
        desk.json(&line)
    };
    let lbs = number(&score(""), "baseline.error.rms");
    for options in [
        "--maps weights",
        "--maps table:mapped.npz",
        "--set anchor=world",
        "--set anchor=root",
        "--set anchor=dominant",
        "--set anchor=bone:elbow",
        "--base rigid",
        "--base dqs",
        "--set rows=row",
        "--set rows=auto",
        "--guard off",
        "--set centring=mean",
        "--set ridge-mode=relative --guard off",
        "--published",
        "--set rings=100",
        "--set map-smoothing=0",
        "--folds 1000",
    ] {
        let value = score(options);
        assert!(number(&value, "error.rms") < lbs, "{options}: nothing was learnt");
    }
    // More blocks than poses.
    let blocks =
        desk.json("fit plain.npz --examples plain.npz --hold-out test.npz --method mwe --set blocks=1000 --json");
    assert!(number(&blocks, "error.rms") < lbs, "--set blocks=1000: nothing was learnt");
    let same = |a: &str, b: &str| assert_eq!(score(a)["error"], score(b)["error"], "{a} and {b}");
    same("--set anchor=file:anchors.txt", "--set anchor=bone:root");
    same("--set anchor=root", "--set anchor=bone:root");
    same("", "--base lbs --set anchor=dominant --set centring=rest --set ridge-mode=absolute --guard on --maps auto");
    let table = score("--maps table:mapped.npz");
    let file = desk
        .json("fit mapped.npz --examples plain.npz --hold-out test.npz --method mwe --lambda 0.01 --maps file --json");
    assert_eq!(table["error"], file["error"]);
    // A base that is given: the weights' own positions from a cache are the base "lbs".
    desk.good("fit plain.npz --examples plain.npz --method own-weights --folds 0 -o m.dermis");
    base(&desk, "plain.npz");
    for method in ["joint", "mwe"] {
        let line = format!("fit plain.npz --examples plain.npz --method {method} --folds 0 --lambda 0.01 --json");
        let given = desk.json(&format!("{line} --base given --base-cache base.pc2 -o g.dermis --force"));
        let own = desk.json(&line);
        let off = (number(&given, "error.rms") - number(&own, "error.rms")).abs();
        assert!(off < rounding(&tube), "{method}: {off}");
        let scored = desk.json("eval g.dermis --examples plain.npz --base-cache base.pc2 --json");
        assert_eq!(scored["error"], given["error"], "{method}");
        desk.bad("eval g.dermis --examples plain.npz", &["--base-cache"]);
        desk.bad("pose g.dermis --motion plain.npz -o x.pc2", &["--base-cache"]);
    }
    for (options, says) in [
        ("--set anchor=file:short.txt", "1"),
        ("--set anchor=file:odd.txt", "\"knee\""),
        ("--set anchor=bone:knee", "\"knee\""),
        ("--set anchor=file:nothing.txt", "nothing.txt"),
        ("--set anchor=nowhere", "bone:NAME"),
        ("--maps file", "no influence maps"),
        ("--maps table:plain.npz", "no influence maps"),
        ("--maps colors:root,elbow", "no vertex colours"),
        ("--maps nowhere", "table:FILE"),
        ("--base given", "--base-cache"),
        ("--base-cache base.pc2", "--base given"),
        ("--base given --base-cache test.npz", "14"),
    ] {
        desk.bad(&format!("fit plain.npz --examples plain.npz --method mwe {options} -o x.dermis"), &[says]);
        assert!(!exists(&desk.path("x.dermis")));
    }
}

/// The options of the joint model.
#[test]
fn frames_kernels_and_sides_are_taken_as_asked() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 14, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    let score = |options: &str| desk.json(&format!("fit a.npz --examples a.npz --hold-out test.npz {options} --json"));
    let default = score("");
    for (options, setting, value) in [
        ("--set frame=rest", "frame", "rest"),
        ("--set frame=anchor", "frame", "anchor"),
        ("--base rigid", "base", "rigid"),
        ("--base dqs", "base", "dqs"),
        ("--set sigma=0.7", "sigma", "0.7"),
        ("--set inducing=3", "inducing rotations", "3 / 16 sliding"),
        ("--mirror off", "left and right", "no symmetry used"),
        ("--guard off", "guard", "off"),
        ("--lambda 0.5", "lambda", "5e-1"),
        ("--set tolerance=1.5", "tolerance of the choice", "1.5"),
        ("--set blocks=3", "folds", "3 blocks of frames"),
    ] {
        let asked = score(options);
        assert_eq!(asked["settings"][setting], value, "{options}");
        assert_ne!(asked["settings"][setting], default["settings"][setting], "{options}");
        assert!(number(&asked, "error.rms") < number(&asked, "baseline.error.rms"), "{options}: nothing was learnt");
    }
    let explicit =
        score("--method joint --base lbs --set frame=blend --set sigma=1.4 --set inducing=8 --mirror on --guard on");
    assert_eq!(explicit["error"], default["error"]);
}

/// An option that a method would pass over is refused, and the message says whom it serves.
#[test]
fn options_of_another_method_are_refused() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 5, 0.0, Flesh::Bulge).with_maps().bundle());
    for (options, says) in [
        ("--set rows=full", "--set rows serves --method mwe, not joint"),
        (
            "--maps file",
            "--maps serves --method lbs, animation-space, mwe, psd, eigenskin, pose-blendshapes, correctives, not joint",
        ),
        ("--set rings=1", "--set rings serves"),
        ("--set decay=0.1", "--set decay serves"),
        ("--set map-smoothing=1", "--set map-smoothing serves"),
        ("--set threshold=0.1", "--set threshold serves"),
        ("--published --method joint", "--published serves --method mwe, not joint"),
        (
            "--published --mirror on",
            "--mirror serves --method joint, psd, eigenskin, pose-blendshapes, shape-by-example, correctives, not mwe",
        ),
        ("--method mwe --set frame=rest", "--set frame serves --method joint, not mwe"),
        (
            "--method psd --set tolerance=2",
            "--set tolerance serves --method joint, animation-space, mwe, rotational-regression, not psd",
        ),
        (
            "--method lbs --base dqs",
            "--base serves --method joint, mwe, psd, eigenskin, pose-blendshapes, shape-by-example, correctives, not lbs",
        ),
        ("--method lbs --lambda 1", "--lambda serves"),
        ("--method dqs --set blocks=3", "--set blocks serves"),
        ("--method animation-space --guard on", "--guard serves"),
        (
            "--method animation-space --set form=forward",
            "--set form serves --method psd, eigenskin, pose-blendshapes, not animation-space",
        ),
        ("--set inducing=0", "--set inducing=0"),
        ("--set sigma=0", "--set sigma=0"),
        ("--lambda 0", "lambda"),
    ] {
        desk.bad(&format!("fit a.npz --examples a.npz {options} -o x.dermis"), &[says]);
        assert!(!exists(&desk.path("x.dermis")), "{options}");
    }
}

/// Every option of former versions is refused with what to say instead.
#[test]
fn former_options_are_refused_with_the_new_ones() {
    let desk = Desk::new();
    for (old, new) in [
        ("--s 0.1", "--s 0.1: say --lambda 0.1"),
        ("--s=0.1", "--s 0.1: say --lambda 0.1"),
        ("--eig-tol 1e-6", "--eig-tol 1e-6: say --set eig-tol=1e-6"),
        ("--duplicates -1", "--duplicates -1: say --set duplicates=-1"),
        ("--gcv --force", "--gcv: say --set gcv=on"),
        ("--smoothing 3", "--smoothing 3: say --set map-smoothing=3"),
        ("--pose-space global", "--pose-space global: say --set reach=global"),
        ("--channel strain=1", "--channel strain=1: say --set channels=strain=1"),
        ("--ridge paper", "--ridge paper: say --set ridge-mode=paper"),
        ("--energy 0.9", "--energy 0.9: say --set kept=energy:0.9"),
        ("--joint-shapes 3", "--joint-shapes 3: say --set kept=count:3"),
        ("--weights-kind plain", "--weights-kind plain: say --set kind=plain"),
        ("--smooth-weights 1", "--smooth-weights 1: say --set smoothness=1"),
        ("--weight-bits 8", "--weight-bits 8: say --set bits=8"),
        ("--set energy=1", "--set energy: say --set kept=energy:"),
        ("--set sigm=1", "no method has a setting \"sigm\"; joint has base, frame, sigma,"),
        ("--set sigma", "--set sigma: write --set NAME=VALUE"),
        ("--sigma 1 --set sigma=1", "--sigma 1: say --set sigma=1"),
        ("--set sigma=1 --set sigma=2", "--set sigma is given twice"),
        ("-s 1 --set lambda=2", "--lambda is given twice"),
        ("-s 1 --set blocks=3", "--set blocks=3: it has no effect beside lambda, which fixes the ridge"),
    ] {
        desk.bad(&format!("fit a.npz --examples a.npz {old}"), &[new]);
    }
}

/// What most people need is in the help of the verb, the rest a step away.
#[test]
fn the_help_of_fit_is_short_and_leads_to_the_rest() {
    let desk = Desk::new();
    let option = |line: &&str| line.trim_start().starts_with('-');
    let short = desk.good("fit --help").out;
    assert!(short.lines().filter(option).count() <= 32, "{short}");
    assert!(!short.contains("      --stream") && short.contains("dermis help fit all"));
    let all = desk.good("help fit all").out;
    for hidden in [
        "--stream",
        "--accumulate",
        "--share",
        "--merge",
        "--base-cache",
        "--stack",
        "--match-tolerance",
        "--trust-order",
        "--provenance",
    ] {
        assert!(all.contains(&format!("      {hidden}")), "{hidden}");
    }
    let psd = desk.good("help fit psd").out;
    assert!(psd.contains("--set kernel=gaussian|wendland|polyharmonic") && !psd.contains("frame="), "{psd}");
    desk.bad("help fit nothing", &["nothing"]);
}

/// Colours are influence maps: a channel for a bone.
#[test]
fn vertex_colours_are_maps() {
    let desk = Desk::new();
    let tube = Tube::new(9, 10, 0.0, Flesh::Bulge);
    desk.put("all.npz", tube.bundle());
    desk.put("painted.glb", painted(&tube.glb(), tube.mesh.positions.len()));
    let line = "fit painted.glb --examples all.npz --method mwe --lambda 0.01 --folds 0 --json --maps ";
    let painted = desk.json(&format!("{line}colors:root,elbow,wrist"));
    desk.put("mapped.npz", Tube::new(9, 10, 0.0, Flesh::Bulge).with_maps().bundle());
    let table = desk.json(&format!("{line}table:mapped.npz"));
    assert_eq!(painted["error"], table["error"], "white is a map of one for each bone named");
    desk.bad(&format!("{line}colors:root,knee"), &["\"knee\""]);
}

/// A GLB with a white COLOR_0 on every vertex.
fn painted(glb: &[u8], _vertices: usize) -> Vec<u8> {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    let mut json: serde_json::Value = serde_json::from_slice(&glb[20..20 + length]).unwrap();
    let mut data = glb[20 + length + 8..].to_vec();
    data.resize(data.len().next_multiple_of(4), 0);
    let position = json["meshes"][0]["primitives"][0]["attributes"]["POSITION"].as_u64().unwrap() as usize;
    let count = json["accessors"][position]["count"].as_u64().unwrap() as usize;
    let (views, accessors) =
        (json["bufferViews"].as_array().unwrap().len(), json["accessors"].as_array().unwrap().len());
    let white = vec![255u8; 4 * count];
    let view = serde_json::json!({"buffer": 0, "byteOffset": data.len(), "byteLength": white.len(), "target": 34962});
    data.extend(white);
    json["bufferViews"].as_array_mut().unwrap().push(view);
    json["accessors"].as_array_mut().unwrap().push(serde_json::json!({
        "bufferView": views, "componentType": 5121, "normalized": true, "count": count, "type": "VEC4"
    }));
    json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = accessors.into();
    json["buffers"][0]["byteLength"] = data.len().into();
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let total = 12 + 8 + text.len() + 8 + data.len();
    let word = |n: usize| (n as u32).to_le_bytes();
    [b"glTF", &word(2)[..], &word(total), &word(text.len()), b"JSON", &text, &word(data.len()), b"BIN\0", &data]
        .concat()
}

/// The same bytes for any number of threads: models, skins, GLB.
#[test]
fn threads_change_nothing() {
    let desk = Desk::new();
    // More vertices than one task takes, so that threads have something to share.
    desk.put("a.npz", Tube::new(300, 20, 0.0, Flesh::Bulge).bundle());
    for options in [
        "",
        "--method mwe",
        "--method mwe --set rows=auto --set gcv=on",
        "--method psd",
        "--method animation-space",
        "--published",
    ] {
        let mut first: Option<Vec<Vec<u8>>> = None;
        for threads in [1, 2, 16] {
            desk.good(&format!(
                "fit a.npz --examples a.npz --folds 0 -o m.dermis --force {options} --threads {threads}"
            ));
            desk.good(&format!("pose m.dermis --motion a.npz -o s.pc2 --force --threads {threads}"));
            desk.good(&format!("export shapes m.dermis --motion a.npz -o e.glb --force --threads {threads}"));
            let made = ["m.dermis", "s.pc2", "e.glb"].map(|name| desk.bytes(name)).to_vec();
            match &first {
                None => first = Some(made),
                Some(first) => assert!(*first == made, "{options}, {threads} threads"),
            }
        }
    }
}

/// Odd examples that are legal: few, equal, all at rest, a mesh without size.
#[test]
fn poor_examples_are_no_reason_to_fall_over() {
    let desk = Desk::new();
    let tube = Tube::new(9, 6, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    let mut rests = Tube::new(9, 4, 0.0, Flesh::Bulge);
    rests.poses = vec![rests.poses[0].clone(); 4];
    rests.skins = vec![rests.skins[0].clone(); 4];
    desk.put("rests.npz", rests.bundle());
    let mut point = Tube::new(9, 4, 0.0, Flesh::Weights);
    let first = dermis_workflow::rig::BoneIndex::new(0);
    point.mesh = dermis_workflow::rig::Mesh { positions: vec![DVec3::X], ..Default::default() };
    point.weights = dermis_workflow::rig::Influences::from_rows([vec![(first, 1.0)]]).unwrap();
    point.skins = point.poses.iter().map(|p| vec![p.bones[first].transform_point3(DVec3::X)]).collect();
    desk.put("point.npz", point.bundle());
    for methods in [
        "",
        "--set frame=rest --mirror off",
        "--set frame=blend --lambda 1e-3",
        "--method psd",
        "--method psd --lambda 0",
        "--method mwe",
        "--method mwe --set rows=auto",
        "--method mwe --set gcv=on",
        "--published",
        "--method animation-space",
    ] {
        for (rig, examples) in [
            ("a.npz", "a.npz#rest"),
            ("a.npz", "a.npz#bend*1"),
            ("a.npz", "a.npz#bend*1 a.npz#bend*1"),
            ("a.npz", "a.npz#bend*1 a.npz#bend*2"),
            ("a.npz", "rests.npz"),
            ("point.npz", "point.npz"),
        ] {
            let run = desk.run(&format!("fit {rig} --examples {examples} -o m.dermis --force {methods} --json"));
            assert!(run.code == 0 || run.code == 2, "{methods} {examples}: {}", run.err);
            if run.code == 0 {
                let value: serde_json::Value = serde_json::from_str(&run.out).unwrap();
                assert!(number(&value, "error.rms").is_finite(), "{methods} {examples}");
                desk.good(&format!("pose m.dermis --motion {rig} -o s.pc2 --force"));
                desk.good(&format!("eval m.dermis --examples {rig} --json"));
            } else {
                assert!(run.err.contains("error: "), "{methods} {examples}: {}", run.err);
            }
        }
    }
}

/// A skin that is a linear blend gives its weights back, whatever the rig had before; the model's file and its export carry them.
#[test]
fn weights_are_fitted_stored_and_exported() {
    let desk = Desk::new();
    let tube = Tube::new(9, 12, 0.0, Flesh::Weights);
    desk.put("a.npz", tube.bundle());
    let fit = |options: &str| desk.json(&format!("fit a.npz --examples a.npz --method lbs --folds 0 --json {options}"));
    let all = fit("--set candidates=all -o m.dermis");
    assert_eq!((&all["method"], &all["baseline"]["method"]), (&"lbs".into(), &"lbs".into()));
    assert!(number(&all, "train.rms") < rounding(&tube), "{all}");
    assert!(number(&all, "report.weights_vs_rig.max") < 1e-3, "{}", all["report"]["weights_vs_rig"]);
    for key in ["influences", "candidates", "objective", "fitted", "unlimited", "undetermined_vertices"] {
        assert!(!all["report"][key].is_null(), "{key}");
    }
    // Read back from its own file, and as a rig of its own.
    assert_eq!(desk.json("eval m.dermis --examples a.npz --json")["error"], all["error"]);
    let said = desk.good("export shapes m.dermis -o m.glb").out;
    assert!(said.contains("is the plain rig, with its mesh, skeleton and skin weights, and no clip"), "{said}");
    let from_export = desk.json("fit m.glb --examples a.npz --method own-weights --folds 0 --json");
    assert!(number(&from_export, "train.rms") < 10.0 * rounding(&tube));

    for options in [
        "",
        "--set candidates=examples",
        "--set influences=all",
        "--set symmetric=on",
        "--set smoothness=1e-9",
        "--set bits=16",
    ] {
        let value = fit(options);
        assert!(number(&value, "train.rms") < 1e-3 * tube.diagonal(), "{options}: {}", value["train"]);
    }
    // The bits that were used are a setting like the others, in JSON and for people.
    let coarse = fit("--set bits=8");
    assert!(number(&coarse, "report.quantisation.largest_change") < 1.0 / 255.0);
    assert!(coarse["settings"]["bits"] == "8" && coarse["report"]["bits"] == 8, "{coarse}");
    let exact = fit("--set influences=2");
    assert!(exact["settings"]["bits"] == "not rounded" && exact["report"]["bits"].is_null(), "{exact}");
    let told = desk.good("fit a.npz --examples a.npz --method lbs --folds 0 --set bits=16 -o w.dermis");
    assert!(told.out.contains("bits 16"), "{}", told.out);
    assert!(
        number(&fit("--set influences=1"), "report.fitted.rms")
            > number(&fit("--set influences=2"), "report.fitted.rms")
    );
    desk.put("locks.txt", "0 1 2\n3-5");
    let locked = fit("--set lock-vertices=locks.txt --set lock-weights=7:BONE,8:BONE --set lock-bones=BONE"
        .replace("BONE", &bone(&desk))
        .as_str());
    assert!(locked["settings"]["locked"].as_str().unwrap().contains("6 vertices"));

    // Influence maps from the examples serve other methods.
    let maps = desk.json("fit a.npz --examples a.npz --method mwe --maps examples --lambda 0.01 --folds 0 --json");
    assert!(number(&maps, "train.rms").is_finite());

    let refused = |options: &str, says: &[&str]| desk.bad(&format!("fit a.npz --examples a.npz {options}"), says);
    refused("--method mwe --set influences=3", &["--set influences serves --method lbs, not mwe"]);
    refused("--set symmetric=on", &["--set symmetric serves --method lbs, not joint"]);
    refused("--method lbs --set influences=0", &["--set influences=0"]);
    refused("--method lbs --set bits=12", &["8 or 16"]);
    refused("--method lbs --set lock-vertices=5-3", &["5-3"]);
    refused("--method lbs --set lock-vertices=99999", &["99999"]);
    refused("--method lbs --set lock-weights=5", &["VERTEX:BONE"]);
    refused("--method lbs --set lock-bones=nobody", &["nobody"]);
    refused("--method lbs --set kind=affine --set bits=8", &["--set bits has no effect but on convex weights"]);
    refused("--method lbs --set smoothness=-1", &["--set smoothness"]);
}

/// The name of a bone of the bundle.
fn bone(desk: &Desk) -> String {
    let loaded = dermis_workflow::load::load_rig(&desk.path("a.npz")).unwrap();
    loaded.rig.skeleton().names().as_slice()[0].clone()
}

/// Nothing to start from and nothing to compare with.
#[test]
fn weights_are_fitted_to_a_rig_that_has_none() {
    let desk = Desk::new();
    let tube = Tube::new(9, 12, 0.0, Flesh::Weights);
    desk.put("bare.npz", tube.bundle_without_weights());
    let value = desk.json("fit bare.npz --examples bare.npz --method lbs --folds 0 --json -o m.dermis");
    assert!(number(&value, "train.rms") < rounding(&tube), "{}", value["train"]);
    assert!(value["report"]["weights_vs_rig"].is_null() && value["baseline"].is_null());
    desk.good("export shapes m.dermis -o m.glb");
    desk.good("eval m.dermis --examples bare.npz");
    desk.bad("fit bare.npz --examples bare.npz --method lbs --set lock-vertices=1", &["no skinning weights"]);
    desk.bad("fit bare.npz --examples bare.npz --method own-weights", &["no skinning weights"]);
}

/// Weights below zero are told, and a file that cannot hold them is not written.
#[test]
fn negative_weights_are_told_and_not_exported() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    let line = "fit a.npz --examples a.npz --method lbs --set kind=";
    let value = desk.json(&format!("{line}affine --set candidates=all --folds 0 --json -o m.dermis"));
    assert!(value["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("negative")), "{value}");
    desk.bad("export shapes m.dermis -o m.glb", &["negative"]);
    assert_eq!(desk.json("eval m.dermis --examples a.npz --json")["error"], value["error"]);
    let plain = desk.json(&format!("{line}plain --folds 0 --json"));
    assert!(plain["warnings"].to_string().contains("comparison only"));
}
