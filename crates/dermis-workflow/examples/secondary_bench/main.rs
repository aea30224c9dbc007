//! What learnt springs leave of skins that swing, on clips that they have not seen.
//!
//! `cargo xtask bench secondary FOLDER [SEED]` runs this. FOLDER holds public characters: `Fox.glb` (Khronos samples), `quaternius_wolf.glb`,
//! and `manny_med_mod.gltf` with its clips in `kaykit_Med_MovementBasic.glb`. Prints a JSON object a row.
//!
//! The truth is a net of masses and springs over each character, 24 steps a frame. Every vertex is pulled to its blended place by a spring
//! that stiffens, of 1.8 to 9 Hz, soft where skin lies deep over its bones; edges keep their length by springs of their own; it hangs in
//! gravity. The model is perfect: the same net at rest in every pose. So what is left is of the springs alone.
//!
//! [`chains`] measures springs of tails and ears beside it.

mod chains;

use dermis_deform::lbs;
use dermis_deform::secondary::{Secondary, Springs};
use dermis_fit::secondary::{Clip, learn_springs};
use dermis_fit::silent;
use dermis_rig::Rig;
use dermis_rig::glam::DVec3;
use dermis_rig::mesh::{Neighbours, welded};
use dermis_solve::Random;
use dermis_workflow::load::{ReadOptions, Source, load_motion, load_rig};
use rayon::prelude::*;
use serde_json::json;
use std::f64::consts::TAU;
use std::path::Path;
use std::time::Instant;

const RATE: f64 = 60.0;
const STEPS: usize = 24;

/// A character: its rig, what scales it to metres, its clips with how often each is played, and which are left out, by turns.
struct Character {
    name: &'static str,
    rig: &'static str,
    file: &'static str,
    scale: f64,
    clips: &'static [(&'static str, usize)],
    left_out: &'static [&'static [&'static str]],
}

const CHARACTERS: [Character; 3] = [
    Character {
        name: "fox",
        rig: "Fox.glb",
        file: "Fox.glb",
        scale: 0.01,
        clips: &[("Survey", 1), ("Walk", 4), ("Run", 3)],
        left_out: &[&["Run"], &["Walk"]],
    },
    Character {
        name: "man",
        rig: "manny_med_mod.gltf",
        file: "kaykit_Med_MovementBasic.glb",
        scale: 1.0,
        clips: &[
            ("Rig_Medium|Jump_Full_Long", 1),
            ("Rig_Medium|Jump_Full_Short", 2),
            ("Rig_Medium|Jump_Idle", 2),
            ("Rig_Medium|Jump_Land", 2),
            ("Rig_Medium|Running_A", 4),
            ("Rig_Medium|Running_B", 4),
            ("Rig_Medium|Walking_A", 3),
            ("Rig_Medium|Walking_B", 3),
            ("Rig_Medium|Walking_C", 2),
        ],
        left_out: &[
            &["Rig_Medium|Jump_Full_Short", "Rig_Medium|Jump_Land", "Rig_Medium|Running_B", "Rig_Medium|Walking_B"],
            &["Rig_Medium|Jump_Full_Long", "Rig_Medium|Running_A", "Rig_Medium|Walking_A", "Rig_Medium|Walking_C"],
        ],
    },
    Character {
        name: "wolf",
        rig: "quaternius_wolf.glb",
        file: "quaternius_wolf.glb",
        scale: 0.25,
        clips: &[
            ("AnimalArmature|Attack", 2),
            ("AnimalArmature|Eating", 1),
            ("AnimalArmature|Gallop", 4),
            ("AnimalArmature|Gallop_Jump", 2),
            ("AnimalArmature|Idle_2", 1),
            ("AnimalArmature|Idle_HitReact_Left", 2),
            ("AnimalArmature|Idle_HitReact_Right", 2),
            ("AnimalArmature|Jump_ToIdle", 2),
            ("AnimalArmature|Walk", 3),
            ("AnimalArmature|Death", 1),
        ],
        left_out: &[&["AnimalArmature|Idle_HitReact_Right", "AnimalArmature|Jump_ToIdle", "AnimalArmature|Death"]],
    },
];

