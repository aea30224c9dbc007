//! Correctives: a shape per sculpt, with one weight that the joints of its pose drive.
//!
//! ```text
//! d_v(x) = Σ_s c_s(x) D_sv,      c_s(x) = clamp( Σ_t A_st k_g(x, x_t), 0, 1 ) w_s(x),      A = (K_g + ρ)⁻¹
//! w_s(x) = 1 − smoothstep( (r_s − ¾)/¼ ),      r_s = |x − x_s|_s / |x_s|_s
//! ```
//!
//! D_sv is the displacement that takes the base to sculpt s at vertex v. c_s is one in the pose of s, zero in the poses of the
//! other sculpts of its group g, at the bind pose and in the poses of examples that the base shows already, and the same for all vertices, so that an engine has D_s as one morph
//! target with the sculpt's name.
//!
//! **Windows.** w_s ends a sculpt's weight where a pose is as far from the sculpt's as the bind pose is, in the joints |·|_s that
//! drive it. So a sculpt shows on its own side of the bind pose alone, whatever the other sculpts of its group are: the
//! coefficients A of two sculpts at 60° and 90° differ in sign, and without a window the second one shows at −45° by 0.42.
//!
//! **Drivers.** The joints that drive a sculpt are those that turned in its pose and blend the skin it moved. Joint j of bones a
//! and b scores
//!
//! ```text
//! |x_sj|² Σ_v |D_sv|² 4 w_av w_bv / Σ_v |D_sv|²
//! ```
//!
//! and counts from a fifth of the largest score. Where the sculpt moved skin that no joint blends, the joints near it by the
//! influence maps score; where none of those turned, any that did. So a pose taken from a shot, in which every joint turns a
//! little, drives a sculpt of the elbow by the elbow alone.
//!
//! **Swing and twist.** By default the swing and the twist of a joint are drivers apart ([`Driver::Found`]): a sculpt of a bent
//! elbow is driven by its bend, whichever way the forearm is twisted, until a sculpt of the group tells of the twist.
//!
//! **Groups.** Sculpts that share a driver, or move the same skin by more than 1e-4 rest diagonals, form a group and are
//! compared by the joints of all of them. Sculpts in one pose of their group have one weight; where they move the same vertex,
//! it takes their mean.
//!
//! **Falloff.** σ of a group is the largest |x_s| in it: the weight of a lone sculpt at 90° is 0.55 at 45°, 0.92 at 120°, and
//! zero where the joint turns by 90° about a perpendicular axis: there its window closes. Beyond 1.25 times its largest chord the guard holds a joint.
//!
//! Source: Lewis, Cordner & Fong 2000; the bounds, the windows, the drivers and the groups are ours.

use super::displacements::Displacements;
use super::eigenskin::terms_of;
use super::space::Space;
use super::{ChannelSetting, EXACT, PsdSettings, Singular, UNMOVED, UNTOUCHED, check, radii};
use crate::training::{FitError, Progress, Training, of_table};
use dermis_deform::Base;
use dermis_deform::pose_space::{Carrier, CompiledShapes, Coordinates, Family, JointPart, Window};
use dermis_rig::glam::{DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mirror, Rows, VertexIndex};
use dermis_solve::Interpolation;
use dermis_solve::faer::Mat;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Share of the largest score from which a joint drives a sculpt.
const DRIVES: f64 = 0.2;
/// Share of a sculpt's squared displacements that must lie near a joint before nearness says anything.
const NEAR: f64 = 0.02;
/// Displacements of two sculpts at a vertex, in rest diagonals, beyond which they are compared with each other.
const SHARED: f64 = 1e-4;
/// Poses of a group, in its σ, that are one: as files round.
const ALIKE: f64 = 1e-6;

/// What of a joint's rotation drives sculpts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// Its swing and its twist apart, each where sculpts turned it.
    #[default]
    Found,
    /// Its swing alone.
    Swing,
    /// Its twist alone.
    Twist,
    /// The whole rotation.
    Both,
}

