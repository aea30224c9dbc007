//! Animations as clips that can be sampled at any time: specification sections 3.11 and C.

use super::curves::curves;
use super::document::{Document, damaged};
use super::nodes::{Local, Nodes, unit};
use super::skins::name;
use crate::contents::{Clip, ClipFrame, Flaw, ReadError};
use crate::curve::Interpolation;
use crate::flaws::{Flaws, short};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::rotation::slerp;
use dermis_rig::{Skeleton, WorldPose};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Every animation of the file, over the bones at `bone_nodes` and the morph targets driven by `morphs` (node, number).
///
/// Channels of other nodes are left out unless a bone hangs below them.
pub(super) fn read(
    document: &Document,
    nodes: &Nodes,
    (skeleton, bone_nodes): (Option<&Skeleton>, &[u32]),
    morphs: &[(u32, usize)],
    flaws: &mut Flaws,
) -> Result<Vec<Clip>, ReadError> {
    let animations = &document.root.animations;
    if bone_nodes.is_empty() && morphs.is_empty() {
        if !animations.is_empty() {
            flaws.unread(&format!("{} animations of nodes without skin or morph targets", animations.len()));
        }
        return Ok(Vec::new());
    }
    let (rig, places) = PlayedRig::new(document, nodes, bone_nodes, morphs);
    name_outside(document, nodes, &places, flaws);
    let mut targets: HashMap<u32, Vec<usize>> = HashMap::new();
    for (morph, &(node, _)) in morphs.iter().enumerate() {
        targets.entry(node).or_default().push(morph);
    }
    let mut tables = Tables { document, known: HashMap::new() };
    let rig = Arc::new(rig);
    let mut clips = Vec::new();
    for (at, animation) in animations.iter().enumerate() {
        let name = animation.name.as_deref().map_or_else(|| format!("animation {at}"), short);
        let mut player =
            Player { rig: rig.clone(), turns: Vec::new(), moves: Vec::new(), morphs: Vec::new(), end: 0.0 };
        for channel in &animation.channels {
            let Some(node) = channel.target.node else { continue };
            if node as usize >= nodes.parents.len() {
                return Err(damaged(format!("animation \"{name}\" names node {node} of {}", nodes.parents.len())));
            }
            let place = places.get(&node).copied();
            let (width, path) = match (channel.target.path.as_str(), place, targets.get(&node)) {
                ("translation", Some(place), _) => (3, Path::Translation(place)),
                ("rotation", Some(place), _) => (4, Path::Rotation(place)),
                ("scale", Some(place), _) => (3, Path::Scale(place)),
                ("weights", _, Some(morphs)) => (morphs.len(), Path::Weights(morphs.clone())),
                ("translation" | "rotation" | "scale" | "weights", _, _) => continue, // moves nothing we hold
                (other, _, _) => {
                    flaws.add(Flaw::Unsupported, || format!("animation of \"{other:.100}\""));
                    continue;
                }
            };
            let (rotates, row) =
                (matches!(path, Path::Rotation(_)), if matches!(path, Path::Weights(_)) { 1 } else { width });
            let Some(track) = tables.track(animation, channel.sampler, &name, (row, width), rotates, flaws)? else {
                continue;
            };
            player.end = player.end.max(track.times[track.times.len() - 1]);
            match path {
                Path::Rotation(place) => player.turns.push((place, track)),
                Path::Translation(place) => player.moves.push((place, Move::Translation, track)),
                Path::Scale(place) => player.moves.push((place, Move::Scale, track)),
                Path::Weights(morphs) => player.morphs.push((morphs, track)),
            }
        }
        let stiff = player.stiff();
        if let Some(&node) = stiff.first() {
            let node = places.iter().find(|(_, place)| **place == node).map_or(0, |(node, _)| *node);
            flaws.many(Flaw::Unsupported, stiff.len(), || {
                format!("animation \"{name}\" of \"{}\", whose matrix has no rotation", self::name(document, node))
            });
            player.turns.retain(|(place, _)| stiff.binary_search(place).is_err());
            player.moves.retain(|(place, _, _)| stiff.binary_search(place).is_err());
        }
        let (duration, key_times) = (player.end, player.key_times());
        let curves = Some(curves(&player, skeleton));
        let sample = Box::new(move |time| player.sample(time));
        clips.push(Clip { name, duration, start: 0.0, key_times, curves, sample });
    }
    Ok(clips)
}

