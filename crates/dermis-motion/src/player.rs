//! Plays a scene: one pass over its frames.

use crate::controls::{Controls, Numbers, Place, Value};
use crate::dynamics::{Bodies, BodySpec, DynamicsSpec, Sample, show, simulate};
use crate::goals::{Aim, GoalReport, Goals, Posed};
use crate::ik::Reach;
use crate::key_path::KeyPath;
use crate::layer::{Layer, Mix, Track, below};
use crate::local::Local;
use crate::play_error::PlayError;
use crate::scene::{Axes, Drive, Fault, From, Scene, SceneError, Size, Turn, few};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::memory::at_most;
use dermis_rig::pattern::matches;
use dermis_rig::progress::proceed;
use dermis_rig::rotation::{nearest_rotation, quat_from_matrix};
use dermis_rig::{BoneIndex, BoneVec, Frame, Motion, Progress, Rig, Skeleton};
use std::sync::Arc;

/// A scene that is ready to be played on a rig.
#[derive(Debug)]
pub struct Player<'a> {
    scene: &'a Scene,
    skeleton: &'a Skeleton,
    controls: Controls,
    tracks: Vec<Track>,
    /// How much of each layer every bone takes.
    masks: Vec<BoneVec<bool>>,
    driven: Vec<Vec<(BoneIndex, Place)>>,
    /// For every value of a shape the targets that it moves, by place.
    shapes: Vec<Vec<usize>>,
    targets: usize,
    bodies: Option<Bodies>,
}

/// What a scene shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The poses, with times from the first frame.
    pub motion: Motion,
    /// Weights of the rig's morph targets in every frame, in their order.
    pub shape_weights: Vec<Vec<f64>>,
    /// How every goal fared.
    pub goals: Vec<GoalReport>,
    /// The bodies that moved, with the names of their bones and kilograms.
    pub bodies: Vec<(String, f64)>,
}

impl<'a> Player<'a> {
    /// Prepares a scene for a skeleton, the names of the rig's morph targets, and the clips that its layers name.
    ///
    /// # Errors
    /// [`SceneError`], naming what does not fit.
    ///
    /// # Panics
    /// If a layer names a clip that is not among `clips`.
    pub fn new(
        scene: &'a Scene,
        skeleton: &'a Skeleton,
        shapes: &[String],
        clips: &[Motion],
    ) -> Result<Self, SceneError> {
        let root = KeyPath::new();
        let controls = Controls::new(&scene.controls, &scene.maps)?;
        let (mut tracks, mut masks) = (Vec::new(), Vec::new());
        for (at, layer) in scene.layers.iter().enumerate() {
            let path = root.key("layers").at(at);
            let fault = |what| SceneError::new(path.clone(), Fault::Unfit(what));
            tracks.push(Track::new(layer, &clips[layer.clip], skeleton).map_err(fault)?);
            masks.push(mask(layer, skeleton, &path)?);
            controls.check(&layer.weight, &path.key("weight"), &[])?;
            if let Some(time) = &layer.time {
                controls.check(time, &path.key("time"), &[])?;
            }
        }
        let mut driven = Vec::new();
        for drive in &scene.drives {
            let path = root.key("bones").key(&drive.bones);
            let bones = bones_of(&drive.bones, skeleton, &path)?;
            let count = bones.len() as f64;
            let place = |(at, bone): (usize, BoneIndex)| {
                (bone, Place { i: at as f64, n: count, at: skeleton.bind()[bone].translation.to_array() })
            };
            driven.push(bones.into_iter().enumerate().map(place).collect());
            check_drive(drive, &controls, &path)?;
        }
        let mut moved = Vec::new();
        for (pattern, value) in &scene.shapes {
            let path = root.key("shapes").key(pattern);
            let found: Vec<usize> = (0..shapes.len()).filter(|at| matches(pattern, &shapes[*at])).collect();
            if found.is_empty() {
                let fault = Fault::NoShape { shape: pattern.clone(), shapes: few(shapes.iter()) };
                return Err(SceneError::new(path, fault));
            }
            controls.check(value, &path, &["i", "n"])?;
            moved.push(found);
        }
        for (name, value) in &scene.channels {
            controls.check(value, &root.key("channels").key(name), &[])?;
        }
        for (at, goal) in scene.goals.iter().enumerate() {
            let path = root.key("goals").at(at);
            controls.check(&goal.weight, &path.key("weight"), &[])?;
            let check = |values: &[Value; 3], key: &str| {
                values.iter().try_for_each(|value| controls.check(value, &path.key(key), &[]))
            };
            match &goal.aim {
                Aim::Place(target, turn) => {
                    check(target, "target")?;
                    turn.iter().try_for_each(|turn| check_turn(turn, &controls, &path.key("turn"), &[]))?;
                }
                Aim::LookAt(_, point) => check(point, "look-at")?,
                Aim::Keep => {}
            }
            goal.pole.iter().try_for_each(|pole| check(pole, "pole"))?;
        }
        Goals::new(&scene.goals, &scene.limits, skeleton)?;
        check_size(scene, skeleton, &driven, &moved)?;
        let targets = shapes.len();
        Ok(Self { scene, skeleton, controls, tracks, masks, driven, shapes: moved, targets, bodies: None })
    }