fn main() {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let seed = std::env::args().nth(2).and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for character in &CHARACTERS {
        if let Err(error) = chains::measure(character, Path::new(&folder)) {
            println!("{}", json!({"error": format!("{}: {error}", character.name)}));
        }
    }
    for character in &CHARACTERS {
        if let Err(error) = measure(character, Path::new(&folder), seed) {
            println!("{}", json!({"error": format!("{}: {error}", character.name)}));
        }
    }
}

fn measure(character: &Character, folder: &Path, seed: u64) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let loaded = load_rig(&folder.join(character.rig)).map_err(|e| said(&e))?;
    let rig = &loaded.rig;
    let net = Net::new(rig, character.scale, seed);
    let options = ReadOptions { fps: Some(RATE), ..ReadOptions::default() };
    let mut clips = Vec::new();
    for (name, times) in character.clips {
        let source = Source { part: Some((*name).into()), ..Source::from(folder.join(character.file)) };
        let (motion, _) = load_motion(rig, &loaded.space, &source, &options).map_err(|e| said(&e))?;
        let poses = rig.skeleton();
        let frame = |frame: &dermis_rig::Frame| {
            let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
            let weights = rig.weights().ok_or("the rig has no weights")?;
            lbs(&rig.mesh().positions, weights, &poses.bone_transforms(&frame.pose), &mut skin);
            Ok::<_, String>(skin.into_iter().map(|p| p * character.scale).collect::<Vec<_>>())
        };
        let once: Vec<Vec<DVec3>> = motion.frames.iter().map(frame).collect::<Result<_, _>>()?;
        let again = (1..*times).flat_map(|_| once.iter().skip(1));
        let blended: Vec<Vec<DVec3>> = once.iter().chain(again).cloned().collect();
        clips.push(net.clip(name, &blended));
    }
    let mesh = dermis_rig::Mesh {
        positions: rig.mesh().positions.iter().map(|p| *p * character.scale).collect(),
        ..rig.mesh().clone()
    };
    for left_out in character.left_out {
        let is_held = |clip: &&Clip| left_out.contains(&clip.name.as_str());
        let seen: Vec<Clip> = clips.iter().filter(|clip| !is_held(clip)).cloned().collect();
        let start = Instant::now();
        let learnt = learn_springs(&mesh, &seen, &silent).map_err(|e| said(&e))?;
        let seconds = start.elapsed().as_secs_f64();
        let (mut left, mut alone) = (0.0, 0.0);
        let mut milliseconds = 0.0;
        for clip in clips.iter().filter(is_held) {
            let [error, of_model, spent] = simulated(&mesh, &learnt.springs, clip);
            (left, alone, milliseconds) = (left + error, alone + of_model, spent);
            let name = clip.name.rsplit('|').next().unwrap_or_default();
            println!(
                "{}",
                json!({"table": "clips", "character": character.name, "clip": name, "left": (error / of_model).sqrt()})
            );
        }
        println!(
            "{}",
            json!({
                "table": "characters", "character": character.name, "vertices": mesh.positions.len(),
                "clips": seen.len(), "frames": learnt.frames, "left": f64::sqrt(left / alone),
                "expected": learnt.left_out, "training": learnt.training, "kept": if learnt.are_kept() { "yes" } else { "no" },
                "coupling": learnt.springs.coupling(), "seconds": seconds, "frame": milliseconds,
            })
        );
    }
    Ok(())
}

