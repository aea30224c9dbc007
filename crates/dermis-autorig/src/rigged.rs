//! The whole way, from a mesh and a template to a skeleton with weights.

use crate::body::{Body, Mended};
use crate::confidence::{Evidence, Limb, Verdict, confidence, verdict};
use crate::embed::{Embedding, SPREAD, Search};
use crate::field::Field;
use crate::frame::{Frame, frames};
use crate::graph::Graph;
use crate::medial::balls;
use crate::penalties::Penalties;
use crate::place::{Places, place};
use crate::symmetry::Symmetry;
use crate::template::{Frames, LandmarkKind, Reduced, Template};
use crate::weigh::{Weighed, weigh};
use crate::winding::{Effort, Spent};
use dermis_motion::anatomy::{Part, Side};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, MeshError, Progress, Skeleton};
use rayon::prelude::*;

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoRigSettings {
    /// The direction that is up, in the mesh's own space.
    pub up: DVec3,
    /// The direction that the character faces, if it is known.
    pub front: Option<DVec3>,
    /// Joints whose place is known, in the mesh's own space, by their names in the template.
    pub pins: Vec<(String, DVec3)>,
    /// How penalties are weighed.
    pub penalties: Penalties,
    /// The most influences of a vertex.
    pub influences: usize,
}

impl Default for AutoRigSettings {
    fn default() -> Self {
        Self { up: DVec3::Y, front: None, pins: Vec::new(), penalties: Penalties::default(), influences: 4 }
    }
}

/// A rigged mesh.
#[derive(Clone, Debug)]
pub struct AutoRig {
    /// The skeleton, with the names of the template. Y of a bone's frame runs along it.
    pub skeleton: Skeleton,
    /// Weights for every vertex.
    pub weights: Influences,
    /// The joints as they were found, in the order of the skeleton.
    pub joints: Vec<FoundJoint>,
    /// What was found out.
    pub report: AutoRigReport,
}

/// A joint as it was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundJoint {
    /// Its name.
    pub name: String,
    /// Its place, in the mesh's own space.
    pub place: DVec3,
    /// The end of its bone, where that ends the shape.
    pub end: Option<DVec3>,
    /// The chance that it lies within a tenth of its limb of where a rigger puts it; 1 if the user pinned it. `None` of a template that is not
    /// calibrated: all but the built-in biped.
    pub confidence: Option<f64>,
    /// The trust in it, in a word.
    pub verdict: Verdict,
    /// What its confidence is made from; `None` of a template that is not calibrated.
    pub evidence: Option<Evidence>,
    /// How far it moves between the best embeddings: the standard deviation, in parts of the body's largest side.
    pub spread: f64,
}

impl FoundJoint {
    /// Whether its place is sure: by the calibration, or because the user said it.
    pub fn is_sure(&self) -> bool {
        matches!(self.verdict, Verdict::Pinned | Verdict::Sure)
    }
}

/// What a caller learns.
#[derive(Clone, Debug)]
pub struct AutoRigReport {
    /// What was mended in the mesh.
    pub mended: Mended,
    /// Balls of the medial graph.
    pub balls: usize,
    /// Joins of the graph that leave the body.
    pub bridges: usize,
    /// The plane of symmetry, if the template has sides.
    pub symmetry: Option<f64>,
    /// The stance of the template that fits best.
    pub stance: String,
    /// The direction that the character faces, in the mesh's own space.
    pub front: DVec3,
    /// How sure that is: 0.5 if the best embedding that faces another way is as good, 1 if there is none.
    pub facing: f64,
    /// The direction that is up, in the mesh's own space.
    pub up: DVec3,
    /// The penalties of the best embeddings, best first.
    pub penalties: Vec<f64>,
    /// Joints of the template that the mesh does not have.
    pub missing: Vec<String>,
    /// How far the farthest point of a bone is outside the mesh, in parts of its largest side, and that bone.
    pub outside: Option<(String, f64)>,
    /// The weights.
    pub weighed: Weighed,
}

