//! `dermis fit` with the options of pose spaces: every kernel and coordinate, shapes, budgets, channels, and what is refused.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::npz::{StoredFloat, read, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::rig::WorldPose;
use dermis_workflow::rig::glam::{DAffine3, DMat3, DVec3};
use serde_json::Value;
use std::sync::Arc;

/// A bulge of 0.06 by the elbow's sine squared, seen in so many poses.
fn desk(poses: usize) -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(9, poses, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    (desk, tube)
}

/// Fits to `a.npz` itself, and checks that the model's file makes the errors that the fit tells.
fn fit(desk: &Desk, options: &str) -> Value {
    let fitted = desk.json(&format!("fit a.npz --examples a.npz --folds 0 -o m.dermis --force --json {options}"));
    let again = desk.json("eval m.dermis --examples a.npz --json");
    assert_eq!(again["error"], fitted["train"], "{options}: read back from its file");
    assert!(number(&fitted, "train.max").is_finite() && fitted["method"] == again["method"], "{options}");
    fitted
}

/// Of the model's settings, one by its name.
fn setting<'a>(fitted: &'a Value, name: &str) -> &'a str {
    fitted["settings"][name].as_str().unwrap_or_else(|| panic!("no setting {name} in {}", fitted["settings"]))
}

/// A displacement at rest of 0.05 outwards, around the elbow and there alone, times what `size` says of each pose.
fn planted(tube: Tube, size: impl Fn(usize, &[DMat3]) -> f64) -> Tube {
    planted_at(tube, |s, m, p| size(s, m) * (-((p.x - 0.4) / 0.2).powi(2)).exp())
}

/// The same with a size of its own at every rest position.
fn planted_at(mut tube: Tube, size: impl Fn(usize, &[DMat3], DVec3) -> f64) -> Tube {
    for s in 0..tube.poses.len() {
        let m: Vec<DMat3> = tube.poses[s].bones.iter().map(|t| t.matrix3).collect();
        for (v, p) in tube.mesh.positions.iter().enumerate() {
            let out = DVec3::new(0.0, p.y, p.z).normalize_or_zero() * (0.05 * size(s, &m, *p));
            let moved: DVec3 = tube.weights.of(v).iter().map(|&(b, w)| m[b.get()] * out * w).sum();
            tube.skins[s][v] += moved;
        }
    }
    tube
}

/// Without smoothing every kernel meets the examples, however rotations are compared.
#[test]
fn every_kernel_interpolates_in_every_coordinate() {
    let (desk, tube) = desk(9);
    for (kernel, written) in [("gaussian", "gaussian"), ("wendland", "wendland"), ("polyharmonic", "polyharmonic")] {
        for (coordinates, named) in [
            ("chord", "chord"),
            ("rotation-vector", "rotation vector"),
            ("euler", "euler"),
            ("swing-twist", "swing 1, twist 1"),
            ("swing-twist:1,0.25", "swing 1, twist 0.25"),
        ] {
            for linear in ["", "--set linear=on"] {
                let options =
                    format!("--method psd -s 0 --set kernel={kernel} --set coordinates={coordinates} {linear}");
                let fitted = fit(&desk, &options);
                // A smoothing of 1e-9 of a correction of 0.06, and single precision.
                let most = number(&fitted, "train.max");
                assert!(most < 3e-6 * tube.diagonal(), "{options}: {most}");
                assert!(number(&fitted, "baseline.error.max") > 0.01, "{options}");
                let after = if linear.is_empty() { "" } else { ", after a linear term" };
                assert_eq!(setting(&fitted, "kernel"), format!("{written}{after}"));
                assert_eq!(setting(&fitted, "coordinates"), named);
            }
        }
    }
}

