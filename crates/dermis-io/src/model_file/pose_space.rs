//! Pose spaces in a model file: pose-space deformations, and shapes that a pose space drives.

use super::{Reader, Tensors, damaged, positive};
use crate::contents::ReadError;
use dermis_deform::baked::{BakedLayer, BakedPoseSpace, BakedRemainders, BakedShapes};
use dermis_deform::guard::Weld;
use dermis_deform::pose_space::{
    Carrier, Channel, CompiledShapes, Coordinates, Family, Joint, JointPart, Kernel, NO_GROUP, ROOM, Window,
};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, Rig, Rows, check_offsets};
use serde::{Deserialize, Serialize};

/// What a pose space holds beside arrays.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPoseSpace {
    sigma: f64,
    /// "base", "bones" or "world".
    carrier: String,
    /// "chord", "rotation-vector", "euler" or "swing-twist".
    #[serde(default = "chord")]
    coordinates: String,
    /// Scales of swing and twist.
    #[serde(default)]
    swing_twist: Option<[f64; 2]>,
    /// "gaussian", "wendland" or "polyharmonic".
    #[serde(default = "gaussian")]
    kernel: String,
    #[serde(default)]
    linear: bool,
    #[serde(default)]
    channels: Vec<StoredChannel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    shape_names: Vec<String>,
    /// The least and the largest weight of a shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clamp: Option<[f64; 2]>,
}

#[derive(Serialize, Deserialize)]
struct StoredChannel {
    name: String,
    scale: f64,
    limit: Option<f64>,
}

fn chord() -> String {
    "chord".into()
}

fn gaussian() -> String {
    "gaussian".into()
}

/// What of a joint's rotation is read, in the order of the numbers that stand for it.
const PARTS: [JointPart; 3] = [JointPart::Whole, JointPart::Swing, JointPart::Twist];

/// The arrays of a correction, and what it holds beside them.
pub(super) fn write<'a>(t: &mut Tensors<'a>, c: &'a BakedPoseSpace, rig: &Rig) -> StoredPoseSpace {
    t.u32("pose_space.groups", &[c.groups.len()], c.groups.iter().copied());
    let weights = c.weights.entries();
    t.f32("pose_space.weights", &[weights.len(), 3], weights.iter().flat_map(|w| w.to_array()));
    t.f32("pose_space.radii", &[c.radii.len()], c.radii.iter().copied());
    let r = &c.remainders;
    if !r.vertices.is_empty() {
        t.u32("pose_space.remainder_vertices", &[r.vertices.len()], r.vertices.iter().copied());
        t.u32("pose_space.remainder_bones", &[r.bones.len()], r.bones.iter().map(|b| b.get() as u32));
        let weights = r.weights.entries();
        t.f32("pose_space.remainders", &[weights.len(), 3], weights.iter().flat_map(|w| w.to_array()));
    }
    write_kernel(t, &c.kernel, &c.carrier, rig)
}

/// The arrays of shapes, and what they hold beside them.
pub(super) fn write_shapes<'a>(t: &mut Tensors<'a>, c: &'a BakedShapes, rig: &Rig) -> StoredPoseSpace {
    t.f32("pose_space.radii", &[c.radii.len()], c.radii.iter().copied());
    write_terms(t, &c.model, (&c.model.terms, &c.displacements), rig)
}

/// The arrays of a joint model's layer, and what it holds beside them.
pub(super) fn write_layer<'a>(
    t: &mut Tensors<'a>,
    model: &'a CompiledShapes,
    layer: &'a BakedLayer,
    rig: &Rig,
) -> StoredPoseSpace {
    write_terms(t, model, (&layer.terms, &layer.displacements), rig)
}