/// Why there is no rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AutoRigError {
    /// The mesh is unusable.
    #[error(transparent)]
    Mesh(MeshError),
    /// The direction of up has no direction.
    #[error("the direction that is up has no length")]
    Up,
    /// There is no volume.
    #[error("the mesh encloses no volume: {triangles} triangles with area")]
    Flat {
        /// Triangles with an area.
        triangles: usize,
    },
    /// No ball fits.
    #[error("the mesh has no inside that a bone could be in: only {balls} balls fit")]
    Hollow {
        /// Balls that fit.
        balls: usize,
    },
    /// Inside and outside cannot be told apart with bounded work.
    #[error(
        "the mesh is not the surface of a body: its triangles are so long, or so many in one place, that a point has {near} of them near it (in a body, a few dozen)"
    )]
    Tangled {
        /// Triangles near a point, in the mean.
        near: u64,
    },
    /// No embedding.
    #[error("the template {template} does not fit: the shape has {ends} ends, and the template needs {needed}")]
    NoFit {
        /// The template.
        template: String,
        /// Ends of the shape.
        ends: usize,
        /// Ends of the template.
        needed: usize,
    },
    /// A pin of a joint that the template does not have.
    #[error("the template {template} has no joint {joint:?}")]
    UnknownPin {
        /// The template.
        template: String,
        /// The joint.
        joint: String,
    },
    /// A pin that is nowhere.
    #[error("the place of joint {joint:?} is not finite")]
    PinNotFinite {
        /// The joint.
        joint: String,
    },
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// An invariant of this crate does not hold.
    #[error("a flaw of the program: {0}")]
    Internal(String),
}

impl From<Spent> for AutoRigError {
    fn from(Spent { near }: Spent) -> Self {
        Self::Tangled { near }
    }
}

/// Steps that progress counts before the weights.
const STEPS: u64 = 6;
/// Triangles that winding numbers may look at. A body of 27,000 triangles takes 36 million, an even torus of 300,000 takes 38 million; a soup of 3,000
/// would take 7,600 million.
pub(crate) const EFFORT: u64 = 400_000_000;
/// Embeddings of which all joints are placed, for their spread.
const SPREAD_OVER: usize = 5;
/// The penalty by which an embedding weighs 1/e of the best in the spread.
const HEAT: f64 = 0.25;
/// The sine of the angle up to which a bone lies in the plane of symmetry: bones to shoulders and hips leave it by 0.3 and more.
const IN_PLANE: f64 = 0.2;
/// How near the skin a keel lies, in the depth of its bone below the skin. At 1 the thighs of a fox tear its belly (an edge is stretched 4.3 times in a walk), at
/// 0.4 they do not (2.9); at 0 the heat of a bone that touches the skin has no bound.
const NEAR: f64 = 0.4;