/// What is linear in a joint's rotation is found by pose blend shapes from more poses than coordinates, near the joint
/// or over all joints, in unseen poses too; the linear term of a pose space holds it as well.
#[test]
fn a_displacement_linear_in_the_rotations_is_recovered() {
    let desk = Desk::new();
    let size = |_: usize, m: &[DMat3]| {
        let seen = m[0].transpose() * m[1];
        seen.y_axis.x + 0.5 * (seen.x_axis.x - 1.0)
    };
    desk.put("a.npz", planted(Tube::new(9, 40, 0.0, Flesh::Weights), size).bundle());
    desk.put("unseen.npz", planted(Tube::new(9, 12, 0.7, Flesh::Weights), size).bundle());
    for options in [
        "--method pose-blendshapes --set reach=local",
        "--method pose-blendshapes --set reach=global",
        "--method psd --set linear=on --set kernel=wendland --set sigma=0.01",
    ] {
        fit(&desk, &format!("{options} -s 0"));
        let unseen = desk.json("eval m.dermis --examples unseen.npz --json");
        let (left, planted) = (number(&unseen, "error.rms"), number(&unseen, "baseline.error.rms"));
        assert!(planted > 5e-3 && left < 1e-4 * planted, "{options}: {left} of {planted}");
    }
    // A rotation vector is not linear in it.
    fit(&desk, "--method pose-blendshapes --set coordinates=rotation-vector -s 0");
    let unseen = desk.json("eval m.dermis --examples unseen.npz --json");
    assert!(number(&unseen, "error.rms") > 0.01 * number(&unseen, "baseline.error.rms"));
}

/// More shapes or more energy, less error; as many as asked for, and what they hold is told.
#[test]
fn eigenskin_keeps_what_it_is_told() {
    let (desk, tube) = desk(12);
    let error = |fitted: &Value| number(fitted, "train.rms");
    let shapes = |fitted: &Value| -> Vec<f64> {
        fitted["report"]["joints"].as_array().unwrap().iter().map(|j| number(j, "shapes")).collect()
    };
    let (mut before, mut counted) = (f64::INFINITY, 0.0);
    for energy in ["0", "0.5", "0.9", "0.999", "1"] {
        let fitted = fit(&desk, &format!("--method eigenskin -s 0 --set kept=energy:{energy}"));
        let count: f64 = shapes(&fitted).iter().sum();
        assert!(error(&fitted) <= before * (1.0 + 1e-9) + 1e-7 && count >= counted, "{energy}");
        let asked: f64 = energy.parse().unwrap();
        for joint in fitted["report"]["joints"].as_array().unwrap() {
            assert!(number(joint, "energy") >= asked - 1e-9 || number(joint, "shapes") == 0.0, "{energy}: {joint}");
        }
        (before, counted) = (error(&fitted), count);
    }
    assert!(before < 3e-6 * tube.diagonal(), "all shapes of an interpolation: {before}");
    let mut before = f64::INFINITY;
    for count in [1, 2, 4, 100] {
        let fitted = fit(&desk, &format!("--method eigenskin -s 0 --set kept=count:{count}"));
        assert!(shapes(&fitted).iter().all(|n| *n <= f64::from(count)), "{count}: {fitted}");
        assert!(error(&fitted) <= before * (1.0 + 1e-9) + 1e-7, "{count}");
        before = error(&fitted);
    }
    assert!(before < 3e-6 * tube.diagonal(), "{before}");
}

