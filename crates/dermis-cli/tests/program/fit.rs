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
        assert_eq!(keys(&compare)[..3], ["vertices", "rows", "recommended"]);
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
            "fit train.npz --examples train.npz --hold-out test.npz --method mwe --anchor bone:root --rows {rows} --s 1e-9 \
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
        "--s 1e-9",
        "--method lbs",
        "--method own-weights",
        "--method psd",
        "--method mwe",
        "--published",
        "--method mwe --rows row",
        "--method mwe --s 0",
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
        "--frame rest",
        "--frame blend",
        "--base dqs",
        "--base rigid",
        "--method mwe",
        "--method mwe --base dqs",
        "--method mwe --base rigid",
        "--method mwe --anchor root",
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
        "--frame rest",
        "--frame blend",
        "--base dqs",
        "--base rigid",
        "--guard off",
        "--mirror off",
        "--method mwe",
        "--method mwe --base dqs",
        "--method mwe --base rigid",
        "--method mwe --rows row",
        "--method mwe --anchor world",
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
    let methods = ["--method joint", "--method mwe --rows full"];
    let score = |rig: &str, examples: &str, method: &str| {
        let line = format!("fit {rig} --examples {examples} --hold-out test.npz --s 0.01 {method} --json");
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
        let line =
            format!("fit plain.npz --examples plain.npz --hold-out test.npz --method mwe --s 0.01 {options} --json");
        desk.json(&line)
    };
    let lbs = number(&score(""), "baseline.error.rms");
    for options in [
        "--maps weights",
        "--maps table:mapped.npz",
        "--anchor world",
        "--anchor root",
        "--anchor dominant",
        "--anchor bone:elbow",
        "--base rigid",
        "--base dqs",
        "--rows row",
        "--rows auto",
        "--guard off",
        "--centring mean",
        "--ridge relative --guard off",
        "--published",
        "--rings 100",
        "--smoothing 0",
        "--folds 1000",
    ] {
        let value = score(options);
        assert!(number(&value, "error.rms") < lbs, "{options}: nothing was learnt");
    }
    // More blocks than poses.
    let blocks = desk.json("fit plain.npz --examples plain.npz --hold-out test.npz --method mwe --blocks 1000 --json");
    assert!(number(&blocks, "error.rms") < lbs, "--blocks 1000: nothing was learnt");
    let same = |a: &str, b: &str| assert_eq!(score(a)["error"], score(b)["error"], "{a} and {b}");
    same("--anchor file:anchors.txt", "--anchor bone:root");
    same("--anchor root", "--anchor bone:root");
    same("", "--base lbs --anchor dominant --centring rest --ridge absolute --guard on --maps auto");
    let table = score("--maps table:mapped.npz");
    let file =
        desk.json("fit mapped.npz --examples plain.npz --hold-out test.npz --method mwe --s 0.01 --maps file --json");
    assert_eq!(table["error"], file["error"]);
    // A base that is given: the weights' own positions from a cache are the base "lbs".
    desk.good("fit plain.npz --examples plain.npz --method own-weights --folds 0 -o m.dermis");
    base(&desk, "plain.npz");
    for method in ["joint", "mwe"] {
        let line = format!("fit plain.npz --examples plain.npz --method {method} --folds 0 --s 0.01 --json");
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
        ("--anchor file:short.txt", "1"),
        ("--anchor file:odd.txt", "\"knee\""),
        ("--anchor bone:knee", "\"knee\""),
        ("--anchor file:nothing.txt", "nothing.txt"),
        ("--anchor nowhere", "bone:NAME"),
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
        ("--frame rest", "frame", "rest"),
        ("--frame anchor", "frame", "anchor"),
        ("--base rigid", "base", "rigid"),
        ("--base dqs", "base", "dqs"),
        ("--sigma 0.7", "sigma", "0.7"),
        ("--inducing 3", "inducing rotations", "3 / 16 sliding"),
        ("--mirror off", "left and right", "no symmetry used"),
        ("--guard off", "guard", "off"),
        ("--s 0.5", "lambda", "5e-1"),
        ("--tolerance 1.5", "tolerance of the choice", "1.5"),
        ("--blocks 3", "folds", "3 blocks of frames"),
    ] {
        let asked = score(options);
        assert_eq!(asked["settings"][setting], value, "{options}");
        assert_ne!(asked["settings"][setting], default["settings"][setting], "{options}");
        assert!(number(&asked, "error.rms") < number(&asked, "baseline.error.rms"), "{options}: nothing was learnt");
    }
    let explicit = score("--method joint --base lbs --frame blend --sigma 1.4 --inducing 8 --mirror on --guard on");
    assert_eq!(explicit["error"], default["error"]);
}

/// An option that a method would pass over is refused, and the message says whom it serves.
#[test]
fn options_of_another_method_are_refused() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 5, 0.0, Flesh::Bulge).with_maps().bundle());
    for (options, says) in [
        ("--rows full", "--rows serves --method mwe, not joint"),
        (
            "--maps file",
            "--maps serves --method lbs, animation-space, mwe, psd, eigenskin, pose-blendshapes, correctives, not joint",
        ),
        ("--rings 1", "--rings serves"),
        ("--decay 0.1", "--decay serves"),
        ("--smoothing 1", "--smoothing serves"),
        ("--threshold 0.1", "--threshold serves"),
        ("--published --method joint", "--published serves --method mwe, not joint"),
        (
            "--published --mirror on",
            "--mirror serves --method joint, psd, eigenskin, pose-blendshapes, shape-by-example, correctives, not mwe",
        ),
        ("--method mwe --frame rest", "--frame serves --method joint, not mwe"),
        (
            "--method psd --tolerance 2",
            "--tolerance serves --method joint, animation-space, mwe, rotational-regression, not psd",
        ),
        (
            "--method lbs --base dqs",
            "--base serves --method joint, mwe, psd, eigenskin, pose-blendshapes, shape-by-example, correctives, not lbs",
        ),
        ("--method lbs --s 1", "--s serves"),
        ("--method dqs --blocks 3", "--blocks serves"),
        ("--method animation-space --guard on", "--guard serves"),
        (
            "--method animation-space --form forward",
            "--form serves --method psd, eigenskin, pose-blendshapes, not animation-space",
        ),
        ("--inducing 0", "--inducing 0"),
        ("--sigma 0", "--sigma 0"),
        ("--s 0", "lambda"),
    ] {
        desk.bad(&format!("fit a.npz --examples a.npz {options} -o x.dermis"), &[says]);
        assert!(!exists(&desk.path("x.dermis")), "{options}");
    }
}

