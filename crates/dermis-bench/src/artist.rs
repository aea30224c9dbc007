//! A simulated artist: looks at the model on frames of a motion, sculpts the true skin in a disc where the model is worst, and
//! fits anew.
//!
//! A disc of centre c shows true skin with the share m_v = 1 − smoothstep((g_cv/radius − ½)/½), g the geodesic distance along edges at
//! rest; elsewhere, and by the share 1 − m, it shows what the artist was shown. The artist takes the frame and the disc of the
//! largest Σ_v m_v² a_v |true − model|², a the area of a vertex.
//!
//! Errors are on frames that the artist never saw: rms weighted by area, over that of the rig's own skin there. *Sculpted skin* is
//! the union of the discs so far and of their mirror images, where m > ½.

use dermis::internals::deform::blend;
use dermis::internals::fitting::method::{
    CorrectivesMethod, FactorChoice, JointMethod, PoseSpaceSettings, PsdMethod, RidgeChoice,
};
use dermis::internals::rig::mesh::{vertex_areas, welded};
use dermis::internals::rig::{Example, ExampleSet, LocalSculpt, Mirror};
use dermis::method::BaseChoice;
use dermis::{Examples, Method, Rig, glam::DVec3};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The radius of a disc, in rest diagonals: 0.13 m of a body of 2.12 m from corner to corner.
const RADIUS: f64 = 0.0613;
/// One vertex in so many, at least, may be the centre of a disc, and no more than so many of them.
const CENTRES: usize = 1500;
/// Displacements below this share of the rest diagonal are rounding.
const MOVED: f64 = 1e-5;

/// What is measured: a character, frames to look at, frames to score on.
struct Scene {
    rig: Rig,
    look: Frames,
    held: Frames,
    areas: Vec<f64>,
    mirror: Option<Mirror>,
    discs: Vec<Vec<(u32, f64)>>,
}

/// Frames with the rig's own skin in each.
struct Frames {
    examples: Vec<Example>,
    base: Vec<Vec<DVec3>>,
}

/// A disc in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    frame: usize,
    disc: usize,
}

/// A way to learn from sculpts.
struct Learner {
    name: &'static str,
    method: Method,
    /// Whether it is told what the artist touched.
    masked: bool,
}

/// What `dermis fit --sculpts` does. The discs that it asks for are given to all methods.
const SCULPTS: &str = "sculpts";

/// The methods that are compared.
fn learners() -> Vec<Learner> {
    let learner = |name, method| Learner { name, method, masked: false };
    let correctives = |mirror| Method::Correctives(CorrectivesMethod { mirror, ..CorrectivesMethod::default() });
    let exact = PoseSpaceSettings { smoothing: Some(0.0), sparse: true, mirror: true, ..PoseSpaceSettings::default() };
    let joint = JointMethod { base: BaseChoice::Lbs, composites: FactorChoice::Off, ..JointMethod::default() };
    let stated = JointMethod { ridge: RidgeChoice::Fixed(0.01), ..joint.clone() };
    vec![
        learner("correctives", correctives(false)),
        learner("correctives, mirrored", correctives(true)),
        learner("psd, exact, sparse, mirrored", Method::Psd(PsdMethod { pose_space: exact, ..PsdMethod::default() })),
        learner("joint", Method::Joint(joint.clone())),
        Learner {
            masked: true,
            ..learner("joint, masked", Method::Joint(JointMethod { remember: Some(0.0), ..joint }))
        },
        Learner { masked: true, ..learner(SCULPTS, Method::Joint(JointMethod::default())) },
        learner("joint, lambda 0.01", Method::Joint(stated)),
        learner("mwe", Method::mwe()),
    ]
}

/// Returns a row per step of every method whose name begins with `only`.
///
/// - `look`: the frames the artist looks at; `held`: those that score. Without `held` the artist looks at the frames 0, 2, 4, … of
///   `look`, and 1, 3, 5, … score.
///
/// # Errors
/// The reason in words: files that cannot be read, a rig without weights, a fit that fails.
pub fn measure(rig: &str, look: &str, held: Option<&str>, steps: usize, only: &str) -> Result<Value, String> {
    let scene = Scene::open(rig, look, held)?;
    let learners = learners();
    let mut rows = Vec::new();
    let mut discs = Vec::new();
    for learner in learners.iter().filter(|learner| learner.name == SCULPTS) {
        (_, discs) = scene.sculpt(learner, steps, None)?;
    }
    for learner in learners.iter().filter(|learner| learner.name.starts_with(only)) {
        rows.extend(scene.sculpt(learner, steps, None)?.0);
        rows.extend(scene.sculpt(learner, steps, Some(&discs))?.0);
    }
    Ok(Value::Array(rows))
}

