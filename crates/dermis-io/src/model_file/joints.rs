//! Joint models in a model file.

use super::pose_space::{StoredPoseSpace, read_layer, write_layer};
use super::{Reader, StoredCorrection, Tensors, damaged, positive, read_coefficients, write_coefficients};
use crate::contents::ReadError;
use dermis_deform::baked::{BakedJoints, BakedSharedTerm, FreePart, padded};
use dermis_deform::gravity::SaggingBone;
use dermis_deform::guard::{Link, Weld};
use dermis_deform::joints::{CorrectionFrame, Joint, JointFeature, JointReading, Joints};
use dermis_deform::{Gravity, JointKernel};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, Rig};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a joint model holds beside arrays.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredJoints {
    sigma: f64,
    /// The share of the arc-cosine kernel. Files before version 12 have none.
    #[serde(default)]
    arc_cosine: f64,
    frame: String,
    /// Down, if bones see it. Files before version 12 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    down: Option<[f64; 3]>,
    /// The sculpts that the model remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layer: Option<StoredPoseSpace>,
}

/// What is read of joints, by number. Files before version 14 have none but the first.
const WHOLE: u32 = 0;
const SWING: u32 = 1;
const TWIST: u32 = 2;
const PRODUCT: u32 = 3;

/// Frames of the joint model by name.
const FRAMES: [(&str, CorrectionFrame); 3] =
    [("anchor", CorrectionFrame::Anchor), ("rest", CorrectionFrame::Rest), ("blend", CorrectionFrame::Blend)];

/// The arrays of a correction, and what it holds beside them.
pub(super) fn write<'a>(t: &mut Tensors<'a>, c: &'a BakedJoints, rig: &Rig) -> StoredJoints {
    let joints = &c.model.joints;
    let bones = joints.iter().flat_map(|j| [j.from.get() as u32, j.to.get() as u32]);
    t.u32("joints.bones", &[joints.len(), 2], bones);
    t.f64("joints.centres", &[joints.len(), 3], joints.iter().flat_map(|j| j.centre.unwrap_or_default().to_array()));
    t.u32("joints.composite", &[joints.len()], joints.iter().map(|j| u32::from(j.centre.is_none())));
    t.f64("joints.limits", &[joints.len()], joints.iter().map(|j| j.limit));
    t.u32("joints.inducing_counts", &[joints.len()], joints.iter().map(|j| j.inducing.len() as u32));
    let inducing = || joints.iter().flat_map(|j| &j.inducing);
    t.f64("joints.inducing", &[inducing().count(), 12], inducing().flatten().copied());
    if joints.iter().any(|j| j.reading != JointReading::Whole) {
        let reading = |j: &Joint| match j.reading {
            JointReading::Whole => [WHOLE, 0, 0],
            JointReading::Swing(_) => [SWING, 0, 0],
            JointReading::Twist(_) => [TWIST, 0, 0],
            JointReading::Product([e, f]) => [PRODUCT, e, f],
        };
        let axis = |j: &Joint| match j.reading {
            JointReading::Swing(axis) | JointReading::Twist(axis) => axis,
            JointReading::Whole | JointReading::Product(_) => DVec3::ZERO,
        };
        t.u32("joints.readings", &[joints.len(), 3], joints.iter().flat_map(reading));
        t.f64("joints.axes", &[joints.len(), 3], joints.iter().map(axis).flat_map(|axis| axis.to_array()));
        let second = || joints.iter().flat_map(|j| &j.second);
        t.f64("joints.second", &[second().count(), 12], second().flatten().copied());
    }
    let sagging = || c.model.gravity.iter().flat_map(|gravity| &gravity.bones);
    if c.model.gravity.is_some() {
        t.u32("gravity.bones", &[sagging().count()], sagging().map(|s| s.bone.get() as u32));
        t.f64("gravity.limits", &[sagging().count()], sagging().map(|s| s.limit));
    }
    let links = &c.model.weld.links;
    let link = |l: &Link| [l.from.get() as u32, l.to.get() as u32, u32::from(l.frozen)];
    t.u32("joints.links", &[links.len(), 3], links.iter().flat_map(link));
    t.rows(("correction.offsets", "correction.terms"), c.free.terms());
    write_coefficients(t, &[], Cow::Owned(c.free.coefficients()));
    let shared = c.shared.entries();
    t.u32("shared.offsets", &[c.shared.offsets().len()], c.shared.offsets().iter().copied());
    t.u32("shared.bones", &[shared.len()], shared.iter().map(|t| t.bone));
    let numbers = |t: &BakedSharedTerm| [t.relevance, t.offset.x, t.offset.y, t.offset.z, t.weight];
    t.f32("shared.coefficients", &[shared.len(), 5], shared.iter().flat_map(numbers));
    t.f32("shared.limits", &[c.limits.len()], c.limits.iter().copied());
    t.f32("correction.radii", &[c.radii.len()], c.radii.iter().copied());
    let frame = FRAMES.iter().find(|(_, frame)| *frame == c.model.frame).map_or("", |(name, _)| name);
    let layer = c.model.layer.as_ref().map(|shapes| write_layer(t, shapes, &c.layer, rig));
    let JointKernel { sigma, arc_cosine } = c.model.kernel;
    let down = c.model.gravity.as_ref().map(|gravity| gravity.down.to_array());
    StoredJoints { sigma, arc_cosine, frame: frame.into(), down, layer }
}