/// What a channel animates: the place of a node in [`PlayedRig`], or morph targets.
enum Path {
    Translation(usize),
    Rotation(usize),
    Scale(usize),
    Weights(Vec<usize>),
}

/// The nodes that bones hang on, parents first, at the default pose.
pub(super) struct PlayedRig {
    pub(super) parents: Vec<Option<usize>>,
    pub(super) locals: Vec<Local>,
    /// The place of each bone.
    pub(super) bones: Vec<usize>,
    pub(super) weights: Vec<f64>,
}

impl PlayedRig {
    fn new(
        document: &Document,
        nodes: &Nodes,
        bone_nodes: &[u32],
        morphs: &[(u32, usize)],
    ) -> (Self, HashMap<u32, usize>) {
        let mut needed = vec![false; nodes.parents.len()];
        for &bone in bone_nodes {
            let mut at = Some(bone);
            while let Some(node) = at.filter(|&node| !needed[node as usize]) {
                needed[node as usize] = true;
                at = nodes.parents[node as usize];
            }
        }
        let mut places = HashMap::new();
        let mut rig = Self { parents: Vec::new(), locals: Vec::new(), bones: Vec::new(), weights: Vec::new() };
        for &node in nodes.order.iter().filter(|&&node| needed[node as usize]) {
            rig.parents.push(nodes.parents[node as usize].and_then(|parent| places.get(&parent).copied()));
            rig.locals.push(nodes.locals[node as usize]);
            places.insert(node, places.len());
        }
        rig.bones = bone_nodes.iter().filter_map(|bone| places.get(bone).copied()).collect();
        rig.weights = default_weights(document, morphs);
        (rig, places)
    }
}

/// The weight of every morph target where no clip moves it: of its node, or else of its mesh. A target is a node and a number in it.
pub(super) fn default_weights(document: &Document, morphs: &[(u32, usize)]) -> Vec<f64> {
    let of = |&(node, target): &(u32, usize)| {
        let node = &document.root.nodes[node as usize];
        let mesh = node.mesh.and_then(|mesh| document.root.meshes.get(mesh as usize));
        let weights = if node.weights.is_empty() { mesh.map_or(&[][..], |mesh| &mesh.weights) } else { &node.weights };
        weights.get(target).copied().unwrap_or(0.0)
    };
    morphs.iter().map(of).collect()
}

/// Names the animated nodes that no bone hangs on. What a node does to a mesh that is skinned, glTF ignores.
fn name_outside(document: &Document, nodes: &Nodes, places: &HashMap<u32, usize>, flaws: &mut Flaws) {
    /// Names at most.
    const NAMED: usize = 6;
    let channels = document.root.animations.iter().flat_map(|animation| &animation.channels);
    let moved = channels.filter(|channel| ["translation", "rotation", "scale"].contains(&channel.target.path.as_str()));
    let outside = moved.filter_map(|channel| channel.target.node).filter(|&node| {
        let is_skinned = || document.root.nodes[node as usize].skin.is_some();
        (node as usize) < nodes.parents.len() && !places.contains_key(&node) && !is_skinned()
    });
    let outside: BTreeSet<u32> = outside.collect();
    if outside.is_empty() {
        return;
    }
    let names: Vec<String> = outside.iter().take(NAMED).map(|&node| self::name(document, node)).collect();
    let more = if outside.len() > NAMED { format!(" and {} more", outside.len() - NAMED) } else { String::new() };
    let nodes = if outside.len() == 1 { "animated node" } else { "animated nodes" };
    flaws.unread(&format!("{} {nodes} outside the skeleton: {}{more}", outside.len(), names.join(", ")));
}