    /// Gives the bodies of the scene's dynamics their masses and joints, from the rig that the player plays on.
    ///
    /// # Errors
    /// [`SceneError`]: bones that cannot be bodies, numbers that are out of range.
    pub fn with_bodies(mut self, rig: &Rig) -> Result<Self, SceneError> {
        if let Some(spec) = &self.scene.dynamics {
            spec.check(&self.scene.clock)?;
            self.check_dynamics(spec)?;
            let bodies = Bodies::new(spec, &self.scene.limits, rig)?;
            bodies.check_work(spec, &self.scene.clock)?;
            self.bodies = Some(bodies);
        }
        Ok(self)
    }

    /// Plays all frames, from the first to the last.
    ///
    /// # Errors
    /// [`PlayError`]: a value that is not finite, with its place and time; [`PlayError::Cancelled`].
    pub fn play(&self, progress: Progress<'_>) -> Result<Played, PlayError> {
        let clock = &self.scene.clock;
        let mut goals = Goals::new(&self.scene.goals, &self.scene.limits, self.skeleton)?;
        let rest = rest(self.skeleton);
        let mut frames = Vec::with_capacity(clock.frames());
        let mut shape_weights = Vec::with_capacity(clock.frames());
        let mut reports: Vec<GoalReport> =
            self.scene.goals.iter().map(|goal| GoalReport { bone: goal.bone.clone(), frames: Vec::new() }).collect();
        let mut locals = Vec::new();
        for frame in 0..clock.frames() {
            proceed(progress, frame, clock.frames()).map_err(|_| PlayError::Cancelled)?;
            let numbers = self.controls.at(clock.time(frame))?;
            let (posed, reaches) = self.pose(&mut goals, &rest, &numbers)?;
            reports.iter_mut().zip(reaches).for_each(|(report, reach)| report.frames.push(reach));
            let mut pose = dermis_rig::WorldPose { bones: posed.world, channels: Vec::new() };
            for (name, value) in &self.scene.channels {
                let path = KeyPath::new().key("channels").key(name);
                pose.channels.push((Arc::from(name.as_str()), numbers.value(value, &Place::default(), &path)?));
            }
            if self.scene.dynamics.is_some() {
                locals.push(posed.local);
            }
            let label = format!("{} {frame}", self.scene.name);
            frames.push(Frame { label, time: Some(clock.elapsed(frame)), pose });
            shape_weights.push(self.weights(&numbers)?);
        }
        self.move_bodies(&mut frames, &locals, &rest, progress)?;
        let name = |(bone, mass)| (self.skeleton.names()[bone].clone(), mass);
        let bodies = self.bodies.iter().flat_map(Bodies::masses).map(name).collect();
        Ok(Played { motion: Motion { name: self.scene.name.clone(), frames }, shape_weights, goals: reports, bodies })
    }

