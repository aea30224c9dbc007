//! The layer of a joint model: what its own correction leaves of every sculpt, as a shape with one weight.
//!
//! ```text
//! p'   = base + Π_v( T F_v (g_v Σ_e U_ve z_e + Σ_s w_s(x) e_sv / max(1, Σ_s w_s)) + T shared_v ),      e_sv = (T F_v)⁻¹ (y_sv − f_v(x_s))
//! w_s  = clamp( [K_s⁻¹ k_s(x)]_s, 0, 1 ) (1 − smoothstep( (r_s − ¾)/¼ ))
//! ```
//!
//! y_sv is what the base leaves of sculpt s at a vertex that it touched, f the joint model with the gate g, and e is scaled by the
//! strength of the layer. w_s is one in the pose of s, and zero in the poses of the sculpts C_s whose touched skin meets that of s.
//! The joints that drive s compare poses, those of a [corrective](super::correctives) there:
//!
//! ```text
//! d_s(x)² = Σ_j |x_j − x_sj|² over the joints that drive s,      r_s = d_s / d_s(rest)
//! ```
//!
//! with x_j the chord of joint j. k_s is a Gaussian of d_s whose width is the largest distance from the bind pose among s and C_s,
//! conditioned to vanish there.
//!
//! **Mirrored sculpts** are sculpts. Where one lies within a tenth of the way from an own sculpt to the bind pose, by the joints
//! that drive the own one, the own one holds: neither ends the other's weight, and the mirrored one is left out where the own one
//! touched. The two halves of a walk are such poses.
//!
//! **Sculpts in one pose.** Of sculpts in the same pose the later one holds where it touched. Sculpts whose driving joints differ by less
//! than a thousandth of the way from the bind pose are averaged where both touched, and named.

use super::correctives::{Corrective, Group, Sculpt, drivers, names, unique};
use super::displacements::pull_back;
use super::eigenskin::terms_of;
use super::space::Space;
use super::{EXACT, PsdSettings, UNTOUCHED};
use crate::mask::touched;
use crate::training::{FitError, Progress, Ticker, Training, of_table};
use dermis_deform::joints::{JointPose, Joints};
use dermis_deform::pose_space::{Carrier, CompiledShapes, Coordinates, Family, JointPart, Window};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences, Mirror, Rows, pose_numbers};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A mirrored sculpt gives way to an own one within this share of the own one's distance from the bind pose.
const GIVES_WAY: f64 = 0.1;
/// Poses that are one, by their distance in the drivers of a sculpt over its own distance from the bind pose: about a twentieth of a degree
/// at an elbow of 60°. The weight of a sculpt goes from one to zero between its pose and another's, and between nearer ones rounding
/// would make it. A squat and its mirror image, whose knees are bent alike but for rounding, are such.
const ALIKE: f64 = 1e-3;
/// Chords below which a pose is the bind pose.
const AT_REST: f64 = 1e-3;
/// The least that is named of a disagreement, in rest diagonals.
const NAMED: f64 = 1e-6;

/// What a caller learns of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// The shapes, in their order in the layer.
    pub shapes: Vec<Corrective>,
    /// Sculpts that touched nothing, or whose touched skin later sculpts of their pose hold.
    pub without: Vec<String>,
    /// Sculpts that ask for different skin in one pose: their names, and how far they are apart at most, metres.
    pub apart: Vec<(String, String, f64)>,
}