/// Squared error of a simulation over a clip, of the model alone, and milliseconds a frame. The first two frames are given.
fn simulated(mesh: &dermis_rig::Mesh, springs: &Springs, clip: &Clip) -> [f64; 3] {
    let mut motion = Secondary::<1>::learnt([springs], mesh).expect("springs of this mesh");
    let wide = |frame: &[dermis_rig::glam::Vec3]| frame.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>();
    let moves = clip.offsets[0].iter().zip(&clip.offsets[1]);
    motion.begin(&wide(&clip.posed[0]), moves.map(|(a, b)| [a.as_dvec3(), (*b - *a).as_dvec3() * RATE]));
    let (mut error, mut alone, mut spent) = (0.0, 0.0, 0.0);
    for frame in 1..clip.times.len() {
        let mut skin = wide(&clip.posed[frame]);
        let start = Instant::now();
        motion.apply(1.0 / RATE, &mut skin).expect("frames that follow each other");
        spent += start.elapsed().as_secs_f64();
        if frame > 1 {
            for ((x, b), o) in skin.iter().zip(&clip.posed[frame]).zip(&clip.offsets[frame]) {
                error += (*x - b.as_dvec3()).distance_squared(o.as_dvec3());
                alone += f64::from(o.length_squared());
            }
        }
    }
    [error, alone, 1e3 * spent / (clip.times.len() - 1) as f64]
}

/// Masses, anchored to the blended skin, and their edges.
struct Net {
    neighbours: Neighbours,
    rest: Vec<DVec3>,
    /// Stiffness and damping of every anchor.
    anchors: Vec<[f64; 2]>,
    /// The distance at which an anchor is twice as stiff.
    stiffens: f64,
    /// Stiffness of an edge.
    edge: f64,
}

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);

impl Net {
    fn new(rig: &Rig, scale: f64, seed: u64) -> Self {
        let mesh = rig.mesh();
        let rest: Vec<DVec3> = mesh.positions.iter().map(|p| *p * scale).collect();
        let place = welded(&mesh.positions);
        let neighbours = mesh.neighbours_along_polygons(&place).for_all(&place);
        let length = scale * mesh.diagonal();
        let smoothed = |values: &[f64]| -> Vec<f64> {
            let mean = |v: usize| {
                let row = neighbours.of(v);
                row.iter().map(|&j| values[j as usize]).sum::<f64>() / row.len().max(1) as f64
            };
            (0..values.len()).map(mean).collect()
        };
        // Skin is soft where it lies far from the middle of what its bones carry.
        let weights = rig.weights().expect("a character has weights");
        let mut middles = vec![(DVec3::ZERO, 0.0); rig.skeleton().len()];
        for (row, p) in weights.rows().zip(&rest) {
            for (bone, weight) in row {
                let (sum, all) = &mut middles[bone.get()];
                (*sum, *all) = (*sum + *p * *weight, *all + weight);
            }
        }
        let depth = |v: usize| {
            let middle: DVec3 =
                weights.of(v).iter().map(|(b, w)| middles[b.get()].0 / middles[b.get()].1.max(1e-9) * *w).sum();
            rest[v].distance(middle) / length
        };
        let mut random = Random::new(seed, 0);
        let mut noise: Vec<f64> = place.iter().map(|_| (0..12).map(|_| random.unit()).sum::<f64>() - 6.0).collect();
        noise = place.iter().map(|&v| noise[v as usize]).collect();
        for _ in 0..30 {
            noise = smoothed(&noise);
        }
        let mean = noise.iter().sum::<f64>() / noise.len() as f64;
        let deviation = (noise.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / noise.len() as f64).sqrt();
        let hertz = |(v, z): (usize, &f64)| {
            let soft = (depth(v) - 0.02).clamp(0.0, 0.09);
            (7.5 - 60.0 * soft + 0.8 * (z - mean) / deviation).clamp(1.8, 9.0)
        };
        let mut hertz: Vec<f64> = noise.iter().enumerate().map(hertz).collect();
        for _ in 0..4 {
            hertz = hertz.iter().zip(smoothed(&hertz)).map(|(own, mean)| 0.5 * own + 0.5 * mean).collect();
        }
        let anchors = hertz.iter().map(|f| [(TAU * f).powi(2), 0.2 * TAU * f]).collect();
        Self { neighbours, rest, anchors, stiffens: 0.03 * length, edge: (TAU * 5.0).powi(2) / 3.0 }
    }