    /// The pose at a time, after layers, drives and goals.
    fn pose(
        &self,
        goals: &mut Goals<'_>,
        rest: &BoneVec<Local>,
        numbers: &Numbers<'_>,
    ) -> Result<(Posed, Vec<Option<Reach>>), SceneError> {
        let layered = self.layered(rest, numbers)?;
        let mut local = layered.clone();
        for (drive, bones) in self.scene.drives.iter().zip(&self.driven) {
            self.drive(drive, bones, rest, &mut local, numbers)?;
        }
        let mut posed = Posed::new(local, self.skeleton);
        let mut reaches = Vec::new();
        if !self.scene.goals.is_empty() {
            (posed, reaches) = goals.reach(posed, &Posed::new(layered, self.skeleton), numbers)?;
        }
        let lost = self.skeleton.bones().find(|bone| !posed.world[*bone].is_finite());
        if let Some(bone) = lost {
            let (name, time) = (&self.skeleton.names()[bone], numbers.time());
            let what = format!("numbers grow beyond all bounds: the bone \"{name:.80}\" is nowhere at {time} s");
            return Err(SceneError::new(KeyPath::new().key("bones"), Fault::Unfit(what)));
        }
        Ok((posed, reaches))
    }

    /// Lets the bodies of the scene move, and puts them into the poses of its frames, whose local transforms are given.
    fn move_bodies(
        &self,
        frames: &mut [Frame],
        locals: &[BoneVec<Local>],
        rest: &BoneVec<Local>,
        progress: Progress<'_>,
    ) -> Result<(), PlayError> {
        let Some(spec) = &self.scene.dynamics else { return Ok(()) };
        let path = KeyPath::new().key("dynamics");
        let Some(bodies) = &self.bodies else {
            let what = "the player has no bodies: they come from the rig's skin".into();
            return Err(SceneError::new(path, Fault::Unfit(what)).into());
        };
        // Goals go on from the step before: those of the frames do not know the steps.
        let mut goals = Goals::new(&self.scene.goals, &self.scene.limits, self.skeleton)?;
        let sample = |time: f64| {
            let numbers = self.controls.at(time)?;
            let weight = |(at, body): (usize, &BodySpec)| {
                let path = path.key("bodies").at(at).key("weight");
                Ok(numbers.value(&body.weight, &Place::default(), &path)?.clamp(0.0, 1.0))
            };
            let weights = spec.bodies.iter().enumerate().map(weight).collect::<Result<_, SceneError>>()?;
            let wind = match &spec.air {
                Some(air) => numbers.vector(&air.wind, &Place::default(), &path.key("wind"))?,
                None => DVec3::ZERO,
            };
            Ok(Sample { world: self.pose(&mut goals, rest, &numbers)?.0.world, weights, wind })
        };
        let shown = simulate(bodies, spec, &self.scene.clock, self.skeleton, sample, progress)?;
        for ((frame, local), shown) in frames.iter_mut().zip(locals).zip(&shown) {
            frame.pose.bones = show(local, bodies, shown, self.skeleton);
        }
        Ok(())
    }

    fn check_dynamics(&self, spec: &DynamicsSpec) -> Result<(), SceneError> {
        let path = KeyPath::new().key("dynamics");
        if let Some(air) = &spec.air {
            air.wind.iter().try_for_each(|value| self.controls.check(value, &path.key("wind"), &[]))?;
        }
        let mut bodies = spec.bodies.iter().enumerate();
        bodies
            .try_for_each(|(at, body)| self.controls.check(&body.weight, &path.key("bodies").at(at).key("weight"), &[]))
    }

