//! Puts the bodies of a frame into its pose.

use super::bodies::{Bodies, Body, frame};
use super::simulate::Shown;
use crate::local::Local;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneVec, Skeleton};

/// The pose of a frame, bone to world: the animation where nothing moves by itself, and what hangs on bodies with them.
///
/// The bodies make a pose of their own. A bone of weight w is w of the way from its local transform in the animation to that in the pose of
/// the bodies. A soft body is pressed by the bone above it, if that has nothing else to do: what is scaled along the axes of the world and
/// turned below can be written as rotations and scales, in a GLB as well.
pub fn show(
    animated: &BoneVec<Local>,
    bodies: &Bodies,
    shown: &[Option<Shown>],
    skeleton: &Skeleton,
) -> BoneVec<DAffine3> {
    let mut body_of = vec![None; skeleton.len()];
    bodies.all.iter().zip(shown).for_each(|(body, shown)| body_of[body.bone.get()] = shown.map(|shown| (body, shown)));
    let mut pressing = vec![None; skeleton.len()];
    for (body, shown) in body_of.iter().flatten() {
        if let Some(bone) = body.presses {
            pressing[bone.get()] = Some((body, shown));
        }
    }
    let mut animation: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
    let mut moved: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
    let mut all: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        let own = animated[bone].affine();
        let parent = skeleton.parents()[bone].map(|parent| parent.get());
        let under = |worlds: &[DAffine3], own: DAffine3| parent.map_or(own, |parent| worlds[parent] * own);
        animation.push(under(&animation, own));
        let (body, shown): (&Body, Shown) = match (body_of[bone.get()], pressing[bone.get()]) {
            (Some(of), _) => of,
            (None, Some((body, shown))) => (*body, *shown),
            (None, None) => {
                moved.push(under(&moved, own));
                all.push(under(&all, own));
                continue;
            }
        };
        // What the animation leaves of the bone's size.
        let animated_world = animation[bone.get()];
        let size = DMat3::from_quat(frame(&animated_world).0).transpose() * animated_world.matrix3;
        let middle = shown.head + shown.rotation * body.shape.middle;
        let across = 1.0 / shown.height.sqrt();
        let pressed = DMat3::from_diagonal(DVec3::new(across, shown.height, across));
        let world = match body.bone == bone {
            true => DAffine3 {
                matrix3: pressed * DMat3::from_quat(shown.rotation) * size,
                translation: middle + pressed * (shown.head - middle),
            },
            false => DAffine3 { matrix3: pressed, translation: middle },
        };
        let local = parent.map_or(world, |parent| moved[parent].inverse() * world);
        moved.push(world);
        let blended = match shown.weight {
            weight if weight >= 1.0 => local,
            weight => animated[bone].towards(&Local::new(&local), weight).affine(),
        };
        all.push(under(&all, blended));
    }
    BoneVec::new(all)
}
