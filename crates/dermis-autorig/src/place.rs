//! All joints of a template within a body, from the balls that hold its landmarks.
//!
//! 1. Every end has a limb ([`Limb`]): its centre line to where it leaves the trunk. The joint that begins the limb lies so many of
//!    the limb's radii further in, straight on, as the template says. The others divide the line as in the template, and move to where
//!    the limb bends or is narrow, within `WINDOW`. Partners move together, as much as the plane of symmetry is trusted. Limbs beside each other say how
//!    long they are: partners, and fingers.
//! 2. Joints of the trunk lie between those that begin limbs: where the template has them along the line from the limbs of one
//!    landmark to those of the next, half way to the middle of the trunk. A palm is as long as its fingers say.
//! 3. Partners become images of each other, and joints in the middle lie in the plane, if the body stands symmetrically.
//! 4. Joints outside move to the nearest ball, and joints whose bones leave the body move until they do not; then step 3 once more.
//!
//! Source: Baran & Popović 2007, section 3.4 (distance to the medial surface, lengths, directions, symmetry). Departure: no descent over all
//! joints at once: cross sections give the middle of a limb exactly, and the search along it is exhaustive.

use crate::embed::{Embedding, MISSING, Search};
use crate::field::Field;
use crate::frame::Frame;
use crate::limb::{Limb, LimbShape};
use crate::medial::Ball;
use crate::template::{LandmarkKind, Stance};
use dermis_rig::glam::DVec3;

/// Where joints are, in the body's space.
#[derive(Clone, Debug)]
pub struct Places {
    /// The place of every joint; `None` of a limb that is missing.
    pub joints: Vec<Option<DVec3>>,
    /// The ends of bones.
    pub ends: Vec<Option<DVec3>>,
    /// How far every joint was from the image of its partner before the sides were made alike; 0 without a plane.
    pub asymmetry: Vec<f64>,
}

/// How far a joint moves along its limb to a bend or a narrow part, over the limb's length.
const WINDOW: f64 = 0.10;
/// The standard deviation of where joints divide limbs, over the limb's length: rigs of one body differ by 0.02, animals by 0.06.
const DIVIDES: f64 = 0.05;
/// How much a bend counts: a limb that bends by 30° within a fifth of its length outweighs half a window.
const BENDS: f64 = 12.0;
/// How much a narrow part counts.
const NARROWS: f64 = 1.5;
/// Partners that are images of each other to within this are made so exactly.
const ALIKE: f64 = 0.04;
/// How far from a limb the middle of its trunk may be.
const FARTHEST: f64 = 0.3;
/// How far outside a bone may be, in parts of the body, and the rounds in which joints move for it.
const OUTSIDE: f64 = 0.01;
const ROUNDS: usize = 30;
/// How long a limb is at most, over its partner.
const PARTNERS: f64 = 1.1;
/// How long a finger is at least and at most, over what the others say.
const FAN: (f64, f64) = (0.9, 1.3);
/// Where joints begin limbs in templates that do not say it.
const DEPTH: f64 = 0.8;

/// A limb with the joints that divide it.
struct Divided {
    /// The landmark at its end.
    landmark: usize,
    limb: Limb,
    /// The joints on the limb from its first on, and how far each is from the tip over the first's.
    joints: Vec<(usize, f64)>,
    /// The distance of the first joint from the tip.
    whole: f64,
}

impl Divided {
    /// The length from the first joint to the tip in the template.
    fn in_template(&self, search: &Search<'_>, stance: &Stance) -> f64 {
        let end = search.reduced.landmarks[self.landmark].place(stance);
        let places: Vec<DVec3> = self.joints.iter().map(|(j, _)| stance.places[*j]).chain([end]).collect();
        places.windows(2).map(|w| w[0].distance(w[1])).sum::<f64>().max(1e-12)
    }
}