/// Decoded key tables: exporters share one table of times among hundreds of channels.
struct Tables<'a> {
    document: &'a Document,
    known: HashMap<(u32, usize), Arc<Vec<f64>>>,
}

impl Tables<'_> {
    fn get(&mut self, accessor: u32, width: usize, what: &str) -> Result<Arc<Vec<f64>>, ReadError> {
        if let Some(known) = self.known.get(&(accessor, width)) {
            self.document.charge(known.len() as u64, 1, what)?; // looking through it again takes time
            return Ok(known.clone());
        }
        let values = Arc::new(self.document.table(accessor, what, &[width])?.values);
        self.known.insert((accessor, width), values.clone());
        Ok(values)
    }

    /// The keys of a sampler, without unusable ones; `None` if none is left. `row` numbers make a row of the output
    /// accessor and `width` a value: morph weights are scalars, as many per key as the mesh has targets.
    fn track(
        &mut self,
        animation: &super::document::Animation,
        sampler: u32,
        name: &str,
        (row, width): (usize, usize),
        rotates: bool,
        flaws: &mut Flaws,
    ) -> Result<Option<Track>, ReadError> {
        let samplers = animation.samplers.len();
        let missing = || damaged(format!("animation \"{name}\" names sampler {sampler} of {samplers}"));
        let sampler = animation.samplers.get(sampler as usize).ok_or_else(missing)?;
        let interpolation = match sampler.interpolation.as_deref() {
            None | Some("LINEAR") => Interpolation::Linear,
            Some("STEP") => Interpolation::Step,
            Some("CUBICSPLINE") => Interpolation::Cubic,
            Some(other) => return Err(damaged(format!("animation \"{name}\" has the interpolation \"{other:.100}\""))),
        };
        let what = format!("animation \"{name}\"");
        let times = self.get(sampler.input, 1, &what)?;
        let values = self.get(sampler.output, row, &what)?;
        let mut track = Track { times, values, width, interpolation };
        let whole = track.values.len() / track.key_width();
        if whole != track.times.len() || !track.values.len().is_multiple_of(track.key_width()) {
            flaws.add(Flaw::CountMismatch, || format!("{what} has {} times and {whole} values", track.times.len()));
        }
        let count = whole.min(track.times.len());
        let mut good = Vec::with_capacity(count);
        let mut last = f64::NEG_INFINITY;
        for key in 0..count {
            let time = track.times[key];
            let usable = time.is_finite()
                && time > last
                && track.key(key).iter().all(|x| x.is_finite())
                && (!rotates || unit(quat(track.value(key))).is_some());
            if usable {
                last = time;
                good.push(key);
            }
        }
        flaws.many(Flaw::BadKeys, track.times.len() - good.len(), || format!("in {what}"));
        if good.len() < track.times.len() {
            let times = good.iter().map(|&key| track.times[key]).collect();
            let values = good.iter().flat_map(|&key| track.key(key).iter().copied()).collect();
            (track.times, track.values) = (Arc::new(times), Arc::new(values));
        }
        Ok((!good.is_empty()).then_some(track))
    }
}

/// Keys of one property. At least one; times ascend; all numbers are finite.
pub(super) struct Track {
    pub(super) times: Arc<Vec<f64>>,
    /// Per key the value, or for cubic splines in-tangent, value, out-tangent.
    pub(super) values: Arc<Vec<f64>>,
    width: usize,
    pub(super) interpolation: Interpolation,
}

impl Track {
    fn key_width(&self) -> usize {
        self.width * if self.interpolation == Interpolation::Cubic { 3 } else { 1 }
    }
    fn key(&self, key: usize) -> &[f64] {
        &self.values[key * self.key_width()..(key + 1) * self.key_width()]
    }
    fn value(&self, key: usize) -> &[f64] {
        match self.interpolation {
            Interpolation::Cubic => &self.key(key)[self.width..2 * self.width],
            _ => self.key(key),
        }
    }

