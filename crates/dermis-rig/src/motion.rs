//! A motion: the skeleton over time.

use crate::{Skeleton, WorldPose};

/// One frame of a motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What the frame is called in reports, such as "walk 3".
    pub label: String,
    /// Seconds from the start of the motion, if it has time.
    pub time: Option<f64>,
    /// Joint-to-world matrices.
    pub pose: WorldPose,
}

/// Poses in order, all of one skeleton.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// What the motion is called.
    pub name: String,
    /// The frames.
    pub frames: Vec<Frame>,
}

impl Motion {
    /// The same motion with bones in the order of `skeleton`, matched by name.
    ///
    /// `names` are the bones of the motion. `Err` lists bones of the skeleton that the motion lacks; a bone the motion
    /// has beyond them is ignored.
    pub fn for_skeleton(self, names: &[String], skeleton: &Skeleton) -> Result<Motion, Vec<String>> {
        let places: Vec<_> = skeleton.names().iter().map(|n| names.iter().position(|m| m == n)).collect();
        let missing: Vec<_> =
            places.iter().zip(skeleton.names().iter()).filter(|(p, _)| p.is_none()).map(|(_, n)| n.clone()).collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let reorder = |pose: &WorldPose| {
            let bones = places.iter().flatten().map(|&at| pose.bones.as_slice()[at]).collect();
            WorldPose { channels: pose.channels.clone(), ..WorldPose::new(bones) }
        };
        let frames = self.frames.into_iter().map(|f| Frame { pose: reorder(&f.pose), ..f });
        Ok(Motion { name: self.name, frames: frames.collect() })
    }

    /// The same motion with the bones of `skeleton`; those that the motion lacks stay as they are at rest against the bone above them.
    ///
    /// `names` are the bones of the motion. `None` if the skeleton has none of them.
    pub fn completed_for(self, names: &[String], skeleton: &Skeleton) -> Option<Motion> {
        let places: Vec<_> = skeleton.names().iter().map(|n| names.iter().position(|m| m == n)).collect();
        places.iter().any(Option::is_some).then_some(())?;
        let complete = |pose: &WorldPose| {
            let mut world = skeleton.bind().to_vec();
            for bone in skeleton.bones() {
                world[bone.get()] = match (places[bone.get()], skeleton.parents()[bone]) {
                    (Some(at), _) => pose.bones.as_slice()[at],
                    (None, Some(parent)) => {
                        world[parent.get()] * skeleton.inverse_bind()[parent] * skeleton.bind()[bone]
                    }
                    (None, None) => skeleton.bind()[bone],
                };
            }
            WorldPose { channels: pose.channels.clone(), ..WorldPose::new(world) }
        };
        let frames = self.frames.into_iter().map(|f| Frame { pose: complete(&f.pose), ..f });
        Some(Motion { name: self.name, frames: frames.collect() })
    }
}