/// Embeds a template in a mesh and weighs it.
///
/// # Errors
/// [`AutoRigError`].
pub fn autorig(
    mesh: &Mesh,
    template: &Template,
    settings: &AutoRigSettings,
    progress: Progress<'_>,
) -> Result<AutoRig, AutoRigError> {
    let step = |done: u64| if progress(done, 2 * STEPS).is_break() { Err(AutoRigError::Cancelled) } else { Ok(()) };
    step(0)?;
    let effort = Effort::new(EFFORT);
    let body = Body::new(mesh, settings.up, &effort)?;
    let pins = pins(template, settings, &body)?;
    step(1)?;
    let field = Field::new(&body, &effort)?;
    step(2)?;
    let balls = balls(&body, &field);
    if balls.len() < 4 {
        return Err(AutoRigError::Hollow { balls: balls.len() });
    }
    let symmetry = (template.frames == Frames::Upright).then(|| Symmetry::find(&body));
    step(3)?;
    let graph = Graph::new(balls, &field);
    step(4)?;
    let reduced = Reduced::new(template);
    let search = Search {
        template,
        reduced: &reduced,
        graph: &graph,
        symmetry,
        penalties: settings.penalties,
        ground: body.bounds.0.y,
        pinned: reduced.landmarks.iter().map(|l| pins[l.joint]).collect(),
    };
    let front = settings.front.map(|front| body.inwards(front) - body.inwards(DVec3::ZERO));
    let (found, tried) = embeddings(&search, &body, front);
    if found.is_empty() {
        let ends = graph.beyond.iter().filter(|b| **b < 1e-9).count();
        let needed = reduced.landmarks.iter().filter(|l| l.kind != LandmarkKind::Branch && !l.is_optional).count();
        return Err(AutoRigError::NoFit { template: template.name.clone(), ends, needed });
    }
    step(5)?;
    // Where joints are is asked of those that face as the best one does; which way it faces is a question of its own.
    let forward = |e: &Embedding| tried[e.frame].turn * DVec3::Z;
    let agrees = |e: &Embedding| forward(e).dot(forward(&found[0])) > 0.7;
    let heat = |e: &Embedding| (-(e.penalty - found[0].penalty) / HEAT).exp();
    let against = found.iter().filter(|e| !agrees(e)).map(heat).fold(0.0, f64::max);
    let found: Vec<Embedding> = found.iter().filter(|e| agrees(e)).cloned().collect();
    let placed: Vec<Places> =
        found.par_iter().take(SPREAD_OVER).map(|e| place(&search, e, &tried[e.frame], &field, &pins)).collect();
    step(6)?;
    let (skeleton, joints, segments) = skeleton(template, &body, &placed, &found, &pins, &tried[found[0].frame])?;
    let heated = keeled(&segments, &skeleton, &field, template, tried[found[0].frame].turn * DVec3::X);
    let weighing = |done: u64, total: u64| progress(STEPS * total.max(1) + STEPS * done, 2 * STEPS * total.max(1));
    let (weights, weighed) = weigh(&body, &heated, settings.influences, &weighing)?;
    let outside = segments
        .enumerate()
        .flat_map(|(bone, own)| own.iter().map(move |s| (bone, s)))
        .map(|(bone, [a, b])| {
            let least = (0..=16).map(|k| field.at(a.lerp(*b, f64::from(k) / 16.0))).fold(f64::INFINITY, f64::min);
            (skeleton.names()[bone].clone(), -least)
        })
        .filter(|(_, out)| *out > 0.0)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let missing = (0..template.joints.len()).filter(|j| placed[0].joints[*j].is_none());
    let report = AutoRigReport {
        mended: body.mended,
        balls: graph.len(),
        bridges: graph.bridges,
        symmetry: symmetry.map(|s| s.trust),
        stance: template.stances[found[0].stance].name.clone(),
        facing: 1.0 / (1.0 + against),
        front: body.direction_outwards(tried[found[0].frame].turn * DVec3::Z),
        up: settings.up.normalize(),
        penalties: found.iter().map(|e| e.penalty).collect(),
        missing: missing.map(|j| template.joints[j].name.clone()).collect(),
        outside,
        weighed,
    };
    Ok(AutoRig { skeleton, weights, joints, report })
}

/// Pins by joint, in the body's space.
fn pins(template: &Template, settings: &AutoRigSettings, body: &Body) -> Result<Vec<Option<DVec3>>, AutoRigError> {
    let mut pins = vec![None; template.joints.len()];
    for (joint, place) in &settings.pins {
        let at = template
            .find(joint)
            .ok_or_else(|| AutoRigError::UnknownPin { template: template.name.clone(), joint: joint.clone() })?;
        if !place.is_finite() {
            return Err(AutoRigError::PinNotFinite { joint: joint.clone() });
        }
        pins[at] = Some(body.inwards(*place));
    }
    Ok(pins)
}

/// The best embeddings over all frames and stances, best first, and the frames.
fn embeddings(search: &Search<'_>, body: &Body, front: Option<DVec3>) -> (Vec<Embedding>, Vec<Frame>) {
    let (mut tried, mut tasks) = (Vec::new(), Vec::new());
    for (at, stance) in search.template.stances.iter().enumerate() {
        for frame in frames(search.template, stance, body, &search.graph.balls, search.symmetry.as_ref(), front) {
            tasks.push((tried.len(), at));
            tried.push(frame);
        }
    }
    let all: Vec<Vec<Embedding>> =
        tasks.par_iter().map(|(frame, stance)| search.best(&tried[*frame], *frame, *stance, f64::INFINITY)).collect();
    let mut found: Vec<Embedding> = all.into_iter().flatten().collect();
    for embedding in &mut found {
        embedding.penalty += search.backward(embedding, &tried[embedding.frame]);
    }
    found.sort_by(|a, b| a.penalty.total_cmp(&b.penalty));
    let best = found.first().map_or(0.0, |e| e.penalty);
    found.retain(|e| e.penalty <= best + SPREAD);
    (found, tried)
}