/// The report lists what budgets cost; its errors fall with the shapes, and the model is the one asked for.
#[test]
fn budgets_are_kept_and_priced() {
    let desk = Desk::new();
    // Of many shapes: waves along the tube that answer to one entry of a rotation each.
    let waves = |_: usize, m: &[DMat3], p: DVec3| -> f64 {
        let turns = [m[0].transpose() * m[1] - DMat3::IDENTITY, m[1].transpose() * m[2] - DMat3::IDENTITY];
        let entries = turns.iter().flat_map(DMat3::to_cols_array);
        entries.enumerate().map(|(wave, x)| x * (3.0 * wave as f64 * p.x + 5.0 * p.y).sin()).sum()
    };
    let waving = planted_at(Tube::new(9, 14, 0.0, Flesh::Weights), waves);
    let at_rest = waving.skins[0].iter().zip(&waving.mesh.positions).all(|(x, p)| x.distance(*p) < 1e-12);
    assert!(at_rest, "an uncorrected rest pose");
    desk.put("a.npz", waving.bundle());
    for method in ["psd", "pose-blendshapes"] {
        let whole = fit(&desk, &format!("--method {method} -s 0.001"));
        assert!(whole["report"]["budgets"].is_null());
        let mut before = f64::INFINITY;
        for budget in ["1,12", "2,12", "4,12", "8,12", "16,12"] {
            let fitted = fit(&desk, &format!("--method {method} -s 0.001 --set budget={budget}"));
            let points = fitted["report"]["budgets"].as_array().unwrap();
            assert!(points.len() > 1, "{method} {budget}: {points:?}");
            let trained: Vec<f64> = points.iter().map(|p| number(p, "rms_training")).collect();
            let shapes: Vec<f64> = points.iter().map(|p| number(p, "shapes")).collect();
            assert!(shapes.is_sorted_by(|a, b| a < b), "{method} {budget}: {shapes:?}");
            // The ridge of 1e-6 of the mean square leaves up to 1e-3 of the displacements, however many shapes there are.
            let floor = 1e-3 * number(&points[0], "rms_displacement");
            assert!(trained.is_sorted_by(|a, b| *b <= a + floor), "{method} {budget}: {trained:?}");
            assert!(trained[0] > 1.5 * trained[trained.len() - 1], "{method} {budget}: {trained:?}");
            let asked: f64 = budget.split(',').next().unwrap().parse().unwrap();
            let found = setting(&fitted, "compiled").split(' ').next().unwrap().parse::<f64>().unwrap();
            assert!(found <= asked && shapes.contains(&found), "{method} {budget}: {found} of {shapes:?}");
            assert!(number(&fitted, "train.rms") <= before + floor, "{method} {budget}");
            before = number(&fitted, "train.rms");
        }
        let (compiled, exact) = (before, number(&whole, "train.rms"));
        assert!(compiled < exact + 0.1 * number(&whole, "baseline.error.rms"), "{method}: {compiled} for {exact}");
        // Two shapes a vertex at most, whichever they are: a smaller price, and a larger error.
        let few = fit(&desk, &format!("--method {method} -s 0.001 --set budget=16,12,2"));
        let terms = |p: &Value| number(p, "terms") <= 2.0 * number(&few, "vertices");
        assert!(few["report"]["budgets"].as_array().unwrap().iter().all(terms), "{method}: {}", few["report"]);
        assert!(number(&few, "train.rms") > compiled && number(&few, "train.rms") < number(&few, "baseline.error.rms"));
    }
}