/// Puts a layer over a joint model that was fitted to `training`, and returns what it holds.
///
/// - `strength`: of the shapes, 0..1; at one every sculpt is met
/// - `mirror`: the symmetry by which every sculpt has an image on the other side, if any
///
/// # Errors
/// [`FitError::NoDriver`] for a sculpt in whose pose nothing turned, [`FitError::Cancelled`].
pub fn remember(
    training: &Training<'_>,
    model: &mut Joints,
    strength: f64,
    mirror: Option<&Mirror>,
    guard: bool,
    progress: Progress<'_>,
) -> Result<LayerReport, FitError> {
    let included = training.included();
    let training = &training.with(&included);
    let weights = model.weights.clone();
    let settings = PsdSettings {
        coordinates: Coordinates::Chord,
        parts: vec![JointPart::Whole],
        family: Some(Family::Gaussian),
        smoothing: Some(EXACT),
        guard,
        ..PsdSettings::new(false)
    };
    let own = || training.examples.iter().map(|e| &e.transforms);
    let images: Vec<BoneTransforms> = mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
    let poses: Vec<&BoneTransforms> = own().chain(&images).collect();
    let space = Space::new(training, &poses, &weights, &weights, &settings);
    let names = names(training);
    let mut report = LayerReport::default();
    let sculpts = sculpts(training, &space, &weights, mirror, &names, &mut report)?;
    let (layer, asked) = shapes(training, &space, sculpts, &names, &poses, &mut report)?;
    if asked.is_empty() {
        return Ok(report);
    }
    model.layer = Some(layer);
    let ticker = Ticker::new(asked.len() as u64, progress);
    let displacements = asked.par_iter().map(|asked| {
        ticker.tick(1)?;
        Ok(asked.displacements(training.rest, model, poses[asked.example], strength))
    });
    let displacements: Vec<Vec<DVec3>> = displacements.collect::<Result<_, FitError>>()?;
    let layer = model.layer.iter_mut();
    layer.for_each(|layer| fill(layer, &asked, &displacements));
    for (shape, asked) in report.shapes.iter_mut().zip(&asked).filter(|(_, a)| a.example < training.examples.len()) {
        shape.left = Some(asked.left(training.rest, model, poses[asked.example]));
    }
    Ok(report)
}

/// What a shape is asked for.
struct Asked {
    /// Among the examples and their mirror images.
    example: usize,
    /// Vertices, with what the base leaves there.
    moved: Vec<(u32, DVec3)>,
}

impl Asked {
    /// e of its vertices, from a model whose layer has no displacements yet.
    fn displacements(&self, rest: &[DVec3], model: &Joints, transforms: &BoneTransforms, strength: f64) -> Vec<DVec3> {
        let mut pose = JointPose::default();
        pose.prepare(model, transforms);
        let of = |&(v, y): &(u32, DVec3)| {
            let (smooth, carrier) = model.without_ball(v as usize, rest[v as usize], &pose);
            pull_back(carrier, y - smooth).0 * strength
        };
        self.moved.iter().map(of).collect()
    }

    /// How far the model stays from it in its pose, at most, metres.
    fn left(&self, rest: &[DVec3], model: &Joints, transforms: &BoneTransforms) -> f64 {
        let mut pose = JointPose::default();
        pose.prepare(model, transforms);
        let of = |&(v, y): &(u32, DVec3)| model.at(v as usize, rest[v as usize], &pose).0.distance(y);
        self.moved.iter().map(of).fold(0.0, f64::max)
    }
}

/// Puts the displacements of every shape beside the terms of its vertices, which are in the order of the shapes.
fn fill(layer: &mut CompiledShapes, asked: &[Asked], displacements: &[Vec<DVec3>]) {
    let mut next: Vec<usize> = layer.terms.offsets().iter().map(|&at| at as usize).collect();
    for (asked, displacements) in asked.iter().zip(displacements) {
        for ((v, _), e) in asked.moved.iter().zip(displacements) {
            layer.displacements[next[*v as usize]] = *e;
            next[*v as usize] += 1;
        }
    }
}

/// d of another example, or of the bind pose, from a sculpt's pose.
fn distance(space: &Space<'_>, sculpt: &Sculpt, other: Option<u32>) -> f64 {
    space.distance_squared(&relevance(sculpt), sculpt.example, other).sqrt()
}

/// The drivers of a sculpt, which count alike.
fn relevance(sculpt: &Sculpt) -> Vec<(u32, f64)> {
    sculpt.drivers.iter().map(|&j| (j, 1.0)).collect()
}

