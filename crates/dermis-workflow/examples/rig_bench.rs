//! How far are the joints of `dermis rig` from those of an artist, and how long does it take?
//!
//! `cargo xtask bench rig [DIR]` runs this: the bundled body, the characters that DIR holds, bodies made of capsules in several
//! proportions and poses, and damaged variants of one of them. It prints a JSON object a line.

use dermis_testkit::bodies::{biped, quadruped};
use dermis_workflow::autorig::confidence::Limb;
use dermis_workflow::autorig::{AutoRig, AutoRigSettings, Template, autorig};
use dermis_workflow::load::load_rig;
use dermis_workflow::rig::Mesh;
use dermis_workflow::rig::glam::{DQuat, DVec3};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A joint of a template, or a limb of several, beside the bones of a rig.
type Pairs = &'static [(&'static str, &'static str)];

/// File, template, and pairs on the left and in the middle; `{l}` in a name is the side.
const CHARACTERS: [(&str, &str, &str, Pairs, [&str; 2]); 3] = [
    ("human", "human_male/human_male_exercise_lbs.npz", "biped", HUMAN, ["l", "r"]),
    ("fox", "fox/fox_exercise_lbs.npz", "quadruped", FOX, ["Left", "Right"]),
    ("wolf", "quaternius_wolf/wolf_exercise_cs.npz", "quadruped", WOLF, ["L", "R"]),
];

const HUMAN: Pairs = &[
    ("pelvis", "pelvis"),
    ("neck_01", "neck_01"),
    ("head", "head"),
    ("clavicle_", "clavicle_{l}"),
    ("upperarm_", "upperarm_{l}"),
    ("lowerarm_", "lowerarm_{l}"),
    ("hand_", "hand_{l}"),
    ("thigh_", "thigh_{l}"),
    ("calf_", "calf_{l}"),
    ("foot_", "foot_{l}"),
    ("ball_", "ball_{l}"),
];

const FOX: Pairs = &[
    ("hips", "b_Hip_"),
    ("neck_01", "b_Neck_"),
    ("head", "b_Head_"),
    ("tail_01", "b_Tail01_"),
    ("front_upper_leg_", "b_{l}UpperArm_"),
    ("front_lower_leg_", "b_{l}ForeArm_"),
    ("front_foot_", "b_{l}Hand_"),
    ("hind_upper_leg_", "b_{l}Leg01_"),
    ("hind_lower_leg_", "b_{l}Leg02_"),
    ("hind_foot_", "b_{l}Foot01_"),
    ("hind_toe_", "b_{l}Foot02_"),
];

const WOLF: Pairs = &[
    ("hips", "Back"),
    ("neck_01", "Neck1"),
    ("head", "Head"),
    ("tail_01", "Tail1"),
    ("front_upper_leg_", "FrontUpperLeg.{l}"),
    ("front_lower_leg_", "FrontLowerLeg.{l}"),
    ("front_foot_", "IKFrontLeg.{l}"),
    ("hind_upper_leg_", "BackLeg.{l}"),
    ("hind_lower_leg_", "BackUpperLeg.{l}"),
    ("hind_foot_", "BackLowerLeg.{l}"),
    ("hind_toe_", "IKBackLeg.{l}"),
];

/// Damaged variants.
const VARIANTS: usize = 50;

fn main() {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let body = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body_exercise.npz");
    character("bundled body", &body, "biped", HUMAN, ["l", "r"]);
    for (name, file, template, pairs, sides) in CHARACTERS {
        if let Some(path) = folder.as_ref().map(|folder| folder.join(file)).filter(|path| path.exists()) {
            character(name, &path, template, pairs, sides);
        }
    }
    for (arms, legs, head, girth) in [
        (0.0, 1.0, 1.0, 1.0),
        (20.0, 1.1, 0.9, 0.9),
        (45.0, 0.8, 1.3, 1.1),
        (60.0, 1.0, 1.0, 0.8),
        (75.0, 0.7, 1.6, 1.0),
    ] {
        let planted = biped(arms, legs, head, girth);
        made(
            &format!("biped, arms {arms}°, legs {legs}, head {head}, girth {girth}"),
            &planted.mesh,
            "biped",
            &planted.joints,
            planted.limb,
        );
    }
    for (legs, neck, tail) in [(1.0, 40.0, true), (1.3, 60.0, false), (0.8, 20.0, true), (1.1, 75.0, true)] {
        let planted = quadruped(legs, neck, tail);
        made(
            &format!("quadruped, legs {legs}, neck {neck}°, tail {tail}"),
            &planted.mesh,
            "quadruped",
            &planted.joints,
            planted.limb,
        );
    }
    damaged();
}

fn rigged(mesh: &Mesh, template: &str, up: DVec3) -> Result<(AutoRig, f64), String> {
    let template = Template::named(template).ok_or("no such template")?;
    let settings = AutoRigSettings { up, ..AutoRigSettings::default() };
    let start = Instant::now();
    let rig = autorig(mesh, &template, &settings, &|_, _| ControlFlow::Continue(())).map_err(|e| e.to_string())?;
    Ok((rig, start.elapsed().as_secs_f64()))
}