    fn layered(&self, rest: &BoneVec<Local>, numbers: &Numbers<'_>) -> Result<BoneVec<Local>, SceneError> {
        let mut pose = rest.clone();
        for (at, (layer, track)) in self.scene.layers.iter().zip(&self.tracks).enumerate() {
            let path = KeyPath::new().key("layers").at(at);
            let weight = numbers.value(&layer.weight, &Place::default(), &path.key("weight"))?.clamp(0.0, 1.0);
            if weight == 0.0 {
                continue;
            }
            let time = match &layer.time {
                Some(time) => numbers.value(time, &Place::default(), &path.key("time"))?,
                None => track.time(layer, numbers.time()),
            };
            let clip = track.pose(time);
            let first = track.first();
            for bone in self.skeleton.bones().filter(|bone| self.masks[at][*bone]) {
                let below = &pose[bone];
                pose[bone] = match layer.mix {
                    Mix::Over => below.towards(&clip[bone], weight),
                    Mix::AddFromRest => below.plus(&clip[bone], &rest[bone], weight),
                    Mix::AddFromFirst => below.plus(&clip[bone], &first[bone], weight),
                };
            }
        }
        Ok(pose)
    }

    fn drive(
        &self,
        drive: &Drive,
        bones: &[(BoneIndex, Place)],
        rest: &BoneVec<Local>,
        pose: &mut BoneVec<Local>,
        numbers: &Numbers<'_>,
    ) -> Result<(), SceneError> {
        let path = KeyPath::new().key("bones").key(&drive.bones);
        for (bone, place) in bones {
            let mut local = match drive.from {
                From::Layers => pose[*bone],
                From::Rest => rest[*bone],
            };
            if let Some(shift) = &drive.shift {
                let shift = numbers.vector(shift, place, &path.key("shift"))?;
                local.translation += match (drive.axes, self.skeleton.parents()[*bone]) {
                    (Axes::World, Some(parent)) => bind_rotation(self.skeleton, parent).conjugate() * shift,
                    _ => shift,
                };
            }
            if let Some(turn) = &drive.turn {
                let turn = numbers.turn(turn, place, &path.key("turn"))?;
                let turn = match drive.axes {
                    Axes::Own => turn,
                    Axes::World => {
                        let rest = bind_rotation(self.skeleton, *bone);
                        rest.conjugate() * turn * rest
                    }
                };
                local.rotation = (local.rotation * turn).normalize();
            }
            if let Some(size) = &drive.size {
                local.stretch *= DMat3::from_diagonal(size_at(size, place, numbers, &size_path(size, &path))?);
            }
            pose[*bone] = local;
        }
        Ok(())
    }

    fn weights(&self, numbers: &Numbers<'_>) -> Result<Vec<f64>, SceneError> {
        let mut weights = vec![0.0; self.targets];
        for ((pattern, value), targets) in self.scene.shapes.iter().zip(&self.shapes) {
            let path = KeyPath::new().key("shapes").key(pattern);
            for (at, &target) in targets.iter().enumerate() {
                let place = Place { i: at as f64, n: targets.len() as f64, ..Place::default() };
                weights[target] = numbers.value(value, &place, &path)?;
            }
        }
        Ok(weights)
    }
}

/// The most poses of one bone that a motion holds: 3 GB of matrices, or an hour of 388 bones at 24 frames per second.
const MOST_POSES: usize = at_most(3u64 << 30) / 96;

/// The most letters of expressions that a scene evaluates: some minutes, where the grass of the repository takes 8e6 and a moment.
const MOST_LETTERS: u64 = 20_000_000_000;