impl Frames {
    fn new(rig: &Rig, examples: Vec<Example>) -> Result<Self, String> {
        let weights = rig.weights().ok_or("the rig has no skinning weights")?;
        let rest = &rig.mesh().positions;
        let skin = |example: &Example| {
            let place = |v: usize| blend(weights.of(v), &example.transforms).transform_point3(rest[v]);
            (0..rest.len()).into_par_iter().map(place).collect()
        };
        let base = examples.iter().map(skin).collect();
        Ok(Self { examples, base })
    }

    /// Σ_v a_v |true − skin|² over chosen vertices and all frames.
    fn squares(&self, skins: &[Vec<DVec3>], areas: &[f64], chosen: impl Fn(usize) -> bool) -> f64 {
        let of_frame = |(example, skin): (&Example, &Vec<DVec3>)| {
            let at = |v: usize| areas[v] * example.positions[v].distance_squared(skin[v]);
            (0..skin.len()).filter(|v| chosen(*v)).map(at).sum::<f64>()
        };
        self.examples.iter().zip(skins).map(of_frame).sum()
    }
}

impl Scene {
    fn open(rig: &str, look: &str, held: Option<&str>) -> Result<Self, String> {
        let words = |error: dermis::Error| error.to_string();
        let rig = Rig::open(rig).map_err(words)?;
        let open = |source: &str| Examples::open(&rig, [source]).map(|set| set.examples().to_vec()).map_err(words);
        let looked = open(look)?;
        let (look, held) = match held {
            Some(held) => (looked, open(held)?),
            None => {
                let every_other = |first: usize| looked.iter().skip(first).step_by(2).cloned().collect();
                (every_other(0), every_other(1))
            }
        };
        let mesh = rig.mesh();
        let areas = vertex_areas(&mesh.positions, &mesh.triangles);
        let mirror = rig.weights().and_then(|weights| Mirror::find(&mesh.positions, rig.skeleton(), weights));
        let place = welded(&mesh.positions);
        let neighbours = mesh.neighbours_along_polygons(&place);
        let radius = RADIUS * mesh.extent();
        let stride = mesh.positions.len().div_ceil(CENTRES).max(1);
        let centres: Vec<usize> = (0..mesh.positions.len()).step_by(stride).collect();
        let along = |v: u32| neighbours.of(v as usize).iter().copied();
        let discs = centres.par_iter().map(|&centre| disc(&mesh.positions, &place, along, centre, radius)).collect();
        let (look, held) = (Frames::new(&rig, look)?, Frames::new(&rig, held)?);
        Ok(Self { rig, look, held, areas, mirror, discs })
    }