impl Driver {
    /// The coordinates that a fit compares poses by, and the parts of each joint among them. `None` where coordinates have no parts.
    pub fn coordinates(self, coordinates: Coordinates) -> Option<(Coordinates, Vec<JointPart>)> {
        let apart = match coordinates {
            // A chord's swing and twist have the lengths of its own where the other is zero.
            Coordinates::Chord => Coordinates::SwingTwist { swing: 1.0, twist: 1.0 },
            other => other,
        };
        let has_parts = matches!(apart, Coordinates::SwingTwist { .. });
        match self {
            Self::Found if has_parts => Some((apart, vec![JointPart::Swing, JointPart::Twist])),
            Self::Found | Self::Both => Some((coordinates, vec![JointPart::Whole])),
            Self::Swing => has_parts.then_some((apart, vec![JointPart::Swing])),
            Self::Twist => has_parts.then_some((apart, vec![JointPart::Twist])),
        }
    }
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectiveSettings {
    /// What a joint's rotation becomes before poses are compared.
    pub coordinates: Coordinates,
    /// What of a joint's rotation drives sculpts.
    pub driver: Driver,
    /// Channels of the poses that may drive sculpts, too.
    pub channels: Vec<ChannelSetting>,
    /// The kernel.
    pub family: Family,
    /// σ of every group; `None` takes the largest |x_s| of each.
    pub sigma: Option<f64>,
    /// The symmetry by which every sculpt has an image on the other side, if any.
    pub mirror: Option<Mirror>,
    /// Whether the guard acts: welding, limits and the ball.
    pub guard: bool,
}

/// A sculpt as a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrective {
    /// Its name: that of the example, made unique.
    pub name: String,
    /// The joints that drive it and its group.
    pub joints: Vec<Driving>,
    /// The channels that drive it.
    pub channels: Vec<String>,
    /// σ of its group.
    pub sigma: f64,
    /// Vertices that it moves.
    pub vertices: usize,
    /// How far, at most, metres.
    pub largest: f64,
    /// How far the model stays from the sculpt in its pose, at most, metres; of a mirror image nothing is known.
    pub left: Option<f64>,
}

/// A joint that drives a sculpt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driving {
    /// The bone it is seen from.
    pub from: BoneIndex,
    /// The bone.
    pub to: BoneIndex,
    /// What of its rotation drives.
    pub part: JointPart,
    /// By how many radians that is turned in the sculpt's pose.
    pub angle: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectivesReport {
    /// The shapes, in their order in the model.
    pub shapes: Vec<Corrective>,
    /// Sculpts without a shape, because the base shows them already; in their poses every weight is zero.
    pub without: Vec<String>,
    /// Groups of sculpts that are compared with each other.
    pub groups: usize,
    /// (vertex, sculpt) pairs where the base's linear part is nearly singular, so that its inverse was damped.
    pub damped: usize,
}

