//! What a goal lacks, and how that changes with every joint.
//!
//! Residuals have no unit: distances are parts of the chain's length, rotations are radians. A column is a turn of one joint about
//! one of its own axes e. It moves a point p by W (e × W⁻¹(p − head)), W the map from the joint's axes to the world, which is exact
//! for stretched bones as well.

use super::chain::Chain;
use super::goal::Target;
use super::state::State;
use dermis_rig::BoneIndex;
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::rotation::{nearest_rotation, rotation_vector};

/// A turn of one joint about one axis of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub joint: BoneIndex,
    /// Where the joint is in the list of those that turn.
    pub place: usize,
    pub axis: DVec3,
}

/// What a column does in a state.
struct Turn {
    axes: DMat3,
    inverse: DMat3,
    head: DVec3,
    /// The axis, own and world.
    own: DVec3,
    world: DVec3,
}

impl Turn {
    fn new(column: &Column, state: &State<'_>) -> Self {
        let axes = state.axes(column.joint);
        let world = nearest_rotation(&axes) * column.axis;
        Self { axes, inverse: axes.inverse(), head: state.head(column.joint), own: column.axis, world }
    }

    /// The velocity of a point that hangs on the joint.
    fn moves(&self, point: DVec3) -> DVec3 {
        self.axes * self.own.cross(self.inverse * (point - self.head))
    }
}

/// What the goal lacks: three numbers for a place, three for a rotation or direction. `length` is the chain's.
pub(super) fn residual(chain: &Chain<'_>, state: &State<'_>, length: f64) -> Vec<f64> {
    let goal = chain.goal;
    let away = |place: DVec3| ((place - chain.point(state)) / length).to_array();
    let turned = |to: DQuat| rotation_vector(to.normalize() * state.rotation(goal.end).conjugate()).to_array();
    match goal.target {
        Target::Point(place) => away(place).to_vec(),
        Target::Frame(place, to) => [away(place), turned(to)].concat(),
        Target::Rotation(to) => turned(to).to_vec(),
        Target::LookAt { axis, point } => {
            let Sight { seen, wanted, .. } = sight(state, goal.end, axis, point);
            let normal = seen.cross(wanted);
            // Looking away, any axis across will do.
            let about = normal.try_normalize().unwrap_or_else(|| seen.any_orthonormal_vector());
            let angle = normal.length().atan2(seen.dot(wanted));
            (about * angle).to_array().to_vec()
        }
    }
}

/// The rows of the goal's Jacobian: by how much each column takes from each residual.
pub(super) fn jacobian(chain: &Chain<'_>, state: &State<'_>, length: f64, columns: &[Column]) -> Vec<Vec<f64>> {
    let goal = chain.goal;
    let point = chain.point(state);
    let each = columns.iter().map(|column| {
        if !chain.ancestry.contains(&column.joint) {
            return match goal.target {
                Target::Frame(..) => vec![0.0; 6],
                _ => vec![0.0; 3],
            };
        }
        let turn = Turn::new(column, state);
        let moved = (turn.moves(point) / length).to_array();
        match goal.target {
            Target::Point(_) => moved.to_vec(),
            Target::Frame(..) => [moved, turn.world.to_array()].concat(),
            Target::Rotation(_) => turn.world.to_array().to_vec(),
            Target::LookAt { axis, point } => {
                let Sight { seen, wanted, away } = sight(state, goal.end, axis, point);
                let across = turn.world - seen * seen.dot(turn.world);
                let head = turn.moves(state.head(goal.end));
                let sight_moves = if away > 0.0 { wanted.cross(-head / away) } else { DVec3::ZERO };
                (across - sight_moves).to_array().to_vec()
            }
        }
    });
    transposed(&each.collect::<Vec<_>>())
}

/// The row of the pole: by how much each column takes from its angle. By central differences of the angle along the exact velocities of
/// the three points that it depends on; the step leaves 1e-10.
pub(super) fn pole_row(chain: &Chain<'_>, state: &State<'_>, columns: &[Column]) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let Some(pole) = chain.goal.pole else { return vec![0.0; columns.len()] };
    let (base, middle, point) = (state.head(chain.joints[0]), state.head(pole.middle), chain.point(state));
    let above = |joint: BoneIndex, bone: BoneIndex| {
        let at = |bone: BoneIndex| chain.ancestry.iter().position(|b| *b == bone);
        at(joint).is_some_and(|joint| at(bone).is_some_and(|bone| joint < bone))
    };
    let angle = |base: DVec3, middle: DVec3, point: DVec3| {
        let line = (point - base).try_normalize()?;
        super::two_bone::swivel_angle(middle - base, pole.point - base, line)
    };
    let row = columns.iter().map(|column| {
        if !chain.ancestry.contains(&column.joint) {
            return 0.0;
        }
        let turn = Turn::new(column, state);
        let velocity = |at: DVec3, moves: bool| if moves { turn.moves(at) } else { DVec3::ZERO };
        let (db, dm) =
            (velocity(base, above(column.joint, chain.joints[0])), velocity(middle, above(column.joint, pole.middle)));
        let dp = velocity(point, true);
        let at = |step: f64| angle(base + db * step, middle + dm * step, point + dp * step);
        match (at(STEP), at(-STEP)) {
            (Some(after), Some(before)) => -super::limits::wrapped(after - before) / (2.0 * STEP),
            _ => 0.0,
        }
    });
    row.collect()
}

/// Where a bone looks, where it should, and from how far.
struct Sight {
    seen: DVec3,
    wanted: DVec3,
    away: f64,
}

/// A point at the bone's head can be looked at in any direction.
fn sight(state: &State<'_>, end: BoneIndex, axis: DVec3, point: DVec3) -> Sight {
    let seen = state.world[end.get()].transform_vector3(axis).normalize_or(DVec3::Z);
    let to = point - state.head(end);
    Sight { seen, wanted: to.try_normalize().unwrap_or(seen), away: to.length() }
}

/// Rows of what is given by columns.
fn transposed(columns: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}