/// A character of a file: errors over the lengths of the limbs that joints belong to.
fn character(name: &str, path: &Path, template: &str, pairs: Pairs, sides: [&str; 2]) {
    let loaded = match load_rig(path) {
        Ok(loaded) => loaded,
        Err(error) => return println!("{}", json!({"character": name, "error": error.to_string()})),
    };
    let (skeleton, mesh) = (loaded.rig.skeleton(), loaded.rig.mesh());
    let place = |bone: &str| {
        let found = skeleton.find(bone).or_else(|| skeleton.bones().find(|b| skeleton.names()[*b].starts_with(bone)));
        found.map(|b| skeleton.bind()[b].translation)
    };
    let mut truth: Vec<(String, DVec3)> = Vec::new();
    for (joint, bone) in pairs {
        match joint.strip_suffix('_') {
            None => truth.extend(place(bone).map(|p| ((*joint).to_owned(), p))),
            Some(_) => {
                for (letter, side) in ["l", "r"].iter().zip(sides) {
                    truth.extend(place(&bone.replace("{l}", side)).map(|p| (format!("{joint}{letter}"), p)));
                }
            }
        }
    }
    let of = |name: &str| truth.iter().find(|(joint, _)| joint == name).map(|(_, p)| *p);
    let along = |names: &[&str]| -> f64 { names.windows(2).filter_map(|w| Some(of(w[0])?.distance(of(w[1])?))).sum() };
    let limb = |joint: &str| -> f64 {
        match Limb::of(joint).filter(|_| template == "biped") {
            Some(limb) => limb.length('l', &of).unwrap_or(f64::NAN),
            None if joint.starts_with("front") => along(&["front_upper_leg_l", "front_lower_leg_l", "front_foot_l"]),
            None if joint.starts_with("hind") => {
                along(&["hind_upper_leg_l", "hind_lower_leg_l", "hind_foot_l", "hind_toe_l"])
            }
            None => along(&["hips", "head"]),
        }
    };
    row(name, mesh, template, &truth, &limb);
}

fn made(name: &str, mesh: &Mesh, template: &str, joints: &[(String, DVec3)], limb: f64) {
    row(name, mesh, template, joints, &|_| limb);
}

fn row(name: &str, mesh: &Mesh, template: &str, truth: &[(String, DVec3)], limb: &dyn Fn(&str) -> f64) {
    let (rig, seconds) = match rigged(mesh, template, DVec3::Y) {
        Ok(done) => done,
        Err(error) => return println!("{}", json!({"character": name, "error": error})),
    };
    let errors: Vec<(f64, &str)> = truth
        .iter()
        .filter_map(|(joint, p)| {
            let found = rig.joints.iter().find(|j| j.name == *joint)?;
            Some((found.place.distance(*p) / limb(joint), joint.as_str()))
        })
        .collect();
    let mean = errors.iter().map(|(e, _)| e).sum::<f64>() / errors.len().max(1) as f64;
    let worst = errors.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    println!(
        "{}",
        json!({
            "character": name,
            "triangles": mesh.triangles.len(),
            "joints": errors.len(),
            "mean": mean,
            "worst": worst.map(|w| w.0),
            "worst_joint": worst.map(|w| w.1),
            "outside": rig.report.outside.as_ref().map_or(0.0, |(_, share)| *share),
            "facing": rig.report.facing,
            "seconds": seconds,
        })
    );
}

/// Damaged variants of a body: holes, turned faces, doubled shells, noise, any size, any way up.
fn damaged() {
    let planted = biped(40.0, 1.0, 1.0, 1.0);
    let mut state = 1_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut rigs, mut sound, mut farthest, mut reasons) = (0, 0, 0.0_f64, Vec::new());
    for _ in 0..VARIANTS {
        let mut mesh = planted.mesh.clone();
        let (holes, turned, doubled, noise) = (0.2 * next(), 0.5 * next(), next() < 0.3, 0.006 * next());
        mesh.triangles.retain(|_| next() > holes);
        mesh.triangles.iter_mut().for_each(|t| {
            if next() < turned {
                t.swap(0, 1)
            }
        });
        if doubled {
            let count = mesh.positions.len() as u32;
            let copies: Vec<[u32; 3]> = mesh.triangles.iter().map(|t| t.map(|c| c + count)).collect();
            mesh.positions.extend_from_within(..);
            mesh.triangles.extend(copies);
        }
        let scale = 10_f64.powf(6.0 * next() - 3.0);
        let axis = DVec3::new(next() - 0.5, next() - 0.5, next() - 0.5).normalize_or(DVec3::X);
        let turn = DQuat::from_axis_angle(axis, std::f64::consts::TAU * next());
        for p in &mut mesh.positions {
            *p = turn * (*p + DVec3::new(next() - 0.5, next() - 0.5, next() - 0.5) * noise) * scale;
        }
        match rigged(&mesh, "biped", turn * DVec3::Y) {
            Ok((rig, _)) => {
                rigs += 1;
                let whole = |row: &[(dermis_workflow::rig::BoneIndex, f64)]| {
                    (row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-9
                };
                sound += usize::from(rig.weights.rows().all(whole));
                farthest = farthest.max(rig.report.outside.as_ref().map_or(0.0, |(_, share)| *share));
            }
            Err(reason) => reasons.push(reason),
        }
    }
    println!(
        "{}",
        json!({"variants": VARIANTS, "rigs": rigs, "with_whole_weights": sound, "outside": farthest, "reasons": reasons})
    );
}