    /// Component `at` of the value at `time`; rotations go through [`Track::rotation`].
    fn component(&self, at: usize, time: f64) -> f64 {
        let (from, to, s) = self.span(time);
        if from == to || self.interpolation == Interpolation::Step {
            return self.value(from)[at];
        }
        let (a, b) = (self.value(from)[at], self.value(to)[at]);
        if self.interpolation == Interpolation::Linear {
            return a + (b - a) * s;
        }
        // Hermite; the file's tangents are per second.
        let dt = self.times[to] - self.times[from];
        let (leave, arrive) = (dt * self.key(from)[2 * self.width + at], dt * self.key(to)[at]);
        let (s2, s3) = (s * s, s * s * s);
        (2.0 * s3 - 3.0 * s2 + 1.0) * a + (s3 - 2.0 * s2 + s) * leave + (3.0 * s2 - 2.0 * s3) * b + (s3 - s2) * arrive
    }

    fn vector(&self, time: f64) -> DVec3 {
        DVec3::new(self.component(0, time), self.component(1, time), self.component(2, time))
    }

    fn rotation(&self, time: f64) -> DQuat {
        let (from, to, s) = self.span(time);
        let at = |key: usize| unit(quat(self.value(key))).unwrap_or(DQuat::IDENTITY); // all keys have a direction
        match self.interpolation {
            Interpolation::Linear if from != to => slerp(at(from), at(to), s),
            Interpolation::Cubic if from != to => {
                let q = [0, 1, 2, 3].map(|component| self.component(component, time));
                unit(DQuat::from_array(q)).unwrap_or_else(|| at(from)) // a spline through the origin
            }
            _ => at(from),
        }
    }

    /// The keys about `time` and how far it is between them, in 0..1; the same key twice outside.
    fn span(&self, time: f64) -> (usize, usize, f64) {
        let after = self.times.partition_point(|&key| key <= time);
        let last = self.times.len() - 1;
        if after == 0 || after > last {
            let key = if after == 0 { 0 } else { last };
            return (key, key, 0.0);
        }
        let (from, to) = (self.times[after - 1], self.times[after]);
        (after - 1, after, (time - from) / (to - from))
    }
}

fn quat(xyzw: &[f64]) -> DQuat {
    match xyzw {
        [x, y, z, w] => DQuat::from_xyzw(*x, *y, *z, *w),
        _ => DQuat::IDENTITY,
    }
}

pub(super) enum Move {
    Translation,
    Scale,
}

pub(super) struct Player {
    pub(super) rig: Arc<PlayedRig>,
    pub(super) turns: Vec<(usize, Track)>,
    pub(super) moves: Vec<(usize, Move, Track)>,
    pub(super) morphs: Vec<(Vec<usize>, Track)>,
    end: f64,
}

impl Player {
    fn tracks(&self) -> impl Iterator<Item = &Track> {
        let moves = self.moves.iter().map(|(_, _, track)| track);
        self.turns.iter().map(|(_, track)| track).chain(moves).chain(self.morphs.iter().map(|(_, track)| track))
    }

    fn key_times(&self) -> Vec<f64> {
        let mut tables: Vec<&Arc<Vec<f64>>> = self.tracks().map(|track| &track.times).collect();
        tables.sort_unstable_by_key(|table| Arc::as_ptr(table));
        tables.dedup_by_key(|table| Arc::as_ptr(table));
        let mut times: Vec<f64> = tables.iter().flat_map(|table| table.iter().copied()).filter(|t| *t >= 0.0).collect();
        times.sort_unstable_by(f64::total_cmp);
        times.dedup();
        times
    }