/// Refuses scenes that would take more memory or time than anybody waits for.
fn check_size(
    scene: &Scene,
    skeleton: &Skeleton,
    driven: &[Vec<(BoneIndex, Place)>],
    shapes: &[Vec<usize>],
) -> Result<(), SceneError> {
    let frames = scene.clock.frames();
    let fault = |what| Err(SceneError::new(KeyPath::new().key("time"), Fault::Unfit(what)));
    let poses = frames.saturating_mul(skeleton.len());
    if poses > MOST_POSES {
        return fault(format!(
            "{frames} frames of {} bones are more than {MOST_POSES} poses of a bone",
            skeleton.len()
        ));
    }
    let letters = |value: &Value| match value {
        Value::Expression(expression) => expression.text().len(),
        Value::Number(_) | Value::Curve(_) => 0,
    };
    let of_all = |values: &[Value]| values.iter().map(letters).sum::<usize>();
    let of_drive = |drive: &Drive| {
        let turn = match &drive.turn {
            Some(Turn::Euler(angles, _)) => of_all(angles),
            Some(Turn::About(_, angle)) => letters(angle),
            Some(Turn::Keys(_)) | None => 0,
        };
        let size = match &drive.size {
            Some(Size::Axes(axes)) => of_all(axes),
            Some(Size::Stretch(_, by)) => letters(by),
            None => 0,
        };
        turn + size + drive.shift.as_ref().map_or(0, |shift| of_all(shift))
    };
    let a_frame = scene.controls.iter().map(|control| of_all(&control.numbers)).sum::<usize>()
        + scene.drives.iter().zip(driven).map(|(drive, bones)| of_drive(drive) * bones.len()).sum::<usize>()
        + scene.shapes.iter().zip(shapes).map(|((_, value), targets)| letters(value) * targets.len()).sum::<usize>();
    let all = (a_frame as u64).saturating_mul(frames as u64);
    match all > MOST_LETTERS {
        true => fault(format!("{frames} frames evaluate {all} letters of expressions; {MOST_LETTERS} are the most")),
        false => Ok(()),
    }
}

impl Numbers<'_> {
    /// Three values at this time.
    ///
    /// # Errors
    /// As [`Numbers::value`].
    pub fn vector(&self, values: &[Value; 3], place: &Place, path: &KeyPath) -> Result<DVec3, SceneError> {
        let [x, y, z] = values;
        let value = |value: &Value| self.value(value, place, path);
        Ok(DVec3::new(value(x)?, value(y)?, value(z)?))
    }

    /// A rotation at this time.
    ///
    /// # Errors
    /// As [`Numbers::value`].
    pub fn turn(&self, turn: &Turn, place: &Place, path: &KeyPath) -> Result<DQuat, SceneError> {
        Ok(match turn {
            Turn::Euler(angles, order) => {
                order.rotation(self.vector(angles, place, path)?.to_array().map(f64::to_radians))
            }
            Turn::About(axis, angle) => DQuat::from_axis_angle(*axis, self.value(angle, place, path)?.to_radians()),
            Turn::Keys(curve) => curve.rotation(self.time()),
        })
    }
}

fn size_at(size: &Size, place: &Place, numbers: &Numbers<'_>, path: &KeyPath) -> Result<DVec3, SceneError> {
    let positive = |value: &Value| match numbers.value(value, place, path)? {
        // Smaller ones leave matrices that cannot be inverted.
        value if value > 1e-6 => Ok(value),
        value => Err(SceneError::new(path.clone(), Fault::NotPositive { time: numbers.time(), value })),
    };
    Ok(match size {
        Size::Axes([x, y, z]) => DVec3::new(positive(x)?, positive(y)?, positive(z)?),
        Size::Stretch(axis, by) => {
            let by = positive(by)?;
            let across = 1.0 / by.sqrt();
            DVec3::splat(across) + axis.unit() * (by - across)
        }
    })
}

fn bind_rotation(skeleton: &Skeleton, bone: BoneIndex) -> DQuat {
    quat_from_matrix(&nearest_rotation(&skeleton.bind()[bone].matrix3))
}

