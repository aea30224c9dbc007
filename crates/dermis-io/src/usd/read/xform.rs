//! Transforms of prims.
//!
//! The first operation of `xformOpOrder` acts last on a point; matrices of the file act on rows, so theirs are transposed here.
//! Source: OpenUSD, `UsdGeomXformable` and `UsdGeomXformOp`.

use super::layer::Name;
use super::stage::Stage;
use super::track::Track;
use crate::contents::{Flaw, ReadError};
use crate::flaws::Flaws;
use dermis_rig::glam::{DAffine3, DMat3, DMat4, DVec3};
use dermis_rig::skeleton::invert;
use std::sync::Arc;

/// Operations from the world down to a prim. The last one acts first on a point.
pub(super) type Chain = Arc<[Arc<[Op]>]>;

/// One operation.
#[derive(Debug)]
pub(super) struct Op {
    kind: Kind,
    inverse: bool,
    track: Track,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Translate,
    TranslateAxis(DVec3),
    Scale,
    ScaleAxis(usize),
    /// Axes in the order in which they act.
    Rotate([usize; 3], usize),
    Orient,
    Matrix,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix("xformOp:")?.split(':');
        Some(match parts.next()? {
            "translate" => Self::Translate,
            "translateX" => Self::TranslateAxis(DVec3::X),
            "translateY" => Self::TranslateAxis(DVec3::Y),
            "translateZ" => Self::TranslateAxis(DVec3::Z),
            "scale" => Self::Scale,
            "scaleX" => Self::ScaleAxis(0),
            "scaleY" => Self::ScaleAxis(1),
            "scaleZ" => Self::ScaleAxis(2),
            "rotateX" => Self::Rotate([0, 0, 0], 1),
            "rotateY" => Self::Rotate([1, 0, 0], 1),
            "rotateZ" => Self::Rotate([2, 0, 0], 1),
            "rotateXYZ" => Self::Rotate([0, 1, 2], 3),
            "rotateXZY" => Self::Rotate([0, 2, 1], 3),
            "rotateYXZ" => Self::Rotate([1, 0, 2], 3),
            "rotateYZX" => Self::Rotate([1, 2, 0], 3),
            "rotateZXY" => Self::Rotate([2, 0, 1], 3),
            "rotateZYX" => Self::Rotate([2, 1, 0], 3),
            "orient" => Self::Orient,
            "transform" => Self::Matrix,
            _ => return None,
        })
    }

    fn width(self) -> usize {
        match self {
            Self::Translate | Self::Scale | Self::Rotate(_, 3) => 3,
            Self::TranslateAxis(_) | Self::ScaleAxis(_) | Self::Rotate(..) => 1,
            Self::Orient => 4,
            Self::Matrix => 16,
        }
    }
}

/// A matrix of the file as ours.
pub(super) fn matrix(rows: &[f64; 16]) -> DAffine3 {
    DAffine3::from_mat4(DMat4::from_cols_array(rows))
}

fn turn(axis: usize, degrees: f64) -> DMat3 {
    let angle = degrees.to_radians();
    match axis {
        0 => DMat3::from_rotation_x(angle),
        1 => DMat3::from_rotation_y(angle),
        _ => DMat3::from_rotation_z(angle),
    }
}

impl Op {
    fn at(&self, time: Option<f64>) -> DAffine3 {
        let values = match self.kind {
            Kind::Orient => self.track.turn_at(time),
            _ => self.track.at(time),
        };
        if values.len() != self.kind.width() {
            return DAffine3::IDENTITY;
        }
        let vector = || DVec3::new(values[0], values[1], values[2]);
        let made = match self.kind {
            Kind::Translate => DAffine3::from_translation(vector()),
            Kind::TranslateAxis(axis) => DAffine3::from_translation(axis * values[0]),
            Kind::Scale => DAffine3::from_scale(vector()),
            Kind::ScaleAxis(axis) => {
                let mut scale = DVec3::ONE;
                scale[axis] = values[0];
                DAffine3::from_scale(scale)
            }
            Kind::Rotate(axes, count) => {
                let angle = |axis: usize| if count == 1 { values[0] } else { values[axis] };
                let turns = axes[..count].iter().map(|&axis| turn(axis, angle(axis)));
                DAffine3::from_mat3(turns.fold(DMat3::IDENTITY, |all, own| own * all))
            }
            Kind::Orient => {
                // As `GfRotation` has it: the angle is that of w, the axis that of the rest.
                let (axis, angle) =
                    (DVec3::new(values[1], values[2], values[3]), 2.0 * values[0].clamp(-1.0, 1.0).acos());
                let turn = axis.try_normalize().map(|axis| DAffine3::from_axis_angle(axis, angle));
                turn.unwrap_or(DAffine3::IDENTITY)
            }
            Kind::Matrix => values.as_array().map_or(DAffine3::IDENTITY, matrix),
        };
        match self.inverse {
            true => invert(&made).unwrap_or(DAffine3::IDENTITY),
            false => made,
        }
    }
}

/// The chain of every prim.
pub(super) fn chains(stage: &Stage<'_, '_>, rate: f64, flaws: &mut Flaws) -> Result<Vec<Chain>, ReadError> {
    let mut made: Vec<Chain> = Vec::with_capacity(stage.prims.len());
    for (at, prim) in stage.prims.iter().enumerate() {
        let above = prim.parent.map_or_else(|| Chain::from([]), |parent| Arc::clone(&made[parent]));
        let order = stage.words(at, "xformOpOrder")?;
        let (ops, resets) = ops(stage, at, &order, rate, flaws)?;
        let start: &[Arc<[Op]>] = if resets { &[] } else { &above };
        made.push(match (ops.is_empty(), resets) {
            (true, false) => above,
            (true, true) => Chain::from([]),
            _ => {
                stage.budget.charge(16 * (start.len() + 1))?;
                start.iter().cloned().chain([ops.into()]).collect()
            }
        });
    }
    Ok(made)
}

fn ops(
    stage: &Stage<'_, '_>,
    prim: usize,
    order: &[Name],
    rate: f64,
    flaws: &mut Flaws,
) -> Result<(Vec<Op>, bool), ReadError> {
    let (mut ops, mut resets) = (Vec::new(), false);
    for name in order {
        if &**name == "!resetXformStack!" {
            ops.clear();
            resets = true;
            continue;
        }
        let (inverse, name) = match name.strip_prefix("!invert!") {
            Some(name) => (true, name),
            None => (false, &**name),
        };
        stage.budget.charge(160)?;
        match (Kind::of(name), stage.attribute(prim, name)) {
            (Some(kind), Some(attribute)) => ops.push(Op { kind, inverse, track: Track::read(&attribute, rate)? }),
            (Some(_), None) if stage.said(prim, name, |spec| spec.is_spline.then_some(())).is_some() => {
                flaws.unread(&format!("spline of {name} of <{}>", stage.path(prim)));
            }
            (Some(_), None) => {}
            (None, _) => flaws.add(Flaw::Unsupported, || format!("\"{name:.60}\" of <{}>", stage.path(prim))),
        }
    }
    Ok((ops, resets))
}

/// The way from a prim to the world of the file.
pub(super) fn world(chain: &Chain, time: Option<f64>) -> DAffine3 {
    chain.iter().flat_map(|ops| ops.iter()).fold(DAffine3::IDENTITY, |above, op| above * op.at(time))
}

/// When a chain moves, seconds.
pub(super) fn times(chain: &Chain) -> impl Iterator<Item = f64> + '_ {
    chain.iter().flat_map(|ops| ops.iter()).flat_map(|op| op.track.times.iter().copied())
}