/// The bones that see down.
fn read_gravity(r: &Reader<'_>, down: [f64; 3], bones: usize) -> Result<Gravity, ReadError> {
    let down = DVec3::from_array(down);
    let off = (down.length() - 1.0).abs();
    if off.is_nan() || off > 1e-6 {
        return Err(damaged("the direction of gravity is not of length one"));
    }
    let named = r.indices("gravity.bones", 1, bones)?;
    let limits = r.f64("gravity.limits", 1)?;
    r.count("gravity.limits", limits.len(), named.len())?;
    if limits.iter().any(|limit| limit.is_nan() || *limit < 0.0) {
        return Err(damaged("array \"gravity.limits\" holds a negative length"));
    }
    let bone = |(bone, limit): (u32, f64)| SaggingBone { bone: BoneIndex::new(bone as usize), limit };
    Ok(Gravity { down, bones: named.into_iter().zip(limits).map(bone).collect() })
}

/// What is read of joints, and the features of the second joints of products.
fn read_readings(
    r: &Reader<'_>,
    count: usize,
    counts: &[u32],
) -> Result<(Vec<JointReading>, Vec<JointFeature>), ReadError> {
    let (numbers, axes) = (r.u32("joints.readings", 3)?, r.f64("joints.axes", 3)?);
    r.count("joints.readings", numbers.len() / 3, count)?;
    r.count("joints.axes", axes.len() / 3, count)?;
    let reading = |(n, axis): (&[u32], &[f64])| {
        let axis = DVec3::from_slice(axis);
        let is_unit = (axis.length() - 1.0).abs() < 1e-6;
        match n[0] {
            WHOLE => Ok(JointReading::Whole),
            SWING if is_unit => Ok(JointReading::Swing(axis)),
            TWIST if is_unit => Ok(JointReading::Twist(axis)),
            SWING | TWIST => Err(damaged("an axis of a joint is not of length one")),
            PRODUCT => Ok(JointReading::Product([n[1], n[2]])),
            _ => Err(damaged("array \"joints.readings\" holds a number without meaning")),
        }
    };
    let readings: Vec<_> = numbers.chunks_exact(3).zip(axes.chunks_exact(3)).map(reading).collect::<Result<_, _>>()?;
    let second: Vec<JointFeature> =
        r.f64("joints.second", 12)?.chunks_exact(12).map(|f| f.try_into().unwrap_or_default()).collect();
    let products = readings.iter().zip(counts).filter(|(reading, _)| matches!(reading, JointReading::Product(_)));
    r.count("joints.second", second.len(), products.map(|(_, count)| *count as usize).sum())?;
    Ok((readings, second))
}