fn size_path(size: &Size, path: &KeyPath) -> KeyPath {
    match size {
        Size::Axes(_) => path.key("size"),
        Size::Stretch(..) => path.key("stretch").key("by"),
    }
}

fn rest(skeleton: &Skeleton) -> BoneVec<Local> {
    let local = skeleton.bones().map(|bone| match skeleton.parents()[bone] {
        Some(parent) => skeleton.inverse_bind()[parent] * skeleton.bind()[bone],
        None => skeleton.bind()[bone],
    });
    BoneVec::new(local.map(|local| Local::new(&local)).collect())
}

/// The bones of a name or pattern, in skeleton order.
fn bones_of(pattern: &str, skeleton: &Skeleton, path: &KeyPath) -> Result<Vec<BoneIndex>, SceneError> {
    let found: Vec<BoneIndex> = skeleton.bones().filter(|bone| matches(pattern, &skeleton.names()[*bone])).collect();
    match found.is_empty() {
        false => Ok(found),
        true => {
            let bones = few(skeleton.names().iter());
            Err(SceneError::new(path.clone(), Fault::NoBone { bone: pattern.into(), bones }))
        }
    }
}

fn mask(layer: &Layer, skeleton: &Skeleton, path: &KeyPath) -> Result<BoneVec<bool>, SceneError> {
    if layer.bones.is_empty() {
        return Ok(BoneVec::new(vec![true; skeleton.len()]));
    }
    let mut bones = Vec::new();
    for (at, pattern) in layer.bones.iter().enumerate() {
        bones.extend(bones_of(pattern, skeleton, &path.key("bones").at(at))?);
    }
    if layer.below {
        return Ok(below(skeleton, &bones));
    }
    let mut mask = BoneVec::new(vec![false; skeleton.len()]);
    bones.into_iter().for_each(|bone| mask[bone] = true);
    Ok(mask)
}

/// Names that the values of a driven bone know beside the controls.
const OF_BONES: [&str; 5] = ["i", "n", "x", "y", "z"];

fn check_drive(drive: &Drive, controls: &Controls, path: &KeyPath) -> Result<(), SceneError> {
    let check = |values: &[Value], key: &str| {
        values.iter().try_for_each(|value| controls.check(value, &path.key(key), &OF_BONES))
    };
    if let Some(shift) = &drive.shift {
        check(shift, "shift")?;
    }
    if let Some(turn) = &drive.turn {
        check_turn(turn, controls, &path.key("turn"), &OF_BONES)?;
    }
    match &drive.size {
        Some(size) => {
            let path = size_path(size, path);
            let values = match size {
                Size::Axes(axes) => &axes[..],
                Size::Stretch(_, by) => std::slice::from_ref(by),
            };
            values.iter().try_for_each(|value| controls.check(value, &path, &OF_BONES))
        }
        None => Ok(()),
    }
}