/// The same rotations with and without a strained muscle: what no rotation tells, the channel does.
#[test]
fn a_channel_tells_poses_apart_that_rotations_do_not() {
    let (desk, strain) = (Desk::new(), |s: usize| [0.0, 2.0, -1.0][s % 3]);
    let mut tube = Tube::new(9, 5, 0.0, Flesh::Weights);
    tube.poses = tube.poses.iter().flat_map(|pose| [pose.clone(), pose.clone(), pose.clone()]).collect();
    tube.skins = tube.skins.iter().flat_map(|skin| [skin.clone(), skin.clone(), skin.clone()]).collect();
    let tube = planted(tube, |s, _| strain(s));
    let mut contents = tube.contents();
    for (s, record) in contents.records.iter_mut().enumerate() {
        let names = [("strain", strain(s)), ("mood", 1.0), ("idle", 0.0)];
        record.pose.as_mut().unwrap().channels = names.map(|(n, value)| (Arc::from(n), value)).to_vec();
    }
    desk.put("a.npz", to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap());
    let without = number(&fit(&desk, "--method psd -s 1e-6 --set duplicates=-1"), "train.rms");
    assert!(without > 5e-3, "{without}");
    for options in [
        "--set channels=strain",
        "--set channels=strain=0.5 --set kernel=polyharmonic",
        "--set channels=strain --set linear=on",
    ] {
        let fitted = fit(&desk, &format!("--method psd -s 0 {options}"));
        assert!(number(&fitted, "train.max") < 3e-6 * tube.diagonal(), "{options}: {}", fitted["train"]);
        let scale = if options.contains("0.5") { "times 0.5" } else { "times one over its largest value" };
        assert_eq!(setting(&fitted, "channel strain"), scale);
    }
    // A page has sliders for joints, and nothing for the muscle.
    fit(&desk, "--method psd -s 1e-6 --set channels=strain --set form=inverse");
    desk.bad("export viewer m.dermis -o view", &["channels: strain", "--driven"]);
    assert!(!desk.path("view").exists());
    // A channel that stays at rest changes nothing.
    for idle in ["--set channels=idle", "--set channels=idle=2"] {
        let found = number(&fit(&desk, &format!("--method psd -s 1e-6 --set duplicates=-1 {idle}")), "train.rms");
        assert!((found - without).abs() < 1e-3 * without, "{idle}: {found} for {without}");
    }
    // Linear in the channel, which no kernel needs.
    let fitted = fit(&desk, "--method pose-blendshapes --set channels=strain -s 0");
    assert!(number(&fitted, "train.max") < 3e-6 * tube.diagonal(), "{}", fitted["train"]);
    let line = "fit a.npz --examples a.npz --method psd -o x.dermis --set channels=";
    desk.bad(&format!("{line}stress"), &["no channel \"stress\"", "idle, mood, strain"]);
    desk.put("plain.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    let line = line.replace("a.npz", "plain.npz");
    desk.bad(&format!("{line}strain"), &["no channel \"strain\"", "they have none"]);
}

/// A sculpt of a part of the skin does not say that the rest is uncorrected.
#[test]
fn sparse_examples_say_nothing_of_what_they_leave() {
    let (desk, tube) = desk(10);
    let full = fit(&desk, "--method psd -s 0");
    assert_eq!(setting(&full, "sparse examples"), "no");
    for method in ["psd", "eigenskin", "pose-blendshapes"] {
        let sparse = fit(&desk, &format!("--method {method} -s 0 --set sparse=on"));
        assert_eq!(setting(&sparse, "sparse examples"), "yes");
        assert!(number(&sparse, "train.rms") < number(&sparse, "baseline.error.rms"), "{method}");
    }
    // Half of the examples leave the upper half of the skin where the weights have it. Only sparse examples still correct it there.
    let (bare, mut part) = (Tube::new(9, 10, 0.0, Flesh::Weights), tube);
    let upper: Vec<usize> = (0..part.mesh.positions.len()).filter(|&v| part.mesh.positions[v].y > 0.0).collect();
    let truth = part.skins.clone();
    for s in (1..10).step_by(2) {
        upper.iter().for_each(|&v| part.skins[s][v] = bare.skins[s][v]);
    }
    desk.put("a.npz", part.bundle());
    let missed = |options: &str| {
        fit(&desk, &format!("--method psd -s 1e-4 {options}"));
        desk.good("pose m.dermis --motion a.npz -o x.npz --force");
        let made = read(&desk.bytes("x.npz"), "x.npz").unwrap();
        let off = |s: usize, v: usize| made.records[s].positions.as_ref().unwrap()[v].distance_squared(truth[s][v]);
        (1..10).step_by(2).flat_map(|s| upper.iter().map(move |&v| (s, v))).map(|(s, v)| off(s, v)).sum::<f64>()
    };
    let (dense, sparse) = (missed(""), missed("--set sparse=on"));
    assert!(sparse < 0.5 * dense, "{sparse} for {dense}");
}

/// With --mirror on the mirror images of the examples are met as the examples are; a rig that leans has none.
#[test]
fn mirrored_examples_are_examples() {
    let (desk, tube) = desk(9);
    let across = DVec3::new(1.0, -1.0, 1.0);
    let flip = DAffine3::from_scale(across);
    let partner = |p: &DVec3| tube.mesh.positions.iter().position(|q| q.distance(*p * across) < 1e-9).unwrap();
    let partners: Vec<usize> = tube.mesh.positions.iter().map(partner).collect();
    let mut image = Tube::new(9, 9, 0.0, Flesh::Bulge);
    image.poses.iter_mut().for_each(|pose| {
        *pose = WorldPose::new(pose.bones.iter().map(|t| flip * *t * flip).collect());
    });
    for (skin, own) in image.skins.iter_mut().zip(&tube.skins) {
        skin.iter_mut().zip(&partners).for_each(|(x, &v)| *x = own[v] * across);
    }
    desk.put("image.npz", image.bundle());
    let mut leaning = Tube::new(9, 9, 0.0, Flesh::Bulge);
    leaning.mesh.positions.iter_mut().for_each(|p| *p += DVec3::new(0.0, (4.0 * p.x).cos(), (4.0 * p.x).sin()) * 0.4);
    desk.put("leaning.npz", leaning.bundle());
    for method in ["psd", "eigenskin --set kept=energy:1"] {
        let error = |mirror: &str| {
            let fitted = fit(&desk, &format!("--method {method} -s 0 --mirror {mirror}"));
            let says = if mirror == "on" { "mirrored" } else { "apart" };
            assert_eq!(setting(&fitted, "left and right"), says);
            let most = number(&fitted, "train.max");
            assert!(most < 3e-6 * tube.diagonal(), "{method} {mirror}: {most}");
            number(&desk.json("eval m.dermis --examples image.npz --json"), "error.max")
        };
        let (on, off) = (error("on"), error("off"));
        assert!(on < 3e-6 * tube.diagonal() && off > 1e-3, "{method}: {on} on, {off} off");
    }
    for method in ["psd", "eigenskin", "pose-blendshapes"] {
        let line = format!("fit leaning.npz --examples leaning.npz -o x.dermis --method {method} --mirror on");
        desk.bad(&line, &["the rig \"leaning\" has no left and right that mirror each other", "--mirror"]);
    }
    assert!(!exists(&desk.path("x.dermis")));
}

/// Over the rest pose itself, for what `dermis invert` brought back there: the corrected rest shapes by the bulge's definition.
#[test]
fn shapes_at_rest_are_learnt_over_the_rest_pose() {
    let (desk, tube) = desk(9);
    desk.good("invert a.npz --sculpts a.npz --rest-space -o rest.npz");
    for method in ["psd", "eigenskin --set kept=energy:1"] {
        let line = "fit a.npz --examples rest.npz --base rest --folds 0 -o m.dermis --force --json -s 0";
        let fitted = desk.json(&format!("{line} --method {method}"));
        assert_eq!(setting(&fitted, "base"), "rest");
        assert_eq!(desk.json("eval m.dermis --examples rest.npz --json")["error"], fitted["train"], "{method}");
        desk.good("pose m.dermis --motion a.npz -o x.npz --force");
        let found = read(&desk.bytes("x.npz"), "x.npz").unwrap().records;
        for (s, record) in found.iter().enumerate() {
            for ((x, p), d) in record
                .positions
                .as_ref()
                .unwrap()
                .iter()
                .zip(&tube.mesh.positions)
                .zip(crate::invert::planted(&tube, s))
            {
                assert!(x.distance(*p + d) < 3e-6 * tube.diagonal(), "{method}, pose {s}: {x} for {}", *p + d);
            }
        }
    }
}

#[test]
fn the_published_remedy_for_singular_poses_is_named_for_what_it_is() {
    let (desk, _) = desk(8);
    let ours = fit(&desk, "--method psd -s 0 --set singular=remainder");
    let published = fit(&desk, "--method psd -s 0 --set singular=published:0.1,0.01");
    assert_eq!(setting(&published, "singular poses"), "as published, lambda 1e-1, epsilon 1e-2");
    assert!(published["warnings"].to_string().contains("as published: the examples are not met"));
    assert!(number(&published, "train.max") > 100.0 * number(&ours, "train.max"), "{}", published["train"]);
}

/// Four poses, lean and strained: every sculpt is a named shape, met by the model and by its morph targets; an adjective goes on
/// beyond its examples, and without its examples the model is that of the poses.
#[test]
fn shapes_by_example_have_names_and_adjectives() {
    let desk = Desk::new();
    let mut tube = Tube::new(9, 5, 0.0, Flesh::Weights);
    tube.poses = tube.poses.iter().flat_map(|pose| [pose.clone(), pose.clone(), pose.clone()]).collect();
    tube.skins = tube.skins.iter().flat_map(|skin| [skin.clone(), skin.clone(), skin.clone()]).collect();
    let strain = |s: usize| [0.0, 1.0, 1.2][s % 3];
    let tube = planted(tube, |s, _| strain(s));
    let bundle = |keep: &dyn Fn(usize) -> bool| {
        let mut contents = tube.contents();
        for (s, record) in contents.records.iter_mut().enumerate() {
            record.label = format!("sculpt_{s}");
            record.pose.as_mut().unwrap().channels = vec![(Arc::from("strain"), strain(s))];
        }
        let mut at = 0..contents.records.len();
        contents.records.retain(|_| at.next().is_some_and(keep));
        to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
    };
    desk.put("a.npz", bundle(&|s| s % 3 < 2));
    desk.put("beyond.npz", bundle(&|s| s % 3 == 2));
    desk.put("lean.npz", bundle(&|s| s % 3 == 0));
    let fitted = fit(&desk, "--method shape-by-example --set channels=strain=1 -s 0 --set kernel=gaussian");
    assert!(number(&fitted, "train.max") < 3e-6 * tube.diagonal(), "{}", fitted["train"]);
    assert!(number(&fitted, "report.off_cardinal") < 1e-9, "{}", fitted["report"]);
    let names = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap().to_owned()).collect()
    };
    // The bind pose, without strain, is an example already.
    let of_fit = names(&fitted["report"]["examples"]);
    assert_eq!(fitted["report"]["at_bind"], serde_json::json!(["sculpt_0"]));
    assert_eq!(of_fit.len(), 9);
    // Planted: the displacement is the strain times a shape, so the linear part holds it, up to 1.25 times the largest.
    let beyond = desk.json("eval m.dermis --examples beyond.npz --json");
    assert!(number(&beyond, "baseline.error.max") > 0.05);
    assert!(number(&beyond, "error.max") < 1e-4 * number(&beyond, "baseline.error.max"), "{}", beyond["error"]);
    // As morph targets, with the names of the sculpts.
    let made = desk.json("export drivers m.dermis -o m.glb --table m.json --json");
    assert!(number(&made, "training.shapes.max") < 1e-5 * tube.diagonal(), "{made}");
    let table: Value = serde_json::from_slice(&desk.bytes("m.json")).unwrap();
    let shapes: Vec<&str> = table["shapes"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(
        shapes[0] == "driven_common" && shapes[1..].iter().all(|name| of_fit.iter().any(|n| n == name)),
        "{shapes:?}"
    );
    assert_eq!(table["channels"][0]["name"], "strain");
    // Without the adjective's examples.
    let model = |options: &str| {
        desk.good(&format!(
            "fit a.npz --examples lean.npz --folds 0 -s 0 --method shape-by-example {options} -o lean.dermis --force"
        ));
        desk.json("eval lean.dermis --examples a.npz --json")["error"].clone()
    };
    assert_eq!(model("--set channels=strain"), model(""));
    desk.bad(
        "fit a.npz --examples a.npz --method shape-by-example --set channels=mood -o x.dermis",
        &["no channel \"mood\"", "strain"],
    );
    desk.bad(
        "fit a.npz --examples a.npz --method shape-by-example --set kernel=polyharmonic --set sigma=1 -o x.dermis",
        &["--set sigma", "polyharmonic"],
    );
    for given_up in [
        "--set sparse=on",
        "--set reach=global",
        "--maps file",
        "--set form=inverse",
        "--set linear=on",
        "--set budget=4",
    ] {
        let line = format!("fit a.npz --examples a.npz --method shape-by-example {given_up} -o x.dermis");
        desk.bad(&line, &[given_up.split_once('=').map_or("--maps", |(name, _)| name), "not shape-by-example"]);
    }
}

