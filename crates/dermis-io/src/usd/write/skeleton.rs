//! The skeleton: joints as paths, with the places where they were bound and where they are without a clip.

use super::names::unique;
use super::text::Text;
use crate::skinned_scene::Renamed;
use crate::skinned_scene::motion::{Place, Stage};
use crate::{Format, WriteError};
use dermis_rig::Skeleton;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};

/// Bytes that the paths of all joints have at most: a chain of bones has as many as their number squared.
const MOST_PATHS: usize = 16 << 20;

/// A joint of the file.
pub(super) struct Joint {
    pub(super) path: String,
    /// The bone as it is named.
    name: String,
    bound: DAffine3,
    pub(super) rest: DAffine3,
    /// The bone it belongs to.
    pub(super) bone: usize,
    pub(super) part: Part,
}

/// What a joint has of its bone's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// All but the lower rotation of a bone that shears.
    Upper,
    /// That rotation.
    Lower,
}

/// The joints of a skeleton.
#[derive(Default)]
pub(super) struct Joints {
    pub(super) list: Vec<Joint>,
    /// The joint of every bone.
    pub(super) of_bones: Vec<usize>,
    is_renamed: bool,
}

impl Joints {
    /// # Errors
    /// [`WriteError::NotFinite`] for a place that is not, [`WriteError::CannotHold`] for chains that are too long.
    pub(super) fn new(stage: &Stage<'_>, skeleton: &Skeleton, renamed: &mut Vec<Renamed>) -> Result<Self, WriteError> {
        let bones = skeleton.names().iter().map(String::as_str);
        let shearing = bones.clone().zip(&stage.shears).filter(|(_, shears)| **shears);
        let more: Vec<String> = shearing.map(|(name, _)| format!("{name}_stretch")).collect();
        let given: Vec<(&'static str, &str)> =
            bones.map(|name| ("bone", name)).chain(more.iter().map(|name| ("node", name.as_str()))).collect();
        let before = renamed.len();
        let names = unique(&given, renamed);
        renamed.retain(|one| one.kind != "node"); // whose names nobody gave
        let mut made = Self { is_renamed: renamed.len() > before, ..Self::default() };
        let mut more = names[skeleton.len()..].iter();
        let turn = DAffine3::from_mat3(stage.turn);
        let mut bytes = 0;
        for ((bone, parent), place) in skeleton.parents().enumerate().zip(stage.rest_places::<DQuat>()) {
            let at = bone.get();
            let bind = turn * skeleton.bind()[bone] * DAffine3::from_mat3(stage.sizes[at]);
            let bound = DAffine3 { translation: bind.translation / stage.metres, ..bind };
            let mut above = parent.map(|parent| made.list[made.of_bones[parent.get()]].path.clone());
            let below = |above: &Option<String>, name: &str| match above {
                Some(above) => format!("{above}/{name}"),
                None => name.to_owned(),
            };
            let Place { translation, rotation, scale, lower, .. } = place;
            let mut rest = DAffine3::from_scale_rotation_translation(scale, rotation, translation);
            if !(rest.is_finite() && bound.is_finite()) {
                let what = format!("the place of bone \"{}\"", skeleton.names()[bone]);
                return Err(WriteError::NotFinite { what });
            }
            let mut part = Part::Whole;
            if let Some(name) = stage.shears[at].then(|| more.next()).flatten() {
                let path = below(&above, name);
                above = Some(path.clone());
                made.list.push(Joint { path, name: name.clone(), bound, rest, bone: at, part: Part::Upper });
                (rest, part) = (DAffine3::from_quat(lower), Part::Lower);
            }
            made.of_bones.push(made.list.len());
            let (path, name) = (below(&above, &names[at]), skeleton.names()[bone].clone());
            bytes += path.len();
            if bytes > MOST_PATHS {
                let what = format!("joints whose paths have more than {} MB together", MOST_PATHS >> 20);
                return Err(WriteError::CannotHold { format: Format::Usd, what });
            }
            made.list.push(Joint { path, name, bound, rest, bone: at, part });
        }
        Ok(made)
    }

    /// One joint in the origin, on which shapes of a mesh without a skeleton are shown.
    pub(super) fn lone() -> Self {
        let joint = Joint {
            path: "root".into(),
            name: "root".into(),
            bound: DAffine3::IDENTITY,
            rest: DAffine3::IDENTITY,
            bone: 0,
            part: Part::Whole,
        };
        Self { list: vec![joint], of_bones: vec![0], is_renamed: false }
    }

    /// - `animation`: the path of the animation that moves it
    pub(super) fn write(&self, name: &str, animation: Option<&str>, text: &mut Text) {
        let api = "prepend apiSchemas = [\"SkelBindingAPI\"]".to_owned();
        text.open("Skeleton", name, &[api]);
        text.texts("uniform token[] joints", self.list.iter().map(|joint| joint.path.as_str()));
        if self.is_renamed {
            text.texts("uniform token[] jointNames", self.list.iter().map(|joint| joint.name.as_str()));
        }
        text.matrices("uniform matrix4d[] bindTransforms", self.list.iter().map(|joint| matrix(&joint.bound)));
        text.matrices("uniform matrix4d[] restTransforms", self.list.iter().map(|joint| matrix(&joint.rest)));
        if let Some(path) = animation {
            text.line(&format!("rel skel:animationSource = <{path}>"));
        }
        text.close();
    }

    /// The joints as a list of an animation.
    pub(super) fn write_names(&self, text: &mut Text) {
        text.texts("uniform token[] joints", self.list.iter().map(|joint| joint.path.as_str()));
    }
}

/// The identity as the place where a mesh was bound: its points stand in the world.
pub(super) fn write_geometry_bind(text: &mut Text) {
    text.line("matrix4d primvars:skel:geomBindTransform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )");
}

/// Rows of a matrix by which row vectors are multiplied.
fn matrix(map: &DAffine3) -> [[f64; 4]; 4] {
    let row = |v: DVec3, w: f64| [v.x, v.y, v.z, w];
    let m = map.matrix3;
    [row(m.x_axis, 0.0), row(m.y_axis, 0.0), row(m.z_axis, 0.0), row(map.translation, 1.0)]
}