    /// One step of all masses, with damping against `speed` of the anchors.
    fn step(
        &self,
        state: &mut Vec<[DVec3; 2]>,
        targets: &[DVec3],
        speeds: &[DVec3],
        h: f64,
        damping: impl Fn(usize) -> f64 + Sync,
    ) {
        let before: &[[DVec3; 2]] = state;
        let moved = |v: usize| {
            let [x, speed] = before[v];
            let off = targets[v] - x;
            let stiffness = self.anchors[v][0] * (1.0 + off.length_squared() / (self.stiffens * self.stiffens));
            let edges: DVec3 = self
                .neighbours
                .of(v)
                .iter()
                .map(|&j| {
                    let (now, then) = (x - before[j as usize][0], self.rest[v].distance(self.rest[j as usize]));
                    now * (1.0 - then / now.length().max(1e-12))
                })
                .sum();
            let damping = damping(v);
            let force = off * stiffness + GRAVITY - edges * self.edge + speeds[v] * damping;
            let speed = (speed + force * h) / (1.0 + h * damping);
            [x + speed * h, speed]
        };
        *state = (0..before.len()).into_par_iter().with_min_len(64).map(moved).collect();
    }

    /// Masses at rest about targets.
    fn at_rest(&self, from: &[DVec3], targets: &[DVec3], steps: usize) -> Vec<DVec3> {
        let still = vec![DVec3::ZERO; targets.len()];
        let mut state: Vec<[DVec3; 2]> = from.iter().map(|x| [*x, DVec3::ZERO]).collect();
        for _ in 0..steps {
            // Critical damping: 2 √k, ten times that of the anchors.
            self.step(&mut state, targets, &still, 2.5 / RATE / STEPS as f64, |v| 10.0 * self.anchors[v][1]);
        }
        state.into_iter().map(|[x, _]| x).collect()
    }

    /// A clip: masses that begin at rest, over blended skins that move smoothly.
    fn clip(&self, name: &str, blended: &[Vec<DVec3>]) -> Clip {
        let mut still = self.at_rest(&blended[0], &blended[0], 600);
        let mut state: Vec<[DVec3; 2]> = still.iter().map(|x| [*x, DVec3::ZERO]).collect();
        let (mut times, mut posed, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        let last = blended.len() - 1;
        for n in 0..=last {
            if n > 0 {
                let at = |k: usize| &blended[k.min(last)];
                let corners = [at(n.saturating_sub(2)), at(n - 1), at(n), at(n + 1)];
                for step in 1..=STEPS {
                    let u = step as f64 / STEPS as f64;
                    let curve = |v: usize| {
                        let [p0, p1, p2, p3] = corners.map(|skin| skin[v]);
                        let (a1, a2) = ((p2 - p0) * 0.5, p0 - p1 * 2.5 + p2 * 2.0 - p3 * 0.5);
                        let a3 = (p3 - p0) * 0.5 + (p1 - p2) * 1.5;
                        (p1 + (a1 + (a2 + a3 * u) * u) * u, (a1 + (a2 * 2.0 + a3 * (3.0 * u)) * u) * RATE)
                    };
                    let (targets, speeds): (Vec<DVec3>, Vec<DVec3>) = (0..still.len()).map(curve).unzip();
                    self.step(&mut state, &targets, &speeds, 1.0 / RATE / STEPS as f64, |v| self.anchors[v][1]);
                }
                still = self.at_rest(&still, &blended[n], 120);
            }
            times.push(n as f64 / RATE);
            posed.push(still.iter().map(|p| p.as_vec3()).collect());
            offsets.push(state.iter().zip(&still).map(|([x, _], b)| (*x - *b).as_vec3()).collect());
        }
        Clip { name: name.into(), times, posed, offsets }
    }
}