    /// Returns where the artist sculpts next, given the model's skin in the frames looked at.
    fn worst(&self, skins: &[Vec<DVec3>]) -> Place {
        let error = |frame: usize, &(v, m): &(u32, f64)| {
            let v = v as usize;
            m * m * self.areas[v] * self.look.examples[frame].positions[v].distance_squared(skins[frame][v])
        };
        let places = (0..skins.len()).flat_map(|frame| (0..self.discs.len()).map(move |disc| Place { frame, disc }));
        let scored = places.map(|at| (self.discs[at.disc].iter().map(|d| error(at.frame, d)).sum::<f64>(), at));
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Place { frame: 0, disc: 0 }, |(_, at)| at)
    }

    /// The steps of one artist, and the discs. The artist chooses them, and is shown the present model outside; or sculpts those `given`
    /// over the rig's own skin.
    fn sculpt(
        &self,
        learner: &Learner,
        steps: usize,
        given: Option<&[Place]>,
    ) -> Result<(Vec<Value>, Vec<Place>), String> {
        let (mut present, mut before) = (self.look.base.clone(), self.held.base.clone());
        let mut sculpts: Vec<Example> = Vec::new();
        let mut taught = vec![false; self.areas.len()];
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for step in 1..=steps {
            let at = given.map_or_else(|| self.worst(&present), |given| given[step - 1]);
            places.push(at);
            let frame = &self.look.examples[at.frame];
            let known = sculpts.iter().rposition(|s| s.label == frame.label);
            let before_sculpting = match (given, known) {
                (None, _) => present[at.frame].clone(),
                (Some(_), Some(known)) => sculpts[known].positions.clone(),
                (Some(_), None) => self.look.base[at.frame].clone(),
            };
            let mut touched = vec![false; before_sculpting.len()];
            let mut skin = before_sculpting.clone();
            for &(v, m) in &self.discs[at.disc] {
                let v = v as usize;
                touched[v] = true;
                skin[v] = skin[v].lerp(frame.positions[v], m);
                if m > 0.5 {
                    taught[v] = true;
                    if let Some(image) = self.mirror.as_ref().and_then(|mirror| mirror.vertices[v]) {
                        taught[image as usize] = true;
                    }
                }
            }
            let local = LocalSculpt { mask: Some(touched), shown: Some(before_sculpting) };
            let local = learner.masked.then_some(local);
            let sculpt = Example { positions: skin, time: None, local, ..frame.clone() };
            // A method that knows masks keeps the discs of a frame apart; for the others a frame is one sculpt.
            match known.filter(|_| !learner.masked) {
                Some(known) => sculpts[known] = sculpt,
                None => sculpts.push(sculpt),
            }
            let examples = ExampleSet::new("sculpts".into(), sculpts.clone(), &self.rig).map_err(|e| e.to_string())?;
            let fitted = dermis::fit(&self.rig, &examples.into(), &learner.method).map_err(|e| e.to_string())?;
            let skins = |frames: &Frames| self.skins(&fitted, frames.examples.iter());
            let (looked, held) = (skins(&self.look)?, skins(&self.held)?);
            let met = self.skins(&fitted, sculpts.iter())?;
            let whole = |skins: &[Vec<DVec3>]| self.held.squares(skins, &self.areas, |_| true);
            let on_taught = |skins: &[Vec<DVec3>]| self.held.squares(skins, &self.areas, |v| taught[v]);
            let missed = self.missed(&sculpts, &met);
            rows.push(json!({
                "method": learner.name, "discs": if given.is_none() { "own" } else { SCULPTS },
                "step": step, "frame": frame.label, "disc": self.discs[at.disc].first().map(|d| d.0),
                "sculpted": (on_taught(&held) / on_taught(&self.held.base)).sqrt(),
                "whole": (whole(&held) / whole(&self.held.base)).sqrt(),
                "change": (whole(&held) / whole(&before)).sqrt() - 1.0,
                "missed_rms": missed.0, "missed_most": missed.1,
                "ridge": fitted.report().ridge, "seconds": fitted.seconds(),
            }));
            (present, before) = (looked, held);
        }
        Ok((rows, places))
    }

    /// The model's skin in the poses of examples.
    fn skins<'a>(
        &self,
        fitted: &dermis::Fitted,
        examples: impl Iterator<Item = &'a Example>,
    ) -> Result<Vec<Vec<DVec3>>, String> {
        let mut runner = fitted.model().rigged().baked().runner();
        let mut skin = |example: &'a Example| {
            let skin = runner.skin(&example.transforms).map_err(|error| error.to_string())?;
            Ok(skin.iter().map(|p| p.as_dvec3()).collect())
        };
        examples.map(&mut skin).collect()
    }

    /// How far the model stays from its sculpts where they moved the skin, and no later one of the frame did: rms and most, metres.
    fn missed(&self, sculpts: &[Example], met: &[Vec<DVec3>]) -> (f64, f64) {
        let least = MOVED * self.rig.mesh().extent();
        let moved = |sculpt: &Example, v: usize| match sculpt.local.as_ref().and_then(|local| local.mask.as_ref()) {
            Some(mask) => mask[v],
            None => {
                let at = self.look.examples.iter().position(|example| example.label == sculpt.label);
                at.is_some_and(|at| sculpt.positions[v].distance(self.look.base[at][v]) > least)
            }
        };
        let (mut squares, mut count, mut most) = (0.0, 0usize, 0.0f64);
        for (s, (sculpt, skin)) in sculpts.iter().zip(met).enumerate() {
            let holds = |v: usize| sculpts[s + 1..].iter().any(|later| later.label == sculpt.label && moved(later, v));
            for v in (0..skin.len()).filter(|&v| moved(sculpt, v) && !holds(v)) {
                let apart = sculpt.positions[v].distance(skin[v]);
                (squares, count, most) = (squares + apart * apart, count + 1, most.max(apart));
            }
        }
        ((squares / count.max(1) as f64).sqrt(), most)
    }
}

/// The vertices within `radius` of a centre along edges, the centre first, each with its share m > 0.
fn disc<N: Iterator<Item = u32>>(
    rest: &[DVec3],
    place: &[u32],
    neighbours: impl Fn(u32) -> N,
    centre: usize,
    radius: f64,
) -> Vec<(u32, f64)> {
    let mut far = std::collections::BTreeMap::new();
    // Non-negative floats are ordered as their bits.
    let mut queue = BinaryHeap::from([Reverse((0u64, place[centre]))]);
    while let Some(Reverse((bits, v))) = queue.pop() {
        let way = f64::from_bits(bits);
        if far.contains_key(&v) {
            continue;
        }
        far.insert(v, way);
        for w in neighbours(v) {
            let on = way + rest[v as usize].distance(rest[w as usize]);
            if on < radius && !far.contains_key(&w) {
                queue.push(Reverse((on.to_bits(), w)));
            }
        }
    }
    let share = |way: f64| {
        let x = ((way / radius - 0.5) / 0.5).clamp(0.0, 1.0);
        1.0 - x * x * (3.0 - 2.0 * x)
    };
    let all = (0..rest.len()).filter_map(|v| Some((v as u32, share(*far.get(&place[v])?))));
    let mut disc: Vec<(u32, f64)> = all.filter(|(_, m)| *m > 0.0).collect();
    disc.sort_by(|a, b| b.1.total_cmp(&a.1));
    disc
}