/// The segments from which heat comes: bones of the trunk also have keels, which fill the trunk.
///
/// A spine lies high in a deep trunk, and the bones of the legs lie beside it: the belly is nearer to them, and would go with every step. A keel is the bone,
/// moved across itself within the plane until the skin ahead is at [`NEAR`] times its depth: each end by exit − NEAR · depth, to both sides. `side` is
/// the normal of the plane.
fn keeled(
    segments: &BoneVec<Vec<[DVec3; 2]>>,
    skeleton: &Skeleton,
    field: &Field,
    template: &Template,
    side: DVec3,
) -> BoneVec<Vec<[DVec3; 2]>> {
    let is_trunk = |bone: BoneIndex| {
        let found = template.joints.iter().find(|joint| joint.name == skeleton.names()[bone]);
        found.is_some_and(|joint| matches!(joint.part, Some(Part::Hips | Part::Spine | Part::Neck)))
    };
    let mut heated = segments.clone();
    for bone in skeleton.bones().filter(|bone| template.frames == Frames::Upright && is_trunk(*bone)) {
        for &[from, to] in &segments[bone] {
            let Some(along) = (to - from).try_normalize().filter(|along| along.dot(side).abs() < IN_PLANE) else {
                continue;
            };
            let Some(across) = along.cross(side).try_normalize() else { continue };
            for way in [across, -across] {
                let shifted = |p: DVec3| p + way * (field.exit(p, way, 1.0) - NEAR * field.at(p)).max(0.0);
                heated[bone].push([from, to].map(shifted));
            }
        }
    }
    heated
}

/// The skeleton, its joints, and the segments of its bones in the body's space.
fn skeleton(
    template: &Template,
    body: &Body,
    placed: &[Places],
    found: &[Embedding],
    pins: &[Option<DVec3>],
    frame: &Frame,
) -> Result<(Skeleton, Vec<FoundJoint>, BoneVec<Vec<[DVec3; 2]>>), AutoRigError> {
    let best = &placed[0];
    let kept: Vec<usize> = (0..template.joints.len()).filter(|j| best.joints[*j].is_some()).collect();
    let at = |j: usize| best.joints[j].unwrap_or(DVec3::ZERO);
    let number = |j: usize| kept.iter().position(|k| *k == j).map(BoneIndex::new);
    let heat: Vec<f64> = found.iter().map(|e| (-(e.penalty - found[0].penalty) / HEAT).exp()).collect();
    let is_calibrated = Template::named("biped").as_ref() == Some(template);
    let (mut names, mut parents, mut bind) = (Vec::new(), Vec::new(), Vec::new());
    let (mut joints, mut segments) = (Vec::new(), Vec::new());
    for &j in &kept {
        let children: Vec<usize> = kept.iter().copied().filter(|c| template.joints[*c].parent == Some(j)).collect();
        let ends: Vec<DVec3> = children.iter().map(|c| at(*c)).chain(best.ends[j]).collect();
        // A bone points to its own end, to the child in the middle, or between its children.
        let middle = children.iter().copied().find(|c| template.joints[*c].partner == *c).map(at);
        let mean = (!ends.is_empty()).then(|| ends.iter().sum::<DVec3>() / ends.len() as f64);
        let aim = best.ends[j].or(middle).or(mean).map_or(DVec3::ZERO, |p| p - at(j));
        let along = aim.try_normalize().unwrap_or(DVec3::Y);
        let forward = frame.turn * DVec3::Z;
        let side = along.cross(forward).try_normalize().unwrap_or_else(|| along.any_orthonormal_vector());
        let turn = DMat3::from_cols(side, along, side.cross(along));
        let columns = [turn.x_axis, turn.y_axis, turn.z_axis].map(|c| body.direction_outwards(c));
        let place = body.outwards(at(j));
        bind.push(DAffine3 { matrix3: DMat3::from_cols(columns[0], columns[1], columns[2]), translation: place });
        names.push(template.joints[j].name.clone());
        parents.push(template.joints[j].parent.and_then(number));
        let over: Vec<(f64, DVec3)> =
            placed.iter().zip(&heat).filter_map(|(p, w)| p.joints[j].map(|p| (*w, p))).collect();
        let total: f64 = over.iter().map(|(w, _)| w).sum();
        let mean = over.iter().map(|(w, p)| *p * *w).sum::<DVec3>() / total;
        let variance = over.iter().map(|(w, p)| w * p.distance_squared(mean)).sum::<f64>() / total;
        let is_pinned = pins[j].is_some();
        let spread = if is_pinned { 0.0 } else { variance.max(0.0).sqrt() };
        let name = &template.joints[j].name;
        let evidence = if is_calibrated { evidence(template, best, j, spread) } else { None };
        let confidence = if is_pinned { Some(1.0) } else { evidence.and_then(|seen| confidence(name, seen)) };
        joints.push(FoundJoint {
            name: name.clone(),
            place,
            end: best.ends[j].map(|p| body.outwards(p)),
            confidence,
            verdict: if is_pinned { Verdict::Pinned } else { verdict(confidence, spread) },
            evidence,
            spread,
        });
        segments.push(ends.iter().map(|end| [at(j), *end]).collect::<Vec<_>>());
    }
    for own in segments.iter_mut().zip(&kept).filter(|(own, _)| own.is_empty()) {
        own.0.push([at(*own.1); 2]);
    }
    let skeleton = Skeleton::new(names, parents, bind).map_err(|e| AutoRigError::Internal(e.to_string()))?;
    Ok((skeleton, joints, BoneVec::new(segments)))
}