/// The sculpts and their mirror images: what they touched, with what the base leaves there.
fn sculpts(
    training: &Training<'_>,
    space: &Space<'_>,
    weights: &Influences,
    mirror: Option<&Mirror>,
    names: &[String],
    report: &mut LayerReport,
) -> Result<Vec<Sculpt>, FitError> {
    let count = training.examples.len();
    let mut all: Vec<Vec<(u32, DVec3)>> = (0..count)
        .map(|s| {
            let touched = touched(training, s).into_iter().enumerate().filter(|(_, touched)| *touched);
            touched.map(|(v, _)| (v as u32, training.residual(s, v))).collect()
        })
        .collect();
    if let Some(mirror) = mirror {
        for s in 0..count {
            let of: BTreeMap<u32, DVec3> = all[s].iter().copied().collect();
            let partner = |(v, partner): (u32, &Option<u32>)| Some((v, mirror.vector(*of.get(&(*partner)?)?)));
            all.push((0u32..).zip(&mirror.vertices).filter_map(partner).collect());
        }
    }
    // Of sculpts in the same pose the later one holds where it touched.
    let numbers = pose_numbers(training.examples.iter().map(|e| &e.transforms), training.unit());
    for s in 0..count {
        for later in (s + 1..count).filter(|&t| numbers[t] == numbers[s]) {
            let held: Vec<u32> = all[later].iter().map(|(v, _)| *v).collect();
            all[s].retain(|(v, _)| held.binary_search(v).is_err());
            if mirror.is_some() {
                let held: Vec<u32> = all[count + later].iter().map(|(v, _)| *v).collect();
                all[count + s].retain(|(v, _)| held.binary_search(v).is_err());
            }
        }
    }
    let mut made = Vec::new();
    for (s, moved) in all.into_iter().enumerate() {
        // Where the base is right all touched skin counts alike.
        let still = moved.iter().all(|(_, y)| y.length() <= UNTOUCHED * training.unit());
        let alike: Vec<(u32, DVec3)> = moved.iter().map(|(v, _)| (*v, DVec3::X)).collect();
        let counted = if still { &alike } else { &moved };
        let drivers = drivers(space, weights, s, counted);
        if moved.is_empty() || (still && drivers.is_empty()) {
            report.without.extend(names.get(s).cloned());
            continue;
        }
        if drivers.is_empty() {
            return Err(FitError::NoDriver { example: names[s % count].clone() });
        }
        made.push(Sculpt { example: s as u32, moved, drivers });
    }
    Ok(made)
}

/// How two sculpts stand to each other where their touched skin meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meeting {
    /// Not at all.
    No,
    /// In different poses: the weight of each ends where the other is.
    Apart,
    /// The first gives way to the second.
    GivesWay,
    /// The second gives way to the first.
    Holds,
    /// Both are own sculpts, or both are images, in one pose.
    Alike,
    /// As [`Meeting::Apart`], by the joints of the second alone.
    Hidden,
}

fn meetings(space: &Space<'_>, sculpts: &[Sculpt], own: usize) -> Vec<Vec<Meeting>> {
    let touched: Vec<Vec<u32>> = sculpts.iter().map(|s| s.moved.iter().map(|(v, _)| *v).collect()).collect();
    let meets = |a: usize, b: usize| touched[a].iter().any(|v| touched[b].binary_search(v).is_ok());
    let from_rest: Vec<f64> = sculpts.iter().map(|sculpt| distance(space, sculpt, None)).collect();
    let of = |a: usize, b: usize| {
        if a == b || !meets(a, b) {
            return Meeting::No;
        }
        let is_own = |at: usize| (sculpts[at].example as usize) < own;
        let near = |of: usize, other: usize, share: f64| {
            distance(space, &sculpts[of], Some(sculpts[other].example)) < share * from_rest[of]
        };
        match (is_own(a), is_own(b)) {
            (true, false) if near(a, b, GIVES_WAY) => Meeting::Holds,
            (false, true) if near(b, a, GIVES_WAY) => Meeting::GivesWay,
            _ => match (near(a, b, ALIKE), near(b, a, ALIKE)) {
                (true, true) => Meeting::Alike,
                (true, false) => Meeting::Hidden,
                _ => Meeting::Apart,
            },
        }
    };
    (0..sculpts.len()).into_par_iter().map(|a| (0..sculpts.len()).map(|b| of(a, b)).collect()).collect()
}