/// Colours are influence maps: a channel for a bone.
#[test]
fn vertex_colours_are_maps() {
    let desk = Desk::new();
    let tube = Tube::new(9, 10, 0.0, Flesh::Bulge);
    desk.put("all.npz", tube.bundle());
    desk.put("painted.glb", painted(&tube.glb(), tube.mesh.positions.len()));
    let line = "fit painted.glb --examples all.npz --method mwe --s 0.01 --folds 0 --json --maps ";
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
        "--method mwe --rows auto --gcv",
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
        "--frame rest --mirror off",
        "--frame blend --s 1e-3",
        "--method psd",
        "--method psd --s 0",
        "--method mwe",
        "--method mwe --rows auto",
        "--method mwe --gcv",
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
    let all = fit("--candidates all -o m.dermis");
    assert_eq!((&all["method"], &all["baseline"]["method"]), (&"lbs".into(), &"lbs".into()));
    assert!(number(&all, "train.rms") < rounding(&tube), "{all}");
    assert!(number(&all, "report.weights_vs_rig.max") < 1e-3, "{}", all["report"]["weights_vs_rig"]);
    for key in ["influences", "candidates", "objective", "fitted", "unlimited", "undetermined_vertices"] {
        assert!(!all["report"][key].is_null(), "{key}");
    }
    // Read back from its own file, and as a rig of its own.
    assert_eq!(desk.json("eval m.dermis --examples a.npz --json")["error"], all["error"]);
    desk.good("export shapes m.dermis -o m.glb");
    let from_export = desk.json("fit m.glb --examples a.npz --method own-weights --folds 0 --json");
    assert!(number(&from_export, "train.rms") < 10.0 * rounding(&tube));

    for options in
        ["", "--candidates examples", "--influences all", "--symmetric", "--smooth-weights 1e-9", "--weight-bits 16"]
    {
        let value = fit(options);
        assert!(number(&value, "train.rms") < 1e-3 * tube.diagonal(), "{options}: {}", value["train"]);
    }
    let coarse = fit("--weight-bits 8");
    assert!(number(&coarse, "report.quantisation.largest_change") < 1.0 / 255.0);
    assert!(number(&fit("--influences 1"), "report.fitted.rms") > number(&fit("--influences 2"), "report.fitted.rms"));
    desk.put("locks.txt", "0 1 2\n3-5");
    let locked = fit("--lock-vertices locks.txt --lock-weights 7:BONE,8:BONE --lock-bones BONE"
        .replace("BONE", &bone(&desk))
        .as_str());
    assert!(locked["settings"]["locked"].as_str().unwrap().contains("6 vertices"));

    // Influence maps from the examples serve other methods.
    let maps = desk.json("fit a.npz --examples a.npz --method mwe --maps examples --s 0.01 --folds 0 --json");
    assert!(number(&maps, "train.rms").is_finite());

    let refused = |options: &str, says: &[&str]| desk.bad(&format!("fit a.npz --examples a.npz {options}"), says);
    refused("--method mwe --influences 3", &["--influences serves --method lbs, not mwe"]);
    refused("--symmetric", &["--symmetric serves --method lbs, not joint"]);
    refused("--method lbs --influences 0", &["--influences 0"]);
    refused("--method lbs --weight-bits 12", &["8 or 16"]);
    refused("--method lbs --lock-vertices 5-3", &["5-3"]);
    refused("--method lbs --lock-vertices 99999", &["99999"]);
    refused("--method lbs --lock-weights 5", &["VERTEX:BONE"]);
    refused("--method lbs --lock-bones nobody", &["nobody"]);
    refused(
        "--method lbs --weights-kind affine --weight-bits 8",
        &["--weight-bits has no effect but on convex weights"],
    );
    refused("--method lbs --smooth-weights -1", &["--smooth-weights"]);
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
    desk.bad("fit bare.npz --examples bare.npz --method lbs --lock-vertices 1", &["no skinning weights"]);
    desk.bad("fit bare.npz --examples bare.npz --method own-weights", &["no skinning weights"]);
}

/// Weights below zero are told, and a file that cannot hold them is not written.
#[test]
fn negative_weights_are_told_and_not_exported() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 12, 0.0, Flesh::Bulge).bundle());
    let line = "fit a.npz --examples a.npz --method lbs --weights-kind";
    let value = desk.json(&format!("{line} affine --candidates all --folds 0 --json -o m.dermis"));
    assert!(value["warnings"].as_array().unwrap().iter().any(|w| w.as_str().unwrap().contains("negative")), "{value}");
    desk.bad("export shapes m.dermis -o m.glb", &["negative"]);
    assert_eq!(desk.json("eval m.dermis --examples a.npz --json")["error"], value["error"]);
    let plain = desk.json(&format!("{line} plain --folds 0 --json"));
    assert!(plain["warnings"].to_string().contains("comparison only"));
}