fn write_terms<'a>(
    t: &mut Tensors<'a>,
    model: &'a CompiledShapes,
    (terms, displacements): (&'a Rows<u32>, &'a [Vec3]),
    rig: &Rig,
) -> StoredPoseSpace {
    t.u32("shapes.regions", &[model.regions.len()], model.regions.iter().copied());
    t.f64("shapes.coefficients", &[model.coefficients.len()], model.coefficients.iter().copied());
    t.rows(("shapes.offsets", "shapes.terms"), terms);
    t.f32("shapes.displacements", &[displacements.len(), 3], displacements.iter().flat_map(|u| u.to_array()));
    if !model.windows.is_empty() {
        t.u32("shapes.window_centres", &[model.windows.len()], model.windows.iter().map(|w| w.centre));
        let relevance = || model.windows.iter().flat_map(|w| w.relevance.iter().copied());
        t.f64("shapes.window_relevance", &[relevance().count()], relevance());
    }
    let kernel = write_kernel(t, &model.kernel, &model.carrier, rig);
    StoredPoseSpace { shape_names: model.names.clone(), clamp: model.clamp, ..kernel }
}

fn write_kernel<'a>(t: &mut Tensors<'a>, k: &'a Kernel, carrier: &'a Carrier, rig: &Rig) -> StoredPoseSpace {
    let joints = k.joints.iter().flat_map(|j| [j.parent.get() as u32, j.bone.get() as u32]);
    t.u32("pose_space.joints", &[k.joints.len(), 2], joints);
    t.f64("pose_space.axes", &[k.joints.len(), 3], k.joints.iter().flat_map(|j| j.axis.to_array()));
    t.f64("pose_space.limits", &[k.joints.len()], k.joints.iter().map(|j| j.limit));
    if k.joints.iter().any(|j| j.part != JointPart::Whole) {
        t.u32("pose_space.parts", &[k.joints.len()], k.joints.iter().map(|j| j.part as u32));
    }
    let mut frozen = vec![0; rig.skeleton().len()];
    k.weld.frozen().for_each(|bone| frozen[bone.get()] = 1);
    t.u32("pose_space.frozen", &[frozen.len()], frozen);
    t.f64("pose_space.examples", &[k.examples.len(), ROOM], k.examples.iter().flatten().copied());
    let (offsets, relevance) = (k.relevance().offsets(), k.relevance().entries());
    t.u32("pose_space.joint_offsets", &[offsets.len()], offsets.iter().copied());
    t.u32("pose_space.group_joints", &[relevance.len()], relevance.iter().map(|r| r.0));
    t.f64("pose_space.relevance", &[relevance.len()], relevance.iter().map(|r| r.1));
    let groups = || (0..k.groups()).map(|g| k.centres(g));
    let mut end = 0;
    let ends = groups().map(|centres| {
        end += centres.len() as u32;
        end
    });
    let offsets: Vec<u32> = std::iter::once(0).chain(ends).collect();
    t.u32("pose_space.centres", &[offsets[k.groups()] as usize], groups().flatten().copied());
    t.u32("pose_space.centre_offsets", &[offsets.len()], offsets);
    let carrier = match carrier {
        Carrier::Base => "base",
        Carrier::World => "world",
        Carrier::Bones(bones) => {
            t.u32("pose_space.bones", &[bones.len()], bones.iter().map(|b| b.get() as u32));
            "bones"
        }
    };
    let (coordinates, swing_twist) = match k.coordinates {
        Coordinates::Chord => ("chord", None),
        Coordinates::RotationVector => ("rotation-vector", None),
        Coordinates::Euler => ("euler", None),
        Coordinates::SwingTwist { swing, twist } => ("swing-twist", Some([swing, twist])),
    };
    let kernel = match k.family {
        Family::Gaussian => "gaussian",
        Family::Wendland => "wendland",
        Family::Polyharmonic => "polyharmonic",
    };
    // JSON has no infinity.
    let limit = |limit: f64| limit.is_finite().then_some(limit);
    let channel = |c: &Channel| StoredChannel { name: c.name.clone(), scale: c.scale, limit: limit(c.limit) };
    StoredPoseSpace {
        sigma: k.sigma,
        carrier: carrier.into(),
        coordinates: coordinates.into(),
        swing_twist,
        kernel: kernel.into(),
        linear: k.linear,
        channels: k.channels.iter().map(channel).collect(),
        shape_names: vec![],
        clamp: None,
    }
}