/// Places all joints.
pub fn place(
    search: &Search<'_>,
    embedding: &Embedding,
    frame: &Frame,
    field: &Field,
    pins: &[Option<DVec3>],
) -> Places {
    let template = search.template;
    let stance = &template.stances[embedding.stance];
    let count = template.joints.len();
    let mut places = Places { joints: vec![None; count], ends: vec![None; count], asymmetry: vec![0.0; count] };
    let mut limbs = limbs(search, embedding, stance, field);
    agree(search, stance, &mut limbs);
    for limb in &limbs {
        let partner = search.reduced.landmarks[limb.landmark].partner;
        let other = limbs.iter().find(|other| other.landmark == partner && partner != limb.landmark);
        for (k, &(joint, share)) in limb.joints.iter().enumerate() {
            let share = if k == 0 { 1.0 } else { divided(search, frame, stance, limb, other, k, share) };
            places.joints[joint] = Some(limb.limb.at(share * limb.whole));
        }
        places.ends[search.reduced.landmarks[limb.landmark].joint] = Some(limb.limb.line[0]);
    }
    apply(pins, &mut places.joints);
    let palms = palms(search, stance, &limbs);
    trunk(search, embedding, frame, stance, field, &palms, &mut places);
    apply(pins, &mut places.joints);
    places.asymmetry = asymmetry(search, &places.joints);
    symmetrical(search, pins, &mut places);
    riders(search, frame, stance, &mut places);
    apply(pins, &mut places.joints);
    for (joint, pin) in places.joints.iter_mut().zip(pins) {
        if let (Some(p), None) = (joint.as_mut(), pin) {
            *p = inside(search, field, *p);
        }
    }
    keep_inside(search, field, pins, &mut places);
    // The nearest ball may lie beside the plane.
    symmetrical(search, pins, &mut places);
    places
}

fn apply(pins: &[Option<DVec3>], joints: &mut [Option<DVec3>]) {
    for (joint, pin) in joints.iter_mut().zip(pins) {
        *joint = pin.or(*joint);
    }
}

fn limbs(search: &Search<'_>, embedding: &Embedding, stance: &Stance, field: &Field) -> Vec<Divided> {
    let landmarks = &search.reduced.landmarks;
    let mut found = Vec::new();
    for (l, landmark) in landmarks.iter().enumerate() {
        let Some(parent) = landmark.parent.filter(|_| landmark.kind == LandmarkKind::End) else { continue };
        let (from, to) = (embedding.balls[parent], embedding.balls[l]);
        if from == MISSING || to == MISSING {
            continue;
        }
        let hints = |j: usize| search.template.joints[j].hints;
        let shape = LimbShape::of(&search.template.joints[landmark.joint]);
        let limb = Limb::new(&search.graph.way(from as usize, to as usize), search.graph, field, shape);
        let first = landmark.chain.iter().position(|j| hints(*j).depth.is_some()).unwrap_or(0);
        let depth = hints(landmark.chain[first]).depth.unwrap_or(DEPTH);
        let reach = hints(landmark.chain[first]).reach;
        let whole = limb.length() + depth * limb.root_radius + reach * to_middle(&limb, search);
        // Distances from the tip, in the template.
        let (mut at, mut length) = (landmark.place(stance), 0.0);
        let mut joints: Vec<(usize, f64)> = Vec::new();
        for &joint in landmark.chain[first..].iter().rev() {
            length += at.distance(stance.places[joint]);
            at = stance.places[joint];
            joints.push((joint, length));
        }
        joints.reverse();
        joints.iter_mut().for_each(|(_, d)| *d /= length.max(1e-12));
        found.push(Divided { landmark: l, limb, joints, whole });
    }
    found
}