/// Every option at every method that would pass over it.
#[test]
fn pose_space_options_are_refused_where_they_do_not_serve() {
    let (desk, _) = desk(6);
    const ALL: &[&str] = &["psd", "eigenskin", "pose-blendshapes"];
    let methods = [
        "joint",
        "own-weights",
        "lbs",
        "dqs",
        "animation-space",
        "mwe",
        "rotational-regression",
        ALL[0],
        ALL[1],
        ALL[2],
        "shape-by-example",
        "correctives",
    ];
    const COMPARING: &[&str] = &["psd", "eigenskin", "pose-blendshapes", "shape-by-example", "correctives"];
    for (option, serves) in [
        ("--set form=forward", ALL),
        ("--set coordinates=euler", COMPARING),
        ("--set channels=flex", COMPARING),
        ("--set reach=global", ALL),
        ("--set kernel=wendland", &["psd", "shape-by-example", "correctives"]),
        ("--set linear=on", &["psd"]),
        ("--set sparse=on", ALL),
        ("--set singular=remainder", &["psd"]),
        ("--set kept=energy:0.5", &["eigenskin"]),
        ("--set kept=count:3", &["eigenskin"]),
        ("--set budget=4", &["psd", "pose-blendshapes"]),
    ] {
        let name = option.split('=').next().unwrap();
        for method in methods.iter().filter(|m| !serves.contains(m)) {
            let says = format!("{name} serves --method {}, not {method}", serves.join(", "));
            desk.bad(&format!("fit a.npz --examples a.npz --method {method} {option} -o x.dermis"), &[&says]);
        }
    }
    assert!(!exists(&desk.path("x.dermis")));
}