/// The shapes with their weights and windows, without displacements, and what each is asked for.
fn shapes(
    training: &Training<'_>,
    space: &Space<'_>,
    mut sculpts: Vec<Sculpt>,
    names: &[String],
    poses: &[&BoneTransforms],
    report: &mut LayerReport,
) -> Result<(CompiledShapes, Vec<Asked>), FitError> {
    let own = training.examples.len();
    let meetings = meetings(space, &sculpts, own);
    let touched: Vec<BTreeMap<u32, DVec3>> = sculpts.iter().map(|s| s.moved.iter().copied().collect()).collect();
    let meetings = &meetings;
    let with = |a: usize, how: Meeting| (0..meetings.len()).filter(move |&b| meetings[a][b] == how);
    for a in 0..sculpts.len() {
        for b in with(a, Meeting::GivesWay) {
            sculpts[a].moved.retain(|(v, _)| !touched[b].contains_key(v));
        }
        for b in with(a, Meeting::Alike).filter(|&b| b > a && (sculpts[b].example as usize) < own) {
            let both = touched[a].iter().filter_map(|(v, y)| Some(y.distance(*touched[b].get(v)?)));
            let most = both.fold(0.0, f64::max);
            if most > NAMED * training.unit() {
                let name = |at: usize| names[sculpts[at].example as usize].clone();
                report.apart.push((name(a), name(b), most));
            }
        }
    }
    let mut shapes = CompiledShapes {
        kernel: space.clone().kernel(1.0, Family::Gaussian, false),
        regions: vec![0],
        coefficients: vec![],
        carrier: Carrier::World,
        terms: Rows::default(),
        displacements: vec![],
        radii: vec![],
        names: vec![],
        clamp: Some([0.0, 1.0]),
        windows: vec![],
    };
    let mut of_vertex: Vec<Vec<(u32, DVec3)>> = vec![Vec::new(); training.rest.len()];
    let mut all = Vec::new();
    for (a, sculpt) in sculpts.iter().enumerate() {
        let s = sculpt.example as usize;
        if sculpt.moved.is_empty() {
            report.without.extend(names.get(s).cloned());
            continue;
        }
        let hidden = with(a, Meeting::Hidden).map(|b| &sculpts[b]);
        let others: Vec<u32> = with(a, Meeting::Apart).map(|b| sculpts[b].example).collect();
        let group = around(space, sculpt, hidden.collect(), &others);
        let cardinal = group.cardinal(space, Family::Gaussian)?;
        shapes.kernel.push(&group.relevance, &group.centres).map_err(of_table("the kernel"))?;
        shapes.coefficients.extend((0..group.centres.len()).map(|t| cardinal[(t, 0)]));
        shapes.windows.push(window(space, sculpt, &group));
        let name = match s < own {
            true => names[s].clone(),
            false => unique(&format!("{}.mirrored", names[s - own]), &shapes.names),
        };
        let shape = shapes.names.len() as u32;
        sculpt.moved.iter().for_each(|(v, _)| of_vertex[*v as usize].push((shape, DVec3::ZERO)));
        let named = Group { relevance: relevance(sculpt), ..group };
        let (joints, channels) = named.drivers(space, s, poses[s]);
        let lengths = sculpt.moved.iter().map(|(_, y)| y.length());
        report.shapes.push(Corrective {
            name: name.clone(),
            joints,
            channels,
            sigma: named.sigma,
            vertices: sculpt.moved.len(),
            largest: lengths.fold(0.0, f64::max),
            left: None,
        });
        shapes.names.push(name);
        shapes.regions.push(shapes.names.len() as u32);
        all.push(Asked { example: s, moved: sculpt.moved.clone() });
    }
    (shapes.terms, shapes.displacements) = terms_of(of_vertex)?;
    Ok((shapes, all))
}

/// The group of a sculpt, the first centre, with the poses where its weight is zero. Sculpts whose pose the joints of this one do not
/// tell from its own bring theirs.
fn around<'a>(space: &Space<'_>, of: &'a Sculpt, hidden: Vec<&Sculpt>, others: &[u32]) -> Group<'a> {
    let brought = hidden.iter().flat_map(|other| other.drivers.iter().copied());
    let joints: BTreeSet<u32> = of.drivers.iter().copied().chain(brought).collect();
    let alike: Vec<(u32, f64)> = joints.iter().map(|&j| (j, 1.0)).collect();
    let from_rest = |s: u32| space.distance_squared(&alike, s, None).sqrt();
    let others = hidden.iter().map(|other| other.example).chain(others.iter().copied());
    let mut centres = vec![of.example];
    for s in others.filter(|&s| from_rest(s) > AT_REST) {
        let near = |&t: &u32| space.distance_squared(&alike, s, Some(t)).sqrt() <= ALIKE * from_rest(of.example);
        if !centres.iter().any(near) {
            centres.push(s);
        }
    }
    let sigma = centres.iter().map(|&s| from_rest(s)).fold(0.0, f64::max);
    let relevance = joints.iter().map(|&j| (j, sigma.powi(-2))).collect();
    Group { sculpts: vec![of], relevance, sigma, centres, merged: vec![] }
}

/// Where a sculpt may show: nearer to its pose than the bind pose is.
fn window(space: &Space<'_>, of: &Sculpt, group: &Group<'_>) -> Window {
    let from_rest = distance(space, of, None).powi(2);
    let share = |(j, _): &(u32, f64)| f64::from(u8::from(of.drivers.contains(j))) / from_rest;
    Window { centre: 0, relevance: group.relevance.iter().map(share).collect() }
}