fn check_turn(turn: &Turn, controls: &Controls, path: &KeyPath, beside: &[&str]) -> Result<(), SceneError> {
    match turn {
        Turn::Euler(angles, _) => angles.iter().try_for_each(|angle| controls.check(angle, path, beside)),
        Turn::About(_, angle) => controls.check(angle, path, beside),
        Turn::Keys(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Clock;
    use dermis_rig::glam::DAffine3;
    use dermis_rig::silent;

    fn chain(bones: usize) -> Skeleton {
        let names = (0..bones).map(|bone| format!("b{bone}")).collect();
        let parents = (0..bones).map(|bone| bone.checked_sub(1).map(BoneIndex::new)).collect();
        let turned = DAffine3::from_rotation_x(0.4);
        let bind = (0..bones).map(|bone| DAffine3::from_translation(DVec3::X * bone as f64) * turned).collect();
        Skeleton::new(names, parents, bind).unwrap()
    }

    fn scene(frames: usize) -> Scene {
        Scene {
            name: "test".into(),
            clock: Clock::new(0.0, (frames - 1) as f64, 1.0).unwrap(),
            controls: vec![],
            maps: vec![],
            layers: vec![],
            drives: vec![],
            shapes: vec![],
            channels: vec![],
            limits: vec![],
            goals: vec![],
            dynamics: None,
        }
    }

    fn drive(bones: &str, axes: Axes) -> Drive {
        let turn = [0.0, 0.0, 90.0].map(Value::Number);
        let shift = [0.0, 0.5, 0.0].map(Value::Number);
        let size = Size::Stretch(crate::turn::Axis::X, Value::Number(4.0));
        Drive {
            bones: bones.into(),
            from: From::Layers,
            turn: Some(Turn::Euler(turn, crate::turn::EulerOrder::XYZ)),
            axes,
            shift: Some(shift),
            size: Some(size),
        }
    }

    /// By hand: the second bone of a chain along x, whose own axes are turned about x at rest.
    #[test]
    fn bones_turn_and_move_about_their_own_axes_or_those_of_the_world() {
        let skeleton = chain(3);
        let pose = |axes| {
            let scene = Scene { drives: vec![drive("b1", axes)], ..scene(1) };
            let played = Player::new(&scene, &skeleton, &[], &[]).unwrap().play(&silent).unwrap();
            played.motion.frames[0].pose.bones.to_vec()
        };
        let (own, world) = (pose(Axes::Own), pose(Axes::World));
        let tilt = DMat3::from_rotation_x(0.4);
        let (quarter, stretch) = (DMat3::from_rotation_z(f64::to_radians(90.0)), DVec3::new(4.0, 0.5, 0.5));
        let stretch = DMat3::from_diagonal(stretch);
        assert!(own[1].matrix3.abs_diff_eq(tilt * quarter * stretch, 1e-12));
        assert!(own[1].translation.abs_diff_eq(DVec3::X + tilt * DVec3::Y * 0.5, 1e-12));
        assert!(world[1].matrix3.abs_diff_eq(quarter * tilt * stretch, 1e-12));
        assert!(world[1].translation.abs_diff_eq(DVec3::new(1.0, 0.5, 0.0), 1e-12));
        // What hangs on it goes along: its head lies one along x, before the turn and the stretch.
        let head = world[1].transform_point3(DVec3::X);
        assert!(world[2].translation.abs_diff_eq(head, 1e-12));
        assert!((world[1].matrix3.determinant() - 1.0).abs() < 1e-12, "the volume stays");
    }

    #[test]
    fn scenes_that_would_never_end_are_refused() {
        let skeleton = chain(1000);
        let long = scene(80_000);
        let says = Player::new(&long, &skeleton, &[], &[]).unwrap_err().to_string();
        assert!(says.starts_with("time: 80000 frames of 1000 bones"), "{says}");
        let text = format!("0{}", "+t".repeat(2000));
        let value = Value::Expression(crate::Expression::new(&text).unwrap());
        let turn = Turn::Euler([value.clone(), value.clone(), value], crate::turn::EulerOrder::XYZ);
        let slow = Scene { drives: vec![Drive { turn: Some(turn), ..drive("*", Axes::Own) }], ..scene(20_000) };
        let says = Player::new(&slow, &skeleton, &[], &[]).unwrap_err().to_string();
        assert!(says.contains("letters of expressions"), "{says}");
    }

    #[test]
    fn numbers_beyond_all_bounds_are_an_error_with_its_place() {
        let skeleton = chain(2);
        let far = Drive { shift: Some([1e308, 0.0, 0.0].map(Value::Number)), ..drive("*", Axes::Own) };
        let scene = Scene { drives: vec![far], ..scene(1) };
        let error = Player::new(&scene, &skeleton, &[], &[]).unwrap().play(&silent).unwrap_err().to_string();
        assert!(error.contains("nowhere at 0 s"), "{error}");
    }
}