/// A linear term goes to any length in recombined poses; its shapes are made within the ball that bounds the model.
#[test]
fn shapes_of_a_linear_term_are_near_the_model() {
    let (desk, _) = desk(24);
    desk.good("fit a.npz --examples a.npz --method psd --set linear=on --folds 0 -o m.dermis");
    let made = desk.json("export drivers m.dermis -o m.glb --table m.json --kernels 4 --json");
    let rms = |what: &str| number(&made, &format!("training.{what}.rms"));
    assert!(rms("shapes") < 0.5 * rms("weights_alone"), "{made}");
}

#[test]
fn values_that_make_no_sense_are_named() {
    let (desk, _) = desk(6);
    for (options, says) in [
        ("psd --set coordinates=chords", "--set coordinates=chords: use chord, rotation-vector, euler, or swing-twist"),
        ("psd --set coordinates=swing-twist:1", "--set coordinates=swing-twist:1"),
        ("psd --set coordinates=swing-twist:0,0", "two scales of 0 or more"),
        ("psd --set coordinates=swing-twist:1,inf", "two scales of 0 or more"),
        ("psd --set coordinates=chord:1,1", "--set coordinates=chord:1,1"),
        ("psd --set kernel=cubic", "cubic"),
        ("psd --set form=backward", "backward"),
        ("psd --set reach=here", "here"),
        ("psd --set channels=flex=0", "--set channels=flex=0: the scale must be positive"),
        ("psd --set channels=flex=nan", "--set channels=flex=nan"),
        ("psd --set channels==1", "no channel \"\""),
        ("psd --set singular=published", "--set singular=published: use remainder, or published:LAMBDA,EPSILON"),
        ("psd --set singular=published:1", "two positive numbers"),
        ("psd --set singular=published:0,1", "two positive numbers"),
        ("psd --set singular=damped", "--set singular=damped"),
        ("psd --set budget=0", "--set budget=0: use SHAPES"),
        ("psd --set budget=4,0", "--set budget=4,0"),
        ("psd --set budget=4,4,4,4", "--set budget=4,4,4,4"),
        ("psd --set budget=few", "--set budget=few"),
        (
            "mwe --base rest",
            "--base rest serves --method psd, eigenskin, pose-blendshapes and shape-by-example, not mwe",
        ),
        ("eigenskin --set kept=energy:1.5", "--set kept=energy:1.5"),
        ("eigenskin --set kept=energy:-0.1", "--set kept=energy:-0.1"),
        ("eigenskin --set kept=energy:nan", "--set kept=energy:nan"),
        ("eigenskin --set kept=count:0", "--set kept=count:0: it must be one or more"),
        ("eigenskin --set kept=count:3 --set kept=energy:0.5", "--set kept"),
    ] {
        desk.bad(&format!("fit a.npz --examples a.npz -o x.dermis --method {options}"), &[says]);
        assert!(!exists(&desk.path("x.dermis")), "{options}");
    }
    // No end of shapes or kernels is asked of a small character.
    fit(&desk, "--method psd --set budget=4000000000,4000000000,4000000000");
    fit(&desk, "--method eigenskin --set kept=count:18446744073709551615");
}