/// How long limbs are, over those of the template: the median of those that hang on a landmark.
fn proportion(search: &Search<'_>, stance: &Stance, limbs: &[Divided], landmark: usize) -> Option<f64> {
    let landmarks = &search.reduced.landmarks;
    let own = limbs.iter().filter(|limb| landmarks[limb.landmark].parent == Some(landmark));
    let mut ratios: Vec<f64> = own.map(|limb| limb.whole / limb.in_template(search, stance)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// The length of the palm over that of the template, of a hand that hangs on a forearm that is cut off anywhere: its fingers say it.
fn palms(search: &Search<'_>, stance: &Stance, limbs: &[Divided]) -> Vec<Option<f64>> {
    let landmarks = &search.reduced.landmarks;
    let hangs_on_stump = |l: usize| landmarks[l].parent.is_some_and(|p| landmarks[p].kind == LandmarkKind::RootEnd);
    let of = |l: usize| {
        if search.symmetry.is_none() && hangs_on_stump(l) { proportion(search, stance, limbs, l) } else { None }
    };
    (0..landmarks.len()).map(of).collect()
}

/// Limbs beside each other say how long they are. Partners are equally long: of two that differ by more than [`PARTNERS`], the longer one has missed
/// where it leaves the trunk. Fingers are about as long as in the template: one that seems to leave the palm far from where it should goes as far as
/// [`FAN`] allows.
fn agree(search: &Search<'_>, stance: &Stance, limbs: &mut [Divided]) {
    if let Some(symmetry) = search.symmetry {
        let whole: Vec<(usize, f64)> = limbs.iter().map(|limb| (limb.landmark, limb.whole)).collect();
        for limb in limbs.iter_mut().filter(|_| symmetry.trust > 0.5) {
            let partner = search.reduced.landmarks[limb.landmark].partner;
            let other = whole.iter().find(|(l, _)| *l == partner).map_or(limb.whole, |(_, other)| *other);
            if limb.whole > PARTNERS * other {
                limb.whole = other;
            }
        }
        return;
    }
    let landmarks = &search.reduced.landmarks;
    let usual: Vec<Option<f64>> = (0..landmarks.len()).map(|l| proportion(search, stance, limbs, l)).collect();
    for limb in limbs {
        if let Some(usual) = landmarks[limb.landmark].parent.and_then(|parent| usual[parent]) {
            let length = usual * limb.in_template(search, stance);
            limb.whole = limb.whole.clamp(FAN.0 * length, FAN.1 * length);
        }
    }
}

/// How far it is from where a limb leaves the trunk to the middle of the thickest ball that the limb points to.
fn to_middle(limb: &Limb, search: &Search<'_>) -> f64 {
    let from = limb.beyond(0.0);
    let ahead = |ball: &Ball| (ball.centre - from).dot(limb.inwards);
    let met = |ball: &&Ball| {
        let t = ahead(ball);
        t > 0.0 && t < FARTHEST && limb.beyond(t).distance(ball.centre) < ball.radius
    };
    let thickest = search.graph.balls.iter().filter(met).max_by(|a, b| a.radius.total_cmp(&b.radius));
    thickest.map_or(limb.root_radius, ahead)
}

/// Where joint k divides a limb: the best share of its length near the template's.
fn divided(
    search: &Search<'_>,
    frame: &Frame,
    stance: &Stance,
    limb: &Divided,
    other: Option<&Divided>,
    k: usize,
    share: f64,
) -> f64 {
    let (joint, _) = limb.joints[k];
    let hints = search.template.joints[joint].hints;
    if !hints.bends && !hints.is_narrow {
        return share;
    }
    let trust = search.symmetry.map_or(0.0, |s| s.trust);
    let both = |x: f64| {
        let own = cue(search, frame, stance, limb, k, x);
        let partner = other.map_or(0.0, |other| trust * cue(search, frame, stance, other, k, x));
        own + partner
    };
    let sides = 1.0 + if other.is_some() { trust } else { 0.0 };
    let cost = |x: f64| both(x) + sides * ((x - share) / DIVIDES).powi(2);
    let steps = 41;
    let tried = (0..steps).map(|s| share + WINDOW * (2.0 * s as f64 / (steps - 1) as f64 - 1.0));
    tried.filter(|x| (0.01..0.98).contains(x)).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(share)
}

/// What speaks against a joint at a share of a limb: that it does not bend there as the template does, that it is wide.
fn cue(search: &Search<'_>, frame: &Frame, stance: &Stance, limb: &Divided, k: usize, x: f64) -> f64 {
    let (joint, _) = limb.joints[k];
    let hints = search.template.joints[joint].hints;
    let mut cost = 0.0;
    if hints.bends {
        let reach = 0.12;
        let at = |x: f64| limb.limb.at(x * limb.whole);
        let bend = at(x) - 0.5 * (at(x - reach) + at(x + reach));
        let chain = &search.reduced.landmarks[limb.landmark];
        let before = limb.joints[k - 1].0;
        let after = limb.joints.get(k + 1).map_or(chain.place(stance), |(j, _)| stance.places[*j]);
        let [a, b, c] = [stance.places[before], stance.places[joint], after];
        let towards = frame.turn * (b - a).reject_from(c - a);
        if let Some(towards) = towards.try_normalize() {
            cost -= BENDS * (bend.dot(towards) / (reach * limb.whole)).clamp(-0.5, 0.5);
        }
    }
    if hints.is_narrow {
        let near = |x: f64| limb.limb.radius_at(x * limb.whole);
        cost += NARROWS * (near(x) / near(x + WINDOW).max(1e-4)).min(3.0);
    }
    cost
}

/// Joints that are on no limb.
fn trunk(
    search: &Search<'_>,
    embedding: &Embedding,
    frame: &Frame,
    stance: &Stance,
    field: &Field,
    palms: &[Option<f64>],
    places: &mut Places,
) {
    let landmarks = &search.reduced.landmarks;
    let begins = |l: usize| -> Option<usize> {
        let chain = &landmarks[l].chain;
        let first = chain.iter().position(|j| search.template.joints[*j].hints.depth.is_some()).unwrap_or(0);
        chain.get(first).copied()
    };
    // The middle of what begins at a landmark: in the template, and in the body.
    let known = places.joints.clone();
    let anchor = |l: usize| -> (DVec3, DVec3) {
        let (mut theirs, mut ours, mut count) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        for child in search.reduced.children(l).filter(|c| landmarks[*c].kind == LandmarkKind::End) {
            if let Some((joint, p)) = begins(child).and_then(|j| known[j].map(|p| (j, p))) {
                (theirs, ours, count) = (theirs + stance.places[joint], ours + p, count + 1.0);
            }
        }
        let ball = search.graph.balls[embedding.balls[l] as usize].centre;
        if count > 0.0 { (theirs / count, ours / count) } else { (landmarks[l].place(stance), ball) }
    };
    let between = |low: (DVec3, DVec3), high: (DVec3, DVec3), p: DVec3| {
        let (axis, ours) = (high.0 - low.0, high.1 - low.1);
        let along = (p - low.0).dot(axis) / axis.length_squared().max(1e-12);
        let off = p - low.0 - axis * along;
        let turned = dermis_rig::glam::DQuat::from_rotation_arc(
            (frame.turn * axis).normalize_or(DVec3::Y),
            ours.normalize_or(DVec3::Y),
        );
        low.1 + ours * along + turned * (frame.turn * off) * frame.scale
    };
    for (l, landmark) in landmarks.iter().enumerate() {
        match landmark.kind {
            LandmarkKind::End => {
                // What leads to a limb, such as a collar bone: between the middle of the pair and the limb.
                let Some(first) = begins(l) else { continue };
                let Some(at) = places.joints[first] else { continue };
                let partner = search.template.joints[first].partner;
                let parent = landmark.parent.unwrap_or(0);
                let low = match places.joints[partner].filter(|_| partner != first) {
                    Some(other) => (0.5 * (stance.places[first] + stance.places[partner]), 0.5 * (at + other)),
                    None => anchor(parent),
                };
                for &joint in landmark.chain.iter().take_while(|j| **j != first) {
                    places.joints[joint] = Some(between(low, (stance.places[first], at), stance.places[joint]));
                }
            }
            LandmarkKind::Branch | LandmarkKind::RootEnd => {
                let next = search.reduced.children(l).find(|c| landmarks[*c].kind == LandmarkKind::Branch);
                let (low, high) = match (landmark.parent, next) {
                    (Some(parent), _) => (anchor(parent), anchor(l)),
                    (None, Some(next)) => (anchor(l), anchor(next)),
                    (None, None) => continue,
                };
                let own =
                    if landmark.parent.is_none() { std::slice::from_ref(&landmark.joint) } else { &landmark.chain[..] };
                for &joint in own {
                    let mut p = between(low, high, stance.places[joint]);
                    if let Some(scale) = palms[l].filter(|_| joint == landmark.joint) {
                        let along = (high.1 - low.1).normalize_or(DVec3::Y);
                        let theirs = (high.0 - low.0).normalize_or(DVec3::Y).dot(high.0 - stance.places[joint]);
                        p += along * ((high.1 - p).dot(along) - theirs * scale);
                    }
                    places.joints[joint] = Some(centred(field, p, high.1 - low.1));
                }
            }
        }
    }
}

/// Joints that ride along: turned and scaled with the bone that they hang on.
fn riders(search: &Search<'_>, frame: &Frame, stance: &Stance, places: &mut Places) {
    let joints = &search.template.joints;
    for j in 0..joints.len() {
        let Some(parent) = joints[j].parent.filter(|_| joints[j].hints.rides) else { continue };
        let on = std::iter::successors(Some(parent), |p| joints[*p].parent).find(|p| !joints[*p].hints.rides);
        let Some((on, at)) = on.and_then(|on| places.joints[on].map(|p| (on, p))) else { continue };
        let child = (0..joints.len()).find(|c| joints[*c].parent == Some(on) && !joints[*c].hints.rides);
        let theirs = stance.ends[on].or(child.map(|c| stance.places[c]));
        let ours = places.ends[on].or(child.and_then(|c| places.joints[c]));
        let (mut turn, mut scale) = (dermis_rig::glam::DQuat::IDENTITY, frame.scale);
        if let (Some(theirs), Some(ours)) = (theirs, ours) {
            let (from, to) = (frame.turn * (theirs - stance.places[on]), ours - at);
            if let (Some(a), Some(b)) = (from.try_normalize(), to.try_normalize()) {
                (turn, scale) = (dermis_rig::glam::DQuat::from_rotation_arc(a, b), to.length() / from.length());
            }
        }
        places.joints[j] = Some(at + turn * (frame.turn * (stance.places[j] - stance.places[on])) * scale);
    }
}

/// Half way to the middle of the trunk, across its axis.
fn centred(field: &Field, p: DVec3, axis: DVec3) -> DVec3 {
    let (u, v) = axis.normalize_or(DVec3::Y).any_orthonormal_pair();
    let mut moved = DVec3::ZERO;
    for d in [u, v, (u + v).normalize(), (u - v).normalize()] {
        let (forth, back) = (field.exit(p, d, 0.3), field.exit(p, -d, 0.3));
        moved += d * 0.5 * (forth - back).clamp(-0.2, 0.2);
    }
    p + 0.5 * (0.5 * moved)
}

/// How far every joint is from the image of its partner.
fn asymmetry(search: &Search<'_>, joints: &[Option<DVec3>]) -> Vec<f64> {
    let Some(symmetry) = search.symmetry else { return vec![0.0; joints.len()] };
    let far = |j: usize| {
        let (p, q) = (joints[j]?, joints[search.template.joints[j].partner]?);
        Some(p.distance(symmetry.image(q)))
    };
    (0..joints.len()).map(|j| far(j).unwrap_or(0.0)).collect()
}

/// Makes partners images of each other, and puts the middle into the plane.
fn symmetrical(search: &Search<'_>, pins: &[Option<DVec3>], places: &mut Places) {
    let Some(symmetry) = search.symmetry.filter(|s| s.trust > 0.5) else { return };
    for points in [&mut places.joints, &mut places.ends] {
        for j in 0..points.len() {
            let partner = search.template.joints[j].partner;
            let (Some(p), Some(q)) = (points[j], points[partner]) else { continue };
            let image = symmetry.image(q);
            if partner < j || p.distance(image) > ALIKE {
                continue;
            }
            let middle = match (pins[j], pins[partner]) {
                (Some(pin), _) => pin,
                (None, Some(pin)) => symmetry.image(pin),
                (None, None) => 0.5 * (p + image),
            };
            points[j] = Some(middle);
            if partner != j && pins[partner].is_none() {
                points[partner] = Some(symmetry.image(middle));
            }
        }
    }
}

/// Moves joints until no bone is farther outside than [`OUTSIDE`]: the point of a bone that is farthest outside goes to the nearest
/// ball, and takes the ends of the bone along by its nearness to them.
fn keep_inside(search: &Search<'_>, field: &Field, pins: &[Option<DVec3>], places: &mut Places) {
    const SAMPLES: usize = 16;
    for _ in 0..ROUNDS {
        let mut moved = false;
        for j in 0..places.joints.len() {
            let Some(b) = places.joints[j] else { continue };
            let parent = search.template.joints[j].parent.and_then(|p| places.joints[p].map(|a| (p, a)));
            let end = places.ends[j].map(|end| (j, b, None, end));
            let bones = parent.map(|(p, a)| (p, a, Some(j), b)).into_iter().chain(end);
            for (from, a, to, b) in bones {
                let share = |k: usize| k as f64 / SAMPLES as f64;
                let worst = (0..=SAMPLES).map(|k| (field.at(a.lerp(b, share(k))), share(k)));
                let Some((depth, t)) = worst.min_by(|x, y| x.0.total_cmp(&y.0)).filter(|w| w.0 < -OUTSIDE) else {
                    continue;
                };
                let p = a.lerp(b, t);
                let push = (inside(search, field, p) - p).clamp_length_max(-depth + OUTSIDE);
                for (joint, weight) in [(Some(from), 1.0 - t), (to, t)] {
                    if let Some(joint) = joint.filter(|joint| pins[*joint].is_none()) {
                        places.joints[joint] = places.joints[joint].map(|p| p + push * weight);
                        moved = true;
                    }
                }
            }
        }
        if !moved {
            break;
        }
    }
}

/// A point inside, or the nearest point of the nearest ball.
fn inside(search: &Search<'_>, field: &Field, p: DVec3) -> DVec3 {
    if field.at(p) > 0.0 {
        return p;
    }
    let far = |b: &&Ball| b.centre.distance(p) - b.radius;
    let nearest = search.graph.balls.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
    nearest.map_or(p, |b| b.centre + (p - b.centre).clamp_length_max(0.5 * b.radius))
}