    /// Animated nodes whose matrix cannot be taken apart into translation, rotation and scale.
    fn stiff(&self) -> Vec<usize> {
        let places = self.turns.iter().map(|(place, _)| *place).chain(self.moves.iter().map(|(place, _, _)| *place));
        let mut stiff: Vec<usize> = places.filter(|&place| parts(&self.rig.locals[place]).is_none()).collect();
        stiff.sort_unstable();
        stiff.dedup();
        stiff
    }

    fn sample(&self, time: f64) -> ClipFrame {
        let time = if time.is_nan() { 0.0 } else { time.clamp(0.0, self.end) };
        let mut locals = self.rig.locals.clone();
        let mut change = |place: usize, how: &dyn Fn(&mut DVec3, &mut DQuat, &mut DVec3)| {
            if let Some((mut translation, mut rotation, mut scale)) = parts(&locals[place]) {
                how(&mut translation, &mut rotation, &mut scale);
                locals[place] = Local::Trs { translation, rotation, scale };
            }
        };
        for (place, track) in &self.turns {
            change(*place, &|_, rotation, _| *rotation = track.rotation(time));
        }
        for (place, path, track) in &self.moves {
            change(*place, &|translation, _, scale| match path {
                Move::Translation => *translation = track.vector(time),
                Move::Scale => *scale = track.vector(time),
            });
        }
        let mut world: Vec<DAffine3> = Vec::with_capacity(locals.len());
        for (local, parent) in locals.iter().zip(&self.rig.parents) {
            world.push(match parent {
                Some(parent) => world[*parent] * local.affine(),
                None => local.affine(),
            });
        }
        let mut morph_weights = self.rig.weights.clone();
        for (morphs, track) in &self.morphs {
            for (at, &morph) in morphs.iter().enumerate() {
                morph_weights[morph] = track.component(at, time);
            }
        }
        ClipFrame { pose: WorldPose::new(self.rig.bones.iter().map(|&bone| world[bone]).collect()), morph_weights }
    }
}

/// Translation, rotation and scale of a local transform; `None` for a matrix that has no rotation.
pub(super) fn parts(local: &Local) -> Option<(DVec3, DQuat, DVec3)> {
    match *local {
        Local::Trs { translation, rotation, scale } => Some((translation, rotation, scale)),
        Local::Matrix(matrix) => {
            let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
            (scale.is_finite() && rotation.is_normalized() && translation.is_finite()).then_some((
                translation,
                rotation,
                scale,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(times: &[f64], values: &[f64], width: usize, interpolation: Interpolation) -> Track {
        let (times, values) = (Arc::new(times.to_vec()), Arc::new(values.to_vec()));
        Track { times, values, width, interpolation }
    }

    #[test]
    fn a_cubic_spline_is_a_cubic() {
        // x(t) = t³ − 2t² + 5 on keys 1, 3, 4: a spline of its own derivatives reproduces it.
        let x = |t: f64| t * t * t - 2.0 * t * t + 5.0;
        let slope = |t: f64| 3.0 * t * t - 4.0 * t;
        let keys = [1.0, 3.0, 4.0];
        let values: Vec<f64> = keys.iter().flat_map(|&t| [slope(t), x(t), slope(t)]).collect();
        let track = track(&keys, &values, 1, Interpolation::Cubic);
        for t in [1.0, 1.3, 2.0, 2.9, 3.0, 3.5, 4.0] {
            assert!((track.component(0, t) - x(t)).abs() < 1e-12, "{t}");
        }
        assert_eq!((track.component(0, 0.0), track.component(0, 9.0)), (x(1.0), x(4.0)));
    }

    #[test]
    fn steps_hold_until_the_next_key() {
        let track = track(&[0.0, 1.0, 2.0], &[5.0, 6.0, 7.0], 1, Interpolation::Step);
        let values = [-1.0, 0.0, 0.999, 1.0, 1.5, 2.0, 3.0].map(|t| track.component(0, t));
        assert_eq!(values, [5.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0]);
    }
}