/// A correction from its arrays.
pub(super) fn read(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<BakedPoseSpace, ReadError> {
    let vertices = rig.mesh().positions.len();
    let (kernel, carrier) = read_kernel(r, rig, stored)?;
    let groups = r.u32("pose_space.groups", 1)?;
    r.count("pose_space.groups", groups.len(), vertices)?;
    if let Some(g) = groups.iter().find(|g| **g != NO_GROUP && **g as usize >= kernel.groups()) {
        return Err(damaged(format!("a vertex is of group {g}, but there are {}", kernel.groups())));
    }
    let weights = per_value(r, "pose_space.weights", &kernel, groups.iter().copied())?;
    let mut remainders = BakedRemainders::default();
    if r.has("pose_space.remainder_vertices") {
        remainders.vertices = r.indices("pose_space.remainder_vertices", 1, vertices)?;
        if remainders.vertices.windows(2).any(|w| w[0] >= w[1]) {
            return Err(damaged("the vertices with a remainder are not in order"));
        }
        let bones = r.indices("pose_space.remainder_bones", 1, rig.skeleton().len())?;
        r.count("pose_space.remainder_bones", bones.len(), remainders.vertices.len())?;
        remainders.bones = bones.into_iter().map(|b| BoneIndex::new(b as usize)).collect();
        let of = remainders.vertices.iter().map(|&v| groups[v as usize]);
        remainders.weights = per_value(r, "pose_space.remainders", &kernel, of)?;
    }
    Ok(BakedPoseSpace { kernel, carrier, groups, weights, remainders, radii: radii(r, vertices)? })
}

/// Shapes from their arrays.
pub(super) fn read_shapes(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<BakedShapes, ReadError> {
    let (model, displacements) = read_terms(r, rig, stored)?;
    Ok(BakedShapes { model, displacements, radii: radii(r, rig.mesh().positions.len())? })
}

/// A joint model's layer from its arrays: its shapes, and what vertices have of them.
pub(super) fn read_layer(
    r: &Reader<'_>,
    rig: &Rig,
    stored: &StoredPoseSpace,
) -> Result<(CompiledShapes, BakedLayer), ReadError> {
    let (model, displacements) = read_terms(r, rig, stored)?;
    let terms = model.terms.clone();
    Ok((model.without_vertices(), BakedLayer { terms, displacements }))
}

fn read_terms(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<(CompiledShapes, Vec<Vec3>), ReadError> {
    let vertices = rig.mesh().positions.len();
    let (kernel, carrier) = read_kernel(r, rig, stored)?;
    let displacements: Vec<Vec3> = r.f32("shapes.displacements", 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let regions = r.u32("shapes.regions", 1)?;
    check_offsets(&regions, kernel.groups(), regions.last().map_or(0, |&n| n as usize))
        .map_err(|error| damaged(format!("array \"shapes.regions\": {error}")))?;
    let coefficients = r.f64("shapes.coefficients", 1)?;
    if coefficients.iter().any(|a| !a.is_finite()) {
        return Err(damaged("a coefficient of the shapes is not finite"));
    }
    // More than the file holds is refused before it can overflow.
    let needed = (0..kernel.groups()).try_fold(0usize, |sum, g| {
        ((regions[g + 1] - regions[g]) as usize).checked_mul(kernel.range(g).len())?.checked_add(sum)
    });
    r.count("shapes.coefficients", coefficients.len(), needed.unwrap_or(usize::MAX))?;
    let count = regions.last().map_or(0, |&n| n as usize);
    let terms = r.rows("shapes.offsets", vertices, r.indices("shapes.terms", 1, count)?)?;
    r.count("shapes.terms", terms.entries().len(), displacements.len())?;
    let (names, clamp) = (stored.shape_names.clone(), stored.clamp);
    if !names.is_empty() && names.len() != count {
        return Err(damaged(format!("{} names of {count} shapes", names.len())));
    }
    if let Some([low, high]) = clamp.filter(|[low, high]| !(*low <= 0.0 && *high >= 0.0)) {
        return Err(damaged(format!("weights of shapes between {low} and {high}, which leave out the bind pose")));
    }
    let windows = match r.has("shapes.window_centres") {
        true => read_windows(r, &kernel, &regions)?,
        false => vec![],
    };
    let model = CompiledShapes {
        kernel,
        regions,
        coefficients,
        carrier,
        terms,
        displacements: vec![],
        radii: vec![],
        names,
        clamp,
        windows,
    };
    Ok((model, displacements))
}

/// The windows of shapes, region after region.
fn read_windows(r: &Reader<'_>, kernel: &Kernel, regions: &[u32]) -> Result<Vec<Window>, ReadError> {
    let (centres, relevance) = (r.u32("shapes.window_centres", 1)?, r.f64("shapes.window_relevance", 1)?);
    r.count("shapes.window_centres", centres.len(), regions.last().map_or(0, |&n| n as usize))?;
    if let Some(b) = relevance.iter().find(|b| !(b.is_finite() && **b >= 0.0)) {
        return Err(damaged(format!("a joint counts with {b} in the window of a shape")));
    }
    let (mut windows, mut from) = (Vec::with_capacity(centres.len()), 0);
    for g in 0..kernel.groups() {
        let (joints, own) = (kernel.relevance_of(g).len(), kernel.centres(g).len());
        for &centre in &centres[regions[g] as usize..regions[g + 1] as usize] {
            if centre as usize >= own {
                return Err(damaged(format!("the window of a shape is about centre {centre} of {own}")));
            }
            let Some(row) = relevance.get(from..from + joints) else { break };
            windows.push(Window { centre, relevance: row.to_vec() });
            from += joints;
        }
    }
    r.count("shapes.window_relevance", relevance.len(), from)?;
    r.count("shapes.window_centres", centres.len(), windows.len())?;
    Ok(windows)
}

/// Weights by entry of `groups`: one per value of its group.
fn per_value(
    r: &Reader<'_>,
    name: &str,
    kernel: &Kernel,
    groups: impl Iterator<Item = u32>,
) -> Result<Rows<Vec3>, ReadError> {
    let weights: Vec<Vec3> = r.f32(name, 3)?.chunks_exact(3).map(Vec3::from_slice).collect();
    let (mut starts, mut total) = (vec![0u32], 0usize);
    for g in groups {
        total += if g == NO_GROUP { 0 } else { kernel.range(g as usize).len() };
        // More than the file holds is refused before it can overflow.
        if total > weights.len() {
            break;
        }
        starts.push(total as u32);
    }
    r.count(name, weights.len(), total)?;
    Rows::new(starts, weights).map_err(|error| damaged(format!("array \"{name}\": {error}")))
}

fn radii(r: &Reader<'_>, vertices: usize) -> Result<Vec<f32>, ReadError> {
    let radii = r.f32("pose_space.radii", 1)?;
    if !radii.is_empty() {
        r.count("pose_space.radii", radii.len(), vertices)?;
    }
    match radii.iter().any(|r| *r < 0.0) {
        true => Err(damaged("a radius of the guard is negative")),
        false => Ok(radii),
    }
}

fn read_kernel(r: &Reader<'_>, rig: &Rig, stored: &StoredPoseSpace) -> Result<(Kernel, Carrier), ReadError> {
    let (vertices, bones) = (rig.mesh().positions.len(), rig.skeleton().len());
    let bone = |b: u32| BoneIndex::new(b as usize);
    if !(stored.sigma > 0.0 && positive(stored.sigma * stored.sigma)) {
        return Err(damaged("the width of the kernel is not positive"));
    }
    let carrier = match stored.carrier.as_str() {
        "base" => Carrier::Base,
        "world" => Carrier::World,
        "bones" => {
            let list = r.indices("pose_space.bones", 1, bones)?;
            r.count("pose_space.bones", list.len(), vertices)?;
            Carrier::Bones(list.into_iter().map(bone).collect())
        }
        other => return Err(ReadError::Unsupported { feature: format!("carrier \"{other}\"") }),
    };
    let coordinates = match (stored.coordinates.as_str(), stored.swing_twist) {
        ("chord", _) => Coordinates::Chord,
        ("rotation-vector", _) => Coordinates::RotationVector,
        ("euler", _) => Coordinates::Euler,
        ("swing-twist", Some([swing, twist])) if swing.is_finite() && twist.is_finite() => {
            Coordinates::SwingTwist { swing, twist }
        }
        (other, _) => return Err(ReadError::Unsupported { feature: format!("coordinates \"{other}\"") }),
    };
    let family = match stored.kernel.as_str() {
        "gaussian" => Family::Gaussian,
        "wendland" => Family::Wendland,
        "polyharmonic" => Family::Polyharmonic,
        other => return Err(ReadError::Unsupported { feature: format!("kernel \"{other}\"") }),
    };
    let ends = r.indices("pose_space.joints", 2, bones)?;
    let limits = r.f64("pose_space.limits", 1)?;
    r.count("pose_space.limits", limits.len(), ends.len() / 2)?;
    if limits.iter().any(|limit| limit.is_nan() || *limit < 0.0) {
        return Err(damaged("a joint has no limit"));
    }
    let finite = |name: &str, columns: usize| match r.f64(name, columns)? {
        all if all.iter().all(|x| x.is_finite()) => Ok(all),
        _ => Err(damaged(format!("array \"{name}\" holds numbers that are not finite"))),
    };
    // Files of version 2 have chords alone, which read no axes.
    let axes = match r.has("pose_space.axes") {
        true => finite("pose_space.axes", 3)?.chunks_exact(3).map(DVec3::from_slice).collect(),
        false => vec![DVec3::X; limits.len()],
    };
    r.count("pose_space.axes", axes.len(), limits.len())?;
    let parts = match r.has("pose_space.parts") {
        true if matches!(coordinates, Coordinates::SwingTwist { .. }) => {
            r.indices("pose_space.parts", 1, PARTS.len())?.into_iter().map(|part| PARTS[part as usize]).collect()
        }
        true => return Err(damaged(format!("parts of rotations in coordinates \"{}\"", stored.coordinates))),
        false => vec![JointPart::Whole; limits.len()],
    };
    r.count("pose_space.parts", parts.len(), limits.len())?;
    let joints = ends.chunks_exact(2).zip(limits).zip(axes).zip(parts);
    let joint = |(((ends, limit), axis), part): (((&[u32], f64), DVec3), JointPart)| Joint {
        parent: bone(ends[0]),
        bone: bone(ends[1]),
        limit,
        axis,
        part,
    };
    let joints: Vec<Joint> = joints.map(joint).collect();
    let channels = stored.channels.iter().map(|c| {
        let limit = c.limit.unwrap_or(f64::INFINITY);
        match c.scale.is_finite() && limit >= 0.0 {
            true => Ok(Channel { name: c.name.clone(), scale: c.scale, limit }),
            false => Err(damaged(format!("channel \"{}\" has no scale or limit", c.name))),
        }
    });
    let channels = channels.collect::<Result<Vec<_>, _>>()?;
    let frozen: Vec<bool> = r.indices("pose_space.frozen", 1, 2)?.into_iter().map(|f| f == 1).collect();
    r.count("pose_space.frozen", frozen.len(), bones)?;
    let width = joints.len() + channels.len();
    let examples = finite("pose_space.examples", ROOM)?;
    let examples: Vec<[f64; ROOM]> = examples.chunks_exact(ROOM).map(|x| x.try_into().unwrap_or_default()).collect();
    if !examples.len().is_multiple_of(width.max(1)) {
        return Err(damaged("the examples of the pose space are not joints × poses"));
    }
    let count = examples.len() / width.max(1);
    let relevance = finite("pose_space.relevance", 1)?;
    let group_joints = r.indices("pose_space.group_joints", 1, width)?;
    r.count("pose_space.relevance", relevance.len(), group_joints.len())?;
    if relevance.iter().any(|a| *a < 0.0) {
        return Err(damaged("a joint of the pose space has negative relevance"));
    }
    let relevance: Vec<(u32, f64)> = group_joints.into_iter().zip(relevance).collect();
    let centres = r.indices("pose_space.centres", 1, count)?;
    let groups = r.u32("pose_space.centre_offsets", 1)?.len().saturating_sub(1);
    let centres = r.rows("pose_space.centre_offsets", groups, centres)?;
    let relevance = r.rows("pose_space.joint_offsets", groups, relevance)?;
    let mut kernel = Kernel::new(stored.sigma, Weld::along(rig.skeleton(), &frozen), joints, examples);
    (kernel.coordinates, kernel.family, kernel.linear, kernel.channels) =
        (coordinates, family, stored.linear, channels);
    for (relevance, centres) in relevance.iter().zip(centres.iter()) {
        kernel.push(relevance, centres).map_err(|error| damaged(format!("the groups of the pose space: {error}")))?;
    }
    Ok((kernel, carrier))
}