/// What the confidence of a joint of the biped is made from. The body's largest side is 1.
fn evidence(template: &Template, places: &Places, joint: usize, spread: f64) -> Option<Evidence> {
    let place = |name: &str| template.find(name).and_then(|j| places.joints[j]);
    let side = if template.joints[joint].side == Side::Right { 'r' } else { 'l' };
    let length = Limb::of(&template.joints[joint].name)?.length(side, &place)?;
    Some(Evidence { spread, asymmetry: places.asymmetry[joint], proportion: length.max(1e-9).ln() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed form: in a box 0.2 wide and 0.6 deep, a spine a tenth above the middle is 0.1 below the skin, and its keels are 0.04 from belly and back.
    #[test]
    fn a_keel_fills_a_deep_trunk() {
        let positions: Vec<DVec3> = (0..8)
            .map(|k| DVec3::new(0.2 * f64::from(k & 1), 0.6 * f64::from((k >> 1) & 1), f64::from(k >> 2)))
            .collect();
        let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles = faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        let effort = Effort::new(EFFORT);
        let body = Body::new(&Mesh { positions, triangles, ..Mesh::default() }, DVec3::Y, &effort).unwrap();
        let field = Field::new(&body, &effort).unwrap();
        let names = ["hips", "spine_01", "hind_upper_leg_l", "tail_01"].map(String::from).to_vec();
        let parents = vec![None, Some(BoneIndex::new(0)), Some(BoneIndex::new(0)), Some(BoneIndex::new(0))];
        let skeleton = Skeleton::new(names, parents, vec![DAffine3::IDENTITY; 4]).unwrap();
        let along = |from: f64, to: f64| [DVec3::new(0.0, 0.1, from), DVec3::new(0.0, 0.1, to)];
        let hip = [DVec3::new(0.0, 0.1, -0.2), DVec3::new(0.08, 0.05, -0.2)];
        let segments = BoneVec::new(vec![
            vec![along(-0.2, 0.0), hip],
            vec![along(0.0, 0.2)],
            vec![along(-0.2, -0.1)],
            vec![along(-0.2, -0.4)],
        ]);
        let template = Template::named("quadruped").unwrap();
        let heated = keeled(&segments, &skeleton, &field, &template, DVec3::X);
        assert_eq!(heated.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 1, 1]);
        for (bone, from) in [(0, 2), (1, 1)] {
            let mut heights: Vec<f64> = heated[BoneIndex::new(bone)][from..].iter().flatten().map(|p| p.y).collect();
            heights.sort_by(f64::total_cmp);
            for (height, expected) in heights.iter().zip([-0.26, -0.26, 0.26, 0.26]) {
                // A cell of the field is 1.1/256.
                assert!((height - expected).abs() < 5e-3, "bone {bone}: {heights:?}");
            }
        }
    }
}
