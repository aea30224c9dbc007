//! The joints of an exercise: their ends of range, and rotations for numbers in 0..1.

use crate::ik::JointLimits;
use dermis_rig::glam::{DQuat, DVec2};
use dermis_rig::{BoneIndex, BoneVec, Skeleton};

/// Ends of a range count if they are this part of the joint's farthest end, or [`FAR`]: a collar bone's 10° down beside its 30° up show
/// nothing that poses spread over all ranges do not.
const COUNTS: f64 = 0.4;
/// Ends as far as this count, radians (30°): the twist of a forearm beside its 130° of bend.
const FAR: f64 = 0.52;

/// By which powers of a uniform number the size of a swing and of a single angle grow: 1/2 and 1 would be uniform in area and in angle. On
/// the bundled body (docs/exercise.md) the walk's error is as good with 1/2 and 1 as with 1 and 3/2, and a tenth worse with 3/2 and 2.
const GATHERED: (f64, f64) = (0.75, 1.25);

/// Ranges smaller than this are not exercised, radians (2°): skin hardly shows them.
const LEAST: f64 = 0.035;

/// A joint that moves.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    pub bone: BoneIndex,
    limits: JointLimits,
}

/// How a joint is turned: about its first and its second axis of swing and about itself, radians; of a hinge by the first alone.
pub(super) type Angles = [f64; 3];

/// A joint turned to somewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Turned {
    /// Which of the exercise's joints.
    pub joint: usize,
    pub angles: Angles,
}

impl Joint {
    /// The joints of a skeleton that move by more than 2°, parents first.
    pub fn all(skeleton: &Skeleton, limits: &BoneVec<JointLimits>) -> Vec<Self> {
        let joint = |bone: BoneIndex| Joint {
            bone,
            // What turns freely is exercised as a joint that is not known.
            limits: match &limits[bone] {
                JointLimits::Free => super::unknown(),
                other => other.clone(),
            },
        };
        let moves = |joint: &Joint| joint.ranges().iter().flatten().any(|end| end.abs() > LEAST);
        skeleton.bones().map(joint).filter(moves).collect()
    }

    /// The ranges of the three angles.
    pub fn ranges(&self) -> [[f64; 2]; 3] {
        match &self.limits {
            JointLimits::Free | JointLimits::Locked => [[0.0; 2]; 3],
            JointLimits::Hinge(hinge) => [hinge.range(), [0.0; 2], [0.0; 2]],
            JointLimits::Cone(cone) => [cone.swing()[0], cone.swing()[1], cone.twist()],
        }
    }

    /// The ends of the angles' ranges that count, the farthest first.
    pub fn ends(&self) -> Vec<Angles> {
        let farthest = self.ranges().iter().flatten().map(|end| end.abs()).fold(0.0, f64::max);
        let mut ends = Vec::new();
        for (at, range) in self.ranges().iter().enumerate() {
            for end in range.iter().filter(|end| end.abs() > LEAST && end.abs() >= (COUNTS * farthest).min(FAR)) {
                let mut angles = [0.0; 3];
                angles[at] = *end;
                ends.push(angles);
            }
        }
        let size = |angles: &Angles| angles.iter().map(|a| a.abs()).fold(0.0, f64::max);
        // A stable order: equal ends stay in the order of the axes.
        ends.sort_by(|a, b| size(b).total_cmp(&size(a)));
        ends
    }

    /// The rotation of some angles.
    pub fn rotation(&self, angles: Angles) -> DQuat {
        let q = match &self.limits {
            JointLimits::Free | JointLimits::Locked => DQuat::IDENTITY,
            JointLimits::Hinge(hinge) => DQuat::from_axis_angle(hinge.axis(), angles[0]),
            JointLimits::Cone(cone) => cone.together(DVec2::new(angles[0], angles[1]), angles[2]),
        };
        self.limits.nearest(q)
    }

    /// Angles for three numbers in 0..1: swings in every direction by its share of the area, and all of them denser near rest by [`GATHERED`].
    pub fn spread(&self, [u, v, w]: [f64; 3]) -> Angles {
        let [x, y, twist] = self.ranges();
        let between = |[from, to]: [f64; 2], at: f64| {
            let angle = from + (to - from) * at;
            let end = if angle < 0.0 { from } else { to };
            // A range without rest has no place to gather at.
            if from * to > 0.0 || end == 0.0 { angle } else { end * (angle / end).powf(GATHERED.1) }
        };
        if matches!(self.limits, JointLimits::Hinge(_)) {
            return [between(x, u), 0.0, 0.0];
        }
        if y == [0.0; 2] {
            return [between(x, u), 0.0, between(twist, w)];
        }
        // Each quarter ellipse gets the share of its area, |x-end| · |y-end|.
        let quarters = [(1, 1), (0, 1), (0, 0), (1, 0)];
        let areas = quarters.map(|(i, j)| (x[i] * y[j]).abs());
        let total: f64 = areas.iter().sum();
        let mut left = u * total;
        let mut chosen = (quarters[3], 1.0);
        for (quarter, area) in quarters.into_iter().zip(areas) {
            if left < area {
                chosen = (quarter, left / area);
                break;
            }
            left -= area;
        }
        let ((i, j), along) = chosen;
        let (angle, radius) = (std::f64::consts::FRAC_PI_2 * along, v.powf(GATHERED.0));
        [x[i] * radius * angle.cos(), y[j] * radius * angle.sin(), between(twist, w)]
    }
}