/// Fits a shape per example that the base does not show.
///
/// `maps` say which joints are near a vertex that no joint blends.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite or out of range, an example in a pose in which nothing
/// moves ([`FitError::NoDriver`]).
pub fn fit_correctives(
    training: &Training<'_>,
    base: &Base,
    maps: &Influences,
    settings: &CorrectiveSettings,
    progress: Progress<'_>,
) -> Result<(CompiledShapes, CorrectivesReport), FitError> {
    let Some((coordinates, parts)) = settings.driver.coordinates(settings.coordinates) else {
        return Err(FitError::NoParts);
    };
    let space_settings = PsdSettings {
        coordinates,
        parts,
        channels: settings.channels.clone(),
        family: Some(settings.family),
        sigma: settings.sigma,
        smoothing: Some(EXACT),
        guard: settings.guard,
        ..PsdSettings::new(false)
    };
    check(training, std::slice::from_ref(maps), &space_settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let weights = match base {
        Base::Rigid(weights) | Base::Lbs(weights) | Base::Dqs(weights, _) => weights,
        _ => maps,
    };
    let carrier = match base {
        Base::Given => {
            let dominant = |v| maps.dominant(v).unwrap_or(BoneIndex::new(0));
            Carrier::Bones((0..training.rest.len()).map(dominant).collect())
        }
        _ => Carrier::Base,
    };
    let (unit, mirror) = (training.unit(), settings.mirror.as_ref());
    let untouched = Some(UNTOUCHED * unit);
    let asked =
        Displacements::new(training, base, &carrier, weights, Singular::Remainder, untouched, mirror, progress)?;
    let own = || training.examples.iter().map(|e| &e.transforms);
    let images: Vec<BoneTransforms> = mirror.iter().flat_map(|mirror| own().map(|pose| mirror.pose(pose))).collect();
    let poses: Vec<&BoneTransforms> = own().chain(&images).collect();
    let space = Space::new(training, &poses, maps, weights, &space_settings);

    let mut report = CorrectivesReport { shapes: vec![], without: vec![], groups: 0, damped: asked.damped };
    let names = names(training);
    let (mut sculpts, mut still) = (Vec::new(), Vec::new());
    for (s, displacements) in asked.all.iter().enumerate() {
        let moved: Vec<(u32, DVec3)> = (0u32..)
            .zip(displacements)
            .filter(|(_, d)| d.length() >= UNMOVED * unit) // NaN, of vertices it says nothing of, is not
            .map(|(v, d)| (v, *d))
            .collect();
        if moved.is_empty() {
            still.push(s as u32);
            report.without.extend(names.get(s).cloned());
            continue;
        }
        let drivers = drivers(&space, weights, s, &moved);
        if drivers.is_empty() {
            return Err(FitError::NoDriver { example: names[s % names.len()].clone() });
        }
        sculpts.push(Sculpt { example: s as u32, moved, drivers });
    }
    let groups = groups(&sculpts, SHARED * unit);
    report.groups = groups.len();
    let mut shapes = CompiledShapes {
        kernel: space.clone().kernel(1.0, settings.family, false),
        regions: vec![0],
        coefficients: vec![],
        carrier,
        terms: Rows::default(),
        displacements: vec![],
        radii: if settings.guard { radii(training, mirror) } else { vec![] },
        names: vec![],
        clamp: Some([0.0, 1.0]),
        windows: vec![],
    };
    let mut of_vertex: Vec<Vec<(u32, DVec3)>> = vec![Vec::new(); training.rest.len()];
    let mut example_of = Vec::new();
    for group in &groups {
        let group = Group::new(&space, group.iter().map(|&at| &sculpts[at]).collect(), &still, settings);
        let a = group.cardinal(&space, settings.family)?;
        shapes.kernel.push(&group.relevance, &group.centres).map_err(of_table("the kernel"))?;
        for (sculpt, row) in group.rows() {
            let shape = shapes.names.len() as u32;
            shapes.coefficients.extend((0..group.centres.len()).map(|t| a[(t, row)]));
            shapes.windows.push(group.window(&space, sculpt, row));
            let share = group.shares(row);
            sculpt.moved.iter().for_each(|&(v, d)| of_vertex[v as usize].push((shape, d * share[&v])));
            let s = sculpt.example as usize;
            let name = match s < names.len() {
                true => names[s].clone(),
                false => unique(&format!("{}.mirrored", names[s - names.len()]), &shapes.names),
            };
            let (joints, channels) = group.drivers(&space, s, poses[s]);
            let lengths = sculpt.moved.iter().map(|(_, d)| d.length());
            report.shapes.push(Corrective {
                name: name.clone(),
                joints,
                channels,
                sigma: group.sigma,
                vertices: sculpt.moved.len(),
                largest: lengths.fold(0.0, f64::max),
                left: None,
            });
            shapes.names.push(name);
            example_of.push(s);
        }
        shapes.regions.push(shapes.names.len() as u32);
    }
    (shapes.terms, shapes.displacements) = terms_of(of_vertex)?;
    let left = left(training, base, &shapes);
    for (shape, s) in report.shapes.iter_mut().zip(example_of) {
        shape.left = left.get(s).copied();
    }
    Ok((shapes, report))
}

/// A sculpt with the joints that drive it.
pub(super) struct Sculpt {
    /// Among the examples and their mirror images.
    pub example: u32,
    /// The vertices that it moves.
    pub moved: Vec<(u32, DVec3)>,
    /// Joints, and channels counted after them.
    pub drivers: Vec<u32>,
}

/// The labels of the examples, with a number where one occurs again.
pub(super) fn names(training: &Training<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for example in training.examples {
        let label = if example.label.is_empty() { "sculpt" } else { &example.label };
        names.push(unique(label, &names));
    }
    names
}

/// The name, with the first number that makes it another than those taken.
pub(super) fn unique(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name}.{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

/// The joints and channels that drive a sculpt: none if nothing moved in its pose.
pub(super) fn drivers(space: &Space<'_>, weights: &Influences, s: usize, moved: &[(u32, DVec3)]) -> Vec<u32> {
    let count = space.joints.len();
    let turned: Vec<f64> = (0..count + space.channels.len()).map(|j| space.square_of(j, s as u32, None)).collect();
    let total: f64 = moved.iter().map(|(_, d)| d.length_squared()).sum();
    let (mut blended, mut near) = (vec![0.0; turned.len()], vec![0.0; turned.len()]);
    for &(v, d) in moved {
        let share = d.length_squared() / total;
        let mut of_bone: BTreeMap<BoneIndex, f64> = BTreeMap::new();
        for &(bone, w) in weights.of(v as usize) {
            *of_bone.entry(space.top[bone.get()]).or_default() += w;
        }
        let of = |bone: BoneIndex| of_bone.get(&bone).copied().unwrap_or(0.0);
        for (joint, blended) in space.joints.iter().zip(&mut blended) {
            *blended += share * 4.0 * of(joint.parent) * of(joint.bone);
        }
        space.relevance_of(v as usize).for_each(|(j, a)| near[j as usize] += share * a);
    }
    // Channels count for every vertex.
    blended[count..].fill(1.0);
    let anywhere = vec![1.0; turned.len()];
    for shares in [blended, near, anywhere] {
        let score = |j: usize| if shares[j] >= NEAR { shares[j] * turned[j] } else { 0.0 };
        let most = (0..turned.len()).map(score).fold(0.0, f64::max);
        // Less than the thousandth of a radian is how files round.
        if most > 1e-6 {
            return (0..turned.len()).filter(|&j| score(j) >= DRIVES * most).map(|j| j as u32).collect();
        }
    }
    vec![]
}

/// Sculpts that share a driver, or move a vertex both by more than `shared`.
fn groups(sculpts: &[Sculpt], shared: f64) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..sculpts.len()).collect();
    let mut join = |a: usize, b: usize| {
        let (a, b) = (group[a].min(group[b]), group[a].max(group[b]));
        group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
    };
    let (mut by_driver, mut by_vertex): (BTreeMap<u32, usize>, BTreeMap<u32, usize>) = Default::default();
    for (at, sculpt) in sculpts.iter().enumerate() {
        for &j in &sculpt.drivers {
            join(at, *by_driver.entry(j).or_insert(at));
        }
        for (v, _) in sculpt.moved.iter().filter(|(_, d)| d.length() > shared) {
            join(at, *by_vertex.entry(*v).or_insert(at));
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    group.iter().enumerate().for_each(|(at, &of)| groups.entry(of).or_default().push(at));
    groups.into_values().collect()
}

/// Sculpts that are compared with each other.
pub(super) struct Group<'a> {
    pub sculpts: Vec<&'a Sculpt>,
    /// The joints and channels that compare poses, each with its share over σ².
    pub relevance: Vec<(u32, f64)>,
    pub sigma: f64,
    /// The first example of each distinct pose, those that the base shows already among them: there every weight is zero.
    pub centres: Vec<u32>,
    /// The examples in each of these poses.
    pub merged: Vec<Vec<u32>>,
}

impl<'a> Group<'a> {
    fn new(space: &Space<'_>, sculpts: Vec<&'a Sculpt>, still: &[u32], settings: &CorrectiveSettings) -> Self {
        let joints: BTreeSet<u32> = sculpts.iter().flat_map(|sculpt| sculpt.drivers.iter().copied()).collect();
        let alike: Vec<(u32, f64)> = joints.iter().map(|&j| (j, 1.0)).collect();
        let squares = sculpts.iter().map(|sculpt| space.distance_squared(&alike, sculpt.example, None));
        let sigma = settings.sigma.unwrap_or(squares.fold(0.0, f64::max).sqrt());
        // The kernel of all groups has a σ of one: that of a group is in the relevance of its joints.
        let relevance: Vec<(u32, f64)> = joints.iter().map(|&j| (j, sigma.powi(-2))).collect();
        let members: HashSet<u32> = sculpts.iter().map(|sculpt| sculpt.example).chain(still.iter().copied()).collect();
        let others: Vec<u32> = (0..space.examples.len() as u32).filter(|s| !members.contains(s)).collect();
        let (centres, merged) = space.merge(&relevance, &others, ALIKE);
        Self { sculpts, relevance, sigma, centres, merged }
    }

    /// The sculpts with the place of their pose among the centres.
    fn rows(&self) -> impl Iterator<Item = (&'a Sculpt, usize)> + '_ {
        (0..self.merged.len()).flat_map(move |row| {
            let here = move |sculpt: &&&Sculpt| self.merged[row].contains(&sculpt.example);
            self.sculpts.iter().filter(here).map(move |sculpt| (*sculpt, row))
        })
    }

    /// One over the number of sculpts in one pose that move a vertex.
    fn shares(&self, row: usize) -> BTreeMap<u32, f64> {
        let mut count: BTreeMap<u32, f64> = BTreeMap::new();
        let here = self.rows().filter(|(_, of)| *of == row);
        here.flat_map(|(sculpt, _)| &sculpt.moved).for_each(|(v, _)| *count.entry(*v).or_default() += 1.0);
        count.into_iter().map(|(v, n)| (v, 1.0 / n)).collect()
    }

    /// (K + ρ)⁻¹ of the centres: column r makes a weight that is one at centre r and zero at the others.
    pub fn cardinal(&self, space: &Space<'_>, family: Family) -> Result<Mat<f64>, FitError> {
        let squares =
            |s: u32, t: Option<u32>| self.relevance.iter().map(move |&(j, a)| a * space.square_of(j as usize, s, t));
        let centres = &self.centres;
        let at_rest: Vec<f64> = centres.iter().map(|&s| family.phi(squares(s, None))).collect();
        let kernel = Mat::from_fn(centres.len(), centres.len(), |i, k| {
            family.conditioned(family.phi(squares(centres[i], Some(centres[k]))), at_rest[i], at_rest[k])
        });
        let vertex = VertexIndex::new(self.sculpts[0].moved[0].0 as usize);
        let failed = |source| FitError::Solve { vertex, source };
        let solved = Interpolation::new(kernel.as_ref(), &vec![EXACT; centres.len()]).map_err(failed)?;
        Ok(solved.weights(Mat::identity(centres.len(), centres.len()).as_ref()))
    }

    /// Where a sculpt may show: nearer to its pose, by its own drivers, than the bind pose is.
    fn window(&self, space: &Space<'_>, sculpt: &Sculpt, row: usize) -> Window {
        let own = |j: u32| f64::from(u8::from(sculpt.drivers.contains(&j)));
        let alike: Vec<(u32, f64)> = self.relevance.iter().map(|&(j, _)| (j, own(j))).collect();
        let of_rest = space.distance_squared(&alike, self.centres[row], None);
        Window { centre: row as u32, relevance: alike.iter().map(|(_, b)| b / of_rest).collect() }
    }

    /// The joints of the group with their angles in the pose of example `s`, and its channels.
    pub fn drivers(&self, space: &Space<'_>, s: usize, pose: &BoneTransforms) -> (Vec<Driving>, Vec<String>) {
        let (joints, channels): (Vec<usize>, Vec<usize>) =
            self.relevance.iter().map(|r| r.0 as usize).partition(|&j| j < space.joints.len());
        let turned = |j: usize| {
            let joint = &space.joints[j];
            // Of a part the coordinate is a chord, in its scale.
            let chord = |scale: f64| 2.0 * (space.square_of(j, s as u32, None).sqrt() / (2.0 * scale)).min(1.0).asin();
            let angle = match (space.coordinates(), joint.part) {
                (Coordinates::SwingTwist { swing, .. }, JointPart::Swing) => chord(swing),
                (Coordinates::SwingTwist { twist, .. }, JointPart::Twist) => chord(twist),
                _ => angle(pose, joint.parent, joint.bone),
            };
            Driving { from: joint.parent, to: joint.bone, part: joint.part, angle }
        };
        let name = |j: usize| space.channels[j - space.joints.len()].name.clone();
        (joints.into_iter().map(turned).collect(), channels.into_iter().map(name).collect())
    }
}

/// How far a bone is turned from another, against the bind pose, radians.
fn angle(pose: &BoneTransforms, from: BoneIndex, to: BoneIndex) -> f64 {
    let turn = |bone: BoneIndex| {
        let (_, turn, _) = pose[bone].to_scale_rotation_translation();
        turn
    };
    let relative: DQuat = turn(from).inverse() * turn(to);
    2.0 * relative.w.abs().min(1.0).acos()
}

/// How far the model stays from each example in its pose, at most, metres.
pub(super) fn left(training: &Training<'_>, base: &Base, shapes: &CompiledShapes) -> Vec<f64> {
    let (mut base, mut skin) = (base.clone(), vec![DVec3::ZERO; training.rest.len()]);
    let mut of = |s: usize| {
        let example = &training.examples[s];
        base.evaluate(training.rest, &example.transforms, Some(&training.base_pose(s)), &mut skin);
        shapes.add(training.rest, &example.transforms, &base, &mut skin);
        skin.iter().zip(&example.positions).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
    };
    (0..training.examples.len()).map(&mut of).collect()
}
