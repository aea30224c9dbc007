//! What springs of chains leave of tails and ears that swing by another law.
//!
//! The truth is a chain of equal masses at the ends of the bones, 24 steps a frame: rods keep their length and pull back on the bones above,
//! a spring of 3.2 Hz at the first bone to 1.8 Hz at the last pulls each mass to where rest would have it, damped as [`DAMPINGS`] say, and it
//! hangs in gravity of a twentieth of the earth's, as tails hold themselves up. In the clips tails and ears are as at rest.

use super::{Character, RATE, STEPS};
use dermis_deform::lbs;
use dermis_deform::secondary::Anchor;
use dermis_fit::secondary::{BoneChain, Clip, find_chains, learn_chains};
use dermis_fit::silent;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneTransforms, Mesh, Rig, Skeleton};
use dermis_workflow::load::{ReadOptions, Source, load_motion, load_rig};
use serde_json::json;
use std::f64::consts::TAU;
use std::path::Path;
use std::time::Instant;

/// Damping ratios: of a tail that swings for long, and of one that soon rests.
const DAMPINGS: [f64; 2] = [0.15, 0.4];

const GRAVITY: DVec3 = DVec3::new(0.0, -0.05 * 9.81, 0.0);

/// Learns the springs of tails and ears and prints a row a chain.
pub fn measure(character: &Character, folder: &Path) -> Result<(), String> {
    let loaded = load_rig(&folder.join(character.rig)).map_err(|error| error.to_string())?;
    let options = ReadOptions { fps: Some(RATE), ..ReadOptions::default() };
    let mut motions: Vec<(&str, Vec<BoneTransforms>)> = Vec::new();
    for (name, times) in character.clips {
        let source = Source { part: Some((*name).into()), ..Source::from(folder.join(character.file)) };
        let read = load_motion(&loaded.rig, &loaded.space, &source, &options);
        let (motion, _) = read.map_err(|error| error.to_string())?;
        let skeleton = loaded.rig.skeleton();
        let once: Vec<_> = motion.frames.iter().map(|frame| skeleton.bone_transforms(&frame.pose)).collect();
        let more = (1..*times).flat_map(|_| once.iter().skip(1));
        motions.push((name, once.iter().chain(more).cloned().collect()));
    }
    DAMPINGS.iter().try_for_each(|damping| learn(character, &loaded.rig, &motions, *damping))
}

fn learn(
    character: &Character,
    rig: &Rig,
    motions: &[(&str, Vec<BoneTransforms>)],
    damping: f64,
) -> Result<(), String> {
    let scale = character.scale;
    let rig = scaled(rig, scale).ok_or("the rig cannot be scaled")?;
    let names = rig.skeleton().names();
    let chains = find_chains(&rig, |bone| names[bone].starts_with("Ear") || names[bone].contains("Tail"));
    let (mut clips, mut all) = (Vec::new(), Vec::new());
    for (name, frames) in motions {
        let still: Vec<BoneTransforms> = frames.iter().map(|frame| at_rest(&rig, &chains, frame, scale)).collect();
        clips.push(clip(&rig, &chains, name, &still, damping));
        all.push(still);
    }
    let poses: Vec<Vec<&BoneTransforms>> = all.iter().map(|frames| frames.iter().collect()).collect();
    let start = Instant::now();
    let learnt = learn_chains(&rig, &chains, (&clips, &poses), &silent).map_err(|error| error.to_string())?;
    let seconds = start.elapsed().as_secs_f64() / learnt.len().max(1) as f64;
    for found in learnt {
        let worst = found.folds.iter().max_by(|a, b| a.1.total_cmp(&b.1)).ok_or("no clip was left out")?;
        println!(
            "{}",
            json!({
                "table": "chains", "character": character.name, "damping": damping, "chain": names[found.chain.bones[0]],
                "bones": found.chain.swinging().len(), "clips": clips.len(),
                "frames": clips.iter().map(|clip| clip.times.len()).sum::<usize>(), "swing": found.swing,
                "training": found.training, "left": found.left_out, "worst": worst.1,
                "worst_clip": worst.0.rsplit('|').next().unwrap_or_default(), "stiffness": found.spring.stiffness(),
                "drag": found.spring.drag(), "gravity": found.spring.gravity(), "seconds": seconds,
            })
        );
    }
    Ok(())
}

fn scaled(rig: &Rig, scale: f64) -> Option<Rig> {
    let skeleton = rig.skeleton();
    let bind = skeleton.bind().iter().map(|m| DAffine3 { translation: m.translation * scale, ..*m }).collect();
    let skeleton = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind).ok()?;
    let positions = rig.mesh().positions.iter().map(|p| *p * scale).collect();
    let mesh = Mesh { positions, render: None, ..rig.mesh().clone() };
    Rig::new(mesh, skeleton, rig.weights().cloned()).ok()
}

/// A pose of the scaled rig whose chains are as at rest.
fn at_rest(rig: &Rig, chains: &[BoneChain], pose: &BoneTransforms, scale: f64) -> BoneTransforms {
    let mut still =
        BoneTransforms::new(pose.iter().map(|m| DAffine3 { translation: m.translation * scale, ..*m }).collect());
    for chain in chains {
        let Some(above) = rig.skeleton().parents()[chain.bones[0]] else { continue };
        let carried = still[above];
        chain.bones.iter().for_each(|bone| still.set(*bone, carried));
    }
    still
}