/// A correction from its arrays.
pub(super) fn read(
    r: &Reader<'_>,
    rig: &Rig,
    stored: &StoredCorrection,
    joints: &StoredJoints,
) -> Result<BakedJoints, ReadError> {
    let (vertices, bones) = (rig.mesh().positions.len(), rig.skeleton().len());
    let weights = rig.weights().ok_or_else(|| damaged("a joint model needs skinning weights"))?;
    let length = stored.length.filter(|l| positive(*l)).ok_or_else(|| damaged("the correction has no length"))?;
    let kernel = JointKernel { sigma: joints.sigma, arc_cosine: joints.arc_cosine };
    if !positive(kernel.sigma) || !(0.0..=1.0).contains(&kernel.arc_cosine) {
        return Err(damaged(
            "the width of the kernel is not positive, or its share of the arc-cosine kernel is not within one",
        ));
    }
    let frame = FRAMES.iter().find(|(name, _)| *name == joints.frame).map(|(_, frame)| *frame);
    let frame = frame
        .ok_or_else(|| ReadError::Unsupported { feature: format!("corrections in the frame \"{}\"", joints.frame) })?;
    let bone = |b: u32| BoneIndex::new(b as usize);
    let pairs = r.indices("joints.bones", 2, bones)?;
    let count = pairs.len() / 2;
    let centres: Vec<DVec3> = r.f64("joints.centres", 3)?.chunks_exact(3).map(DVec3::from_slice).collect();
    let limits = r.f64("joints.limits", 1)?;
    // Files before version 8 have none.
    let composite = match r.has("joints.composite") {
        true => r.u32("joints.composite", 1)?,
        false => vec![0; count],
    };
    let counts = r.u32("joints.inducing_counts", 1)?;
    let inducing: Vec<[f64; 12]> =
        r.f64("joints.inducing", 12)?.chunks_exact(12).map(|f| f.try_into().unwrap_or_default()).collect();
    for (name, found) in [
        ("joints.centres", centres.len()),
        ("joints.composite", composite.len()),
        ("joints.limits", limits.len()),
        ("joints.inducing_counts", counts.len()),
    ] {
        r.count(name, found, count)?;
    }
    let total = counts.iter().map(|&n| u64::from(n)).sum::<u64>();
    if total != inducing.len() as u64 {
        return Err(damaged("the inducing rotations are not as many as the joints say"));
    }
    let (readings, second) = match r.has("joints.readings") {
        true => read_readings(r, count, &counts)?,
        false => (vec![JointReading::Whole; count], vec![]),
    };
    let (mut taken, mut seconds) = (0, second.into_iter());
    let mut all: Vec<Joint> = Vec::with_capacity(count);
    for joint in 0..count {
        let of_joint = inducing[taken..taken + counts[joint] as usize].to_vec();
        taken += of_joint.len();
        let pair = (bone(pairs[2 * joint]), bone(pairs[2 * joint + 1]));
        let centre = (composite[joint] == 0).then_some(centres[joint]);
        let reading = readings[joint];
        let mut second = vec![];
        if let JointReading::Product(both) = reading {
            let before =
                |at: u32| all.get(at as usize).is_some_and(|joint| !matches!(joint.reading, JointReading::Product(_)));
            if !both.into_iter().all(before) {
                return Err(damaged(format!("joint {joint} is a product of joints that do not stand before it")));
            }
            second.extend(seconds.by_ref().take(of_joint.len()));
        }
        let made = Joint::read_as(reading, (pair, centre), limits[joint], (of_joint, second), kernel)
            .filter(|j| centre.is_none_or(DVec3::is_finite) && j.limit >= 0.0 && !j.inducing.is_empty());
        all.push(made.ok_or_else(|| damaged(format!("joint {joint} cannot be evaluated")))?);
    }
    let links = r.u32("joints.links", 3)?;
    if links.chunks_exact(3).any(|l| l[0] as usize >= bones || l[1] as usize >= bones) {
        return Err(damaged("a link between bones names a bone that does not exist"));
    }
    let link = |l: &[u32]| Link { from: bone(l[0]), to: bone(l[1]), frozen: l[2] != 0 };
    let weld = Weld { links: links.chunks_exact(3).map(link).collect() };
    let mut model = Joints::empty(length, kernel, frame, all, weld);
    model.gravity = joints.down.map(|down| read_gravity(r, down, bones)).transpose()?;
    let numbers: Vec<usize> = model.numbers().collect();
    let mut made = BakedJoints::empty(model, weights);
    if let Some(stored) = &joints.layer {
        let (shapes, layer) = read_layer(r, rig, stored)?;
        (made.model.layer, made.layer) = (Some(shapes), layer);
    }
    let terms = r.rows("correction.offsets", vertices, r.indices("correction.terms", 1, numbers.len())?)?;
    let coefficients = read_coefficients(r, 1, vertices)?;
    let padded: Vec<usize> = numbers.iter().map(|&count| padded(count)).collect();
    let needed = terms.entries().iter().map(|&joint| 3 * padded[joint as usize]).sum();
    r.count("correction.coefficients", coefficients.len(), needed)?;
    made.free = FreePart::new(numbers.into_iter(), terms, &coefficients).map_err(|error| damaged(error.to_string()))?;
    let named = r.indices("shared.bones", 1, bones)?;
    let numbers = r.f32("shared.coefficients", 5)?;
    r.count("shared.coefficients", numbers.len() / 5, named.len())?;
    let term = |(&bone, n): (&u32, &[f32])| BakedSharedTerm {
        bone,
        relevance: n[0],
        offset: Vec3::from_slice(&n[1..4]),
        weight: n[4],
    };
    let shared = named.iter().zip(numbers.chunks_exact(5)).map(term).collect();
    made.shared = r.rows("shared.offsets", vertices, shared)?;
    (made.limits, made.radii) = (r.f32("shared.limits", 1)?, r.f32("correction.radii", 1)?);
    for (name, list) in [("shared.limits", &made.limits), ("correction.radii", &made.radii)] {
        if !list.is_empty() {
            r.count(name, list.len(), vertices)?;
        }
        if list.iter().any(|x| *x < 0.0) {
            return Err(damaged(format!("array \"{name}\" holds a negative length")));
        }
    }
    Ok(made)
}