fn clip(rig: &Rig, chains: &[BoneChain], name: &str, poses: &[BoneTransforms], damping: f64) -> Clip {
    let rest = &rig.mesh().positions;
    let weights = rig.weights().expect("a character has weights");
    let mut swung = poses.to_vec();
    chains.iter().for_each(|chain| simulate(rig, chain, poses, &mut swung, damping));
    let skin = |pose: &BoneTransforms| {
        let mut skin = vec![DVec3::ZERO; rest.len()];
        lbs(rest, weights, pose, &mut skin);
        skin
    };
    let (mut times, mut posed, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (still, swung)) in poses.iter().zip(&swung).enumerate() {
        let (base, skin) = (skin(still), skin(swung));
        times.push(n as f64 / RATE);
        posed.push(base.iter().map(|p| p.as_vec3()).collect());
        offsets.push(skin.iter().zip(&base).map(|(x, b)| (*x - *b).as_vec3()).collect());
    }
    Clip { name: name.into(), times, posed, offsets }
}

/// Moves the bones of a chain in every frame.
fn simulate(rig: &Rig, chain: &BoneChain, poses: &[BoneTransforms], swung: &mut [BoneTransforms], damping: f64) {
    let skeleton = rig.skeleton();
    let Some(above) = skeleton.parents()[chain.bones[0]] else { return };
    let heads: Vec<DVec3> = chain.swinging().iter().map(|bone| skeleton.bind()[*bone].translation).collect();
    let ways = chain.ways();
    let anchor = |pose: &BoneTransforms| Anchor {
        head: pose[above].transform_point3(heads[0]),
        rotation: quat_from_matrix(&nearest_rotation(&pose[above].matrix3)),
    };
    let anchors: Vec<Anchor> = poses.iter().map(anchor).collect();
    let part = |k: usize| if ways.len() > 1 { k as f64 / (ways.len() - 1) as f64 } else { 0.0 };
    let mut state: Vec<[DVec3; 2]> = Vec::new();
    let mut end = anchors[0].head;
    for way in ways {
        end += anchors[0].rotation * *way;
        state.push([end, DVec3::ZERO]);
    }
    let h = 1.0 / RATE / STEPS as f64;
    for n in 0..poses.len() {
        // The first frame settles for two seconds.
        let (steps, from) = if n == 0 { (120 * STEPS, 0) } else { (STEPS, n - 1) };
        for step in 1..=steps {
            let on = step as f64 / steps as f64;
            let (a, b) = (anchors[from], anchors[n]);
            let at = Anchor { head: a.head.lerp(b.head, on), rotation: a.rotation.slerp(b.rotation, on) };
            move_masses(&mut state, ways, &at, (h, damping), part);
        }
        let mut at = anchors[n];
        for ((bone, way), (rest, [tail, _])) in chain.bones.iter().zip(ways).zip(heads.iter().zip(&state)) {
            let goal = (at.rotation * *way).normalize();
            let rotation = DQuat::from_rotation_arc(goal, (*tail - at.head).normalize()) * at.rotation;
            swung[n].set(*bone, DAffine3::from_rotation_translation(rotation, at.head - rotation * *rest));
            at = Anchor { head: at.head + rotation * *way, rotation };
        }
        // What carries no skin goes along.
        for bone in &chain.bones[ways.len()..] {
            let last = swung[n][chain.bones[ways.len() - 1]];
            swung[n].set(*bone, last);
        }
    }
}

/// One step: springs and gravity move the masses, rods put them right, and speeds follow.
fn move_masses(
    state: &mut [[DVec3; 2]],
    ways: &[DVec3],
    at: &Anchor,
    (h, damping): (f64, f64),
    part: impl Fn(usize) -> f64,
) {
    let before: Vec<DVec3> = state.iter().map(|[x, _]| *x).collect();
    let (mut rotation, mut head) = (at.rotation, at.head);
    for (k, (mass, way)) in state.iter_mut().zip(ways).enumerate() {
        let omega = TAU * (3.2 - 1.4 * part(k));
        let goal = head + rotation * *way;
        let force = (goal - mass[0]) * (omega * omega) - mass[1] * (2.0 * damping * omega) + GRAVITY;
        mass[1] += force * h;
        let (from, to) = (rotation * *way, before[k] - head);
        rotation = DQuat::from_rotation_arc(from.normalize(), to.normalize()) * rotation;
        head = before[k];
        mass[0] += mass[1] * h;
    }
    for _ in 0..8 {
        let mut head = at.head;
        for k in 0..state.len() {
            let (way, length) = (state[k][0] - head, ways[k].length());
            let off = way * (1.0 - length / way.length());
            // Both ends are of one mass; the first hangs on the body.
            match k.checked_sub(1) {
                None => state[k][0] -= off,
                Some(above) => {
                    state[above][0] += off * 0.5;
                    state[k][0] -= off * 0.5;
                }
            }
            head = state[k][0];
        }
    }
    for (mass, before) in state.iter_mut().zip(before) {
        mass[1] = (mass[0] - before) / h;
    }
}
