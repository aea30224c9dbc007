//! The discrete embedding: landmarks of a template into balls of the medial graph, at the least penalty.
//!
//! Penalties of single landmarks, of bones and of twins (partners that are ends of one branch, such as hands) form a tree: their least
//! sum is found by dynamic programming, from the ends to the root. The other penalties of pairs are never negative, so that sum
//! bounds what a partial embedding can still cost from below. Best first (A*), landmarks are placed in the order of the template,
//! partners side by side: the first whole embedding that is taken up is the best there is, the next ones are the runners-up. A search
//! of more than `MOST_STEPS` steps goes on with the best `BEAM` beginnings of each length, and is no longer exact.
//!
//! Source: Baran & Popović 2007, section 3.3 (penalties, branch and bound). Departure: their bound takes the best of each bone
//! alone; this one is the optimum of all bones and twins together.

use crate::frame::Frame;
use crate::graph::Graph;
use crate::penalties::Penalties;
use crate::symmetry::Symmetry;
use crate::template::{LandmarkKind, Reduced, Stance, Template};
use dermis_motion::anatomy::Side;
use dermis_rig::glam::DVec3;
use std::collections::BinaryHeap;

/// A landmark that is left out.
pub const MISSING: u32 = u32::MAX;

/// An embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The ball of every landmark, or [`MISSING`].
    pub balls: Vec<u32>,
    /// Its penalty.
    pub penalty: f64,
    /// The stance of the template.
    pub stance: usize,
    /// The frame, among those tried.
    pub frame: usize,
}

/// What is looked for, and where.
pub struct Search<'a> {
    /// The template.
    pub template: &'a Template,
    /// Its landmarks.
    pub reduced: &'a Reduced,
    /// The graph.
    pub graph: &'a Graph,
    /// The plane of symmetry, if the template has sides.
    pub symmetry: Option<Symmetry>,
    /// The weights of penalties.
    pub penalties: Penalties,
    /// The height of the ground.
    pub ground: f64,
    /// Where some landmarks must be.
    pub pinned: Vec<Option<DVec3>>,
}

/// Embeddings kept of one frame and stance.
const KEPT: usize = 6;
/// Two embeddings are different if a landmark is so far apart.
const DIFFERENT: f64 = 0.05;
/// Partial embeddings taken up at most; a body takes some hundreds.
const MOST_STEPS: usize = 10_000;
/// Beginnings of one length that go on beyond that.
const BEAM: usize = 200;
/// Ends are looked for among balls beyond which the graph goes on by less.
const END: f64 = 0.01;
/// Feet that are so far ahead of the lower leg point forward, in parts of the leg: 0.03 of a wolf's, 0.1 of a man's.
const FORWARD: f64 = 0.05;
/// A pinned landmark is looked for among so many nearest balls.
const PINNED: usize = 3;

/// The tables of one frame and stance.
struct Tables {
    /// Balls that each landmark may be in; [`MISSING`] last, if it may be.
    choices: Vec<Vec<u32>>,
    /// Penalty of the bone to the parent: choices of the parent × own.
    bone: Vec<Vec<f64>>,
    /// The least penalty of each choice with all that hangs on it.
    below: Vec<Vec<f64>>,
    /// The least penalty of the bone and all below: by choice of the parent. Of twins, the first has that of both, the second none.
    message: Vec<Vec<f64>>,
    /// Of the first of twins, the least penalty of both: choices of the parent × own.
    both: Vec<Vec<f64>>,
    /// Where the frame has each landmark.
    place: Vec<DVec3>,
}

impl Search<'_> {
    /// The best embeddings in one frame and stance, best first; none beyond `limit`.
    pub fn best(&self, frame: &Frame, frame_index: usize, stance: usize, limit: f64) -> Vec<Embedding> {
        let tables = self.tables(frame, &self.template.stances[stance]);
        let landmarks = self.reduced.landmarks.len();
        if tables.choices.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let mut open = BinaryHeap::new();
        for choice in 0..tables.choices[0].len() {
            let bound = tables.below[0][choice];
            open.push(Partial { bound, picks: vec![choice as u16] });
        }
        let mut found: Vec<Embedding> = Vec::new();
        let mut limit = limit;
        for step in 0.. {
            if step == MOST_STEPS {
                if !found.is_empty() {
                    break;
                }
                open = self.completed(&tables, open.into_vec(), limit).into();
            }
            let Some(partial) = open.pop() else { break };
            if partial.bound > limit {
                break;
            }
            let at = partial.picks.len();
            if at == landmarks {
                let balls: Vec<u32> =
                    partial.picks.iter().enumerate().map(|(l, p)| tables.choices[l][*p as usize]).collect();
                if found.iter().all(|other| self.differ(&other.balls, &balls)) {
                    // What is far behind the best says nothing of how sure it is.
                    limit = limit.min(partial.bound + SPREAD);
                    found.push(Embedding { balls, penalty: partial.bound, stance, frame: frame_index });
                }
                if found.len() == KEPT {
                    break;
                }
                continue;
            }
            open.extend(self.next(&tables, &partial, limit));
        }
        found
    }

    /// Beginnings that go on from one by a landmark, at no more than `limit`.
    fn next(&self, tables: &Tables, partial: &Partial, limit: f64) -> Vec<Partial> {
        let at = partial.picks.len();
        let mut next = Vec::new();
        let parent = self.reduced.landmarks[at].parent.unwrap_or(0);
        let parent_pick = partial.picks[parent] as usize;
        let width = tables.choices[at].len();
        for pick in 0..width {
            let tree = tables.bone[at][parent_pick * width + pick] + tables.below[at][pick];
            // The bound held the best choice for this landmark; now it holds this one.
            let bound = match self.twin(at) {
                Some(twin) if twin > at => {
                    partial.bound - tables.message[at][parent_pick] + tables.both[at][parent_pick * width + pick]
                }
                Some(twin) => {
                    let first = partial.picks[twin] as usize;
                    let across = parent_pick * tables.choices[twin].len() + first;
                    let alone = tables.bone[twin][across] + tables.below[twin][first];
                    let ball_of = |l: usize| tables.choices[l][if l == at { pick } else { partial.picks[l] as usize }];
                    partial.bound - tables.both[twin][across] + alone + tree + self.between(at, twin, &ball_of)
                }
                None => partial.bound - tables.message[at][parent_pick] + tree,
            };
            if bound.is_nan() || bound > limit {
                continue;
            }
            let pairs = self.pairs(tables, &partial.picks, at, pick);
            if bound + pairs <= limit {
                let mut picks = partial.picks.clone();
                picks.push(pick as u16);
                next.push(Partial { bound: bound + pairs, picks });
            }
        }
        next
    }

    /// Whole embeddings from beginnings: of those of one length, the best [`BEAM`] go on.
    fn completed(&self, tables: &Tables, open: Vec<Partial>, limit: f64) -> Vec<Partial> {
        let landmarks = self.reduced.landmarks.len();
        let mut of_length: Vec<Vec<Partial>> = (0..=landmarks).map(|_| Vec::new()).collect();
        for partial in open {
            of_length[partial.picks.len()].push(partial);
        }
        for length in 0..landmarks {
            let mut own = std::mem::take(&mut of_length[length]);
            own.sort_by(|a, b| b.cmp(a));
            own.truncate(BEAM);
            of_length[length + 1].extend(own.iter().flat_map(|partial| self.next(tables, partial, limit)));
        }
        of_length.pop().unwrap_or_default()
    }

    /// The penalty of feet that point backward: which way a whole embedding faces. Toes of people, and paws below hocks and wrists, lie ahead of
    /// the lower leg. It is the same for all embeddings that have the same feet and face the same way, so it is no part of the search.
    pub fn backward(&self, embedding: &Embedding, frame: &Frame) -> f64 {
        let forward = frame.turn * DVec3::Z;
        let (mut sum, mut count) = (0.0, 0.0);
        for (landmark, &ball) in self.reduced.landmarks.iter().zip(&embedding.balls) {
            let parent = landmark.parent.map(|parent| embedding.balls[parent]).filter(|parent| *parent != MISSING);
            let (Some(parent), true) = (parent, self.template.joints[landmark.joint].hints.on_ground) else { continue };
            if ball == MISSING {
                continue;
            }
            let way = self.graph.way(parent as usize, ball as usize);
            let foot = self.graph.balls[ball as usize].centre;
            let length = self.graph.distance(parent as usize, ball as usize).max(1e-9);
            // The lower leg: balls within a third of the way from the foot.
            let above =
                way.iter().filter(|b| (0.1..0.35).contains(&(self.graph.distance(**b, ball as usize) / length)));
            for leg in above.map(|b| self.graph.balls[*b].centre) {
                (sum, count) = (sum + (foot - leg).dot(forward) / length, count + 1.0);
            }
        }
        if count > 0.0 { self.penalties.backward * (1.0 - (sum / count / FORWARD).tanh()) } else { 0.0 }
    }

    fn differ(&self, a: &[u32], b: &[u32]) -> bool {
        let place = |ball: u32| self.graph.balls.get(ball as usize).map(|b| b.centre);
        a.iter().zip(b).any(|(a, b)| match (place(*a), place(*b)) {
            (Some(a), Some(b)) => a.distance(b) > DIFFERENT,
            (a, b) => a.is_some() != b.is_some(),
        })
    }

    fn trust(&self) -> f64 {
        self.symmetry.map_or(0.0, |s| s.trust)
    }

    fn tables(&self, frame: &Frame, stance: &Stance) -> Tables {
        let weights = &self.penalties;
        let (graph, landmarks) = (self.graph, &self.reduced.landmarks);
        let place: Vec<DVec3> = landmarks.iter().map(|l| frame.place(l.place(stance))).collect();
        let largest = graph.balls.get(2.min(graph.len().saturating_sub(1))).map_or(1.0, |b| b.radius);
        let mut choices: Vec<Vec<u32>> = Vec::new();
        let mut alone: Vec<Vec<f64>> = Vec::new();
        for (l, landmark) in landmarks.iter().enumerate() {
            let hints = self.template.joints[landmark.joint].hints;
            let is_end = landmark.kind != LandmarkKind::Branch;
            let mut own: Vec<u32> = match self.pinned[l] {
                Some(pin) => {
                    let mut near: Vec<u32> = (0..graph.len() as u32).collect();
                    let far =
                        |b: &u32| graph.balls[*b as usize].centre.distance(pin) - 0.5 * graph.balls[*b as usize].radius;
                    near.sort_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b)));
                    near.truncate(PINNED);
                    near
                }
                None => {
                    let fits = |b: &u32| match is_end {
                        true => graph.beyond[*b as usize] < END,
                        false => !hints.is_fat || graph.balls[*b as usize].radius > 0.4 * largest,
                    };
                    (0..graph.len() as u32).filter(fits).collect()
                }
            };
            let penalty = |ball: u32| {
                let ball_index = ball as usize;
                let ball = graph.balls[ball_index];
                let mut sum = 0.0;
                if is_end {
                    sum += weights.dead_end * (graph.beyond[ball_index] / 0.1).powi(2);
                    if hints.on_ground {
                        sum += weights.ground * ((ball.centre.y - ball.radius - self.ground) / 0.1).powi(2);
                    }
                    if hints.is_bulb {
                        sum += weights.bulb * (1.0 - ball.radius / (0.5 * largest)).max(0.0).powi(2);
                    }
                } else if hints.is_fat {
                    sum += weights.fat * (1.0 - ball.radius / largest).max(0.0).powi(2);
                }
                let in_middle = self.template.joints[landmark.joint].side == Side::Middle;
                if let (Some(symmetry), true) = (self.symmetry, in_middle) {
                    let off = symmetry.normal.dot(ball.centre) - symmetry.plane;
                    sum += weights.middle * symmetry.trust * (off / 0.1).powi(2);
                }
                sum
            };
            let mut costs: Vec<f64> = own.iter().map(|b| penalty(*b)).collect();
            if landmark.is_optional && self.pinned[l].is_none() {
                own.push(MISSING);
                costs.push(weights.missing);
            }
            choices.push(own);
            alone.push(costs);
        }
        let bone = |l: usize| -> Vec<f64> {
            let Some(parent) = landmarks[l].parent else { return Vec::new() };
            let wanted = place[l] - place[parent];
            let length = landmarks[l].chain_length(stance, landmarks[parent].place(stance)) * frame.scale;
            let crooked = length / wanted.length().max(1e-9);
            // The stump of a forearm is as long as somebody cut it.
            let is_stump = self.symmetry.is_none() && landmarks[parent].kind == LandmarkKind::RootEnd;
            let one = |from: u32, to: u32| {
                if from == MISSING || to == MISSING {
                    return 0.0;
                }
                let (a, b) = (graph.balls[from as usize], graph.balls[to as usize]);
                let straight = b.centre - a.centre;
                if from == to || straight.length() < 1e-6 {
                    return f64::INFINITY;
                }
                // An end is a radius further than the middle of its ball.
                let on = if landmarks[l].kind == LandmarkKind::End { b.radius } else { 0.0 };
                let way = graph.distance(from as usize, to as usize);
                let angle = straight.angle_between(wanted) / 60_f64.to_radians();
                let longer = ((way + on) / length).ln();
                let longer = if is_stump { longer.min(0.0) } else { longer };
                weights.direction * angle.powi(2)
                    + weights.length * longer.powi(2)
                    + weights.crooked * (way / straight.length() / crooked - 1.0).max(0.0).powi(2)
            };
            let from = &choices[parent];
            from.iter().flat_map(|f| choices[l].iter().map(move |t| one(*f, *t))).collect()
        };
        let bone: Vec<Vec<f64>> = (0..landmarks.len()).map(bone).collect();
        let mut below = alone.clone();
        let mut message: Vec<Vec<f64>> = vec![Vec::new(); landmarks.len()];
        let mut both: Vec<Vec<f64>> = vec![Vec::new(); landmarks.len()];
        for l in (1..landmarks.len()).rev() {
            let parent = landmarks[l].parent.unwrap_or(0);
            let width = choices[l].len().max(1);
            if let Some(twin) = self.twin(l) {
                if twin > l {
                    both[l] = self.twins([parent, l, twin], &choices, &bone, &alone);
                    message[l] =
                        both[l].chunks(width).map(|row| row.iter().copied().fold(f64::INFINITY, f64::min)).collect();
                } else {
                    message[l] = vec![0.0; choices[parent].len()];
                }
                for (sum, least) in below[parent].iter_mut().zip(&message[l]) {
                    *sum += least;
                }
                continue;
            }
            message[l] = bone[l]
                .chunks(width)
                .map(|row| row.iter().zip(&below[l]).map(|(b, c)| b + c).fold(f64::INFINITY, f64::min))
                .collect();
            for (sum, least) in below[parent].iter_mut().zip(&message[l]) {
                *sum += least;
            }
        }
        Tables { choices, bone, below, message, both, place }
    }

    /// The other of twins: a partner beside it that ends the same branch.
    fn twin(&self, l: usize) -> Option<usize> {
        let landmarks = &self.reduced.landmarks;
        let partner = landmarks[l].partner;
        let are = landmarks[partner].partner == l
            && partner.abs_diff(l) == 1
            && landmarks[l].parent.is_some()
            && landmarks[l].parent == landmarks[partner].parent
            && [l, partner].iter().all(|l| landmarks[*l].kind == LandmarkKind::End);
        are.then_some(partner)
    }

    /// The least penalty of twins: choices of the parent × choices of the first.
    fn twins(
        &self,
        [parent, l, twin]: [usize; 3],
        choices: &[Vec<u32>],
        bone: &[Vec<f64>],
        alone: &[Vec<f64>],
    ) -> Vec<f64> {
        let (width, other) = (choices[l].len(), choices[twin].len());
        (0..choices[parent].len())
            .flat_map(|p| {
                let cost = |pick: usize| bone[twin][p * other + pick] + alone[twin][pick];
                let mut order: Vec<(f64, usize)> = (0..other).map(|pick| (cost(pick), pick)).collect();
                order.sort_by(|a, b| a.0.total_cmp(&b.0));
                let least = |first: usize| {
                    let own = bone[l][p * width + first] + alone[l][first];
                    let mut best = f64::INFINITY;
                    for &(cost, pick) in &order {
                        if (own + cost).is_nan() || own + cost >= best {
                            break;
                        }
                        let ball_of = |at: usize| match at {
                            at if at == l => choices[l][first],
                            at if at == twin => choices[twin][pick],
                            _ => choices[parent][p],
                        };
                        best = best.min(own + cost + self.between(twin, l, &ball_of));
                    }
                    best
                };
                (0..width).map(least).collect::<Vec<f64>>()
            })
            .collect()
    }

    /// The penalties of a new landmark with those that are placed, but for its twin.
    fn pairs(&self, tables: &Tables, picks: &[u16], at: usize, pick: usize) -> f64 {
        let ball_of = |l: usize| tables.choices[l][if l == at { pick } else { picks[l] as usize }];
        let twin = self.twin(at);
        let pair = |other: usize| self.between(at, other, &ball_of) + self.order(&tables.place, at, other, &ball_of);
        (0..picks.len()).filter(|other| twin != Some(*other)).map(pair).sum()
    }

    /// The penalty of two ends of one branch that lie the other way round than in the template: fingers. A plane of symmetry tells the sides of
    /// templates that have it.
    fn order(&self, place: &[DVec3], at: usize, other: usize, ball_of: &dyn Fn(usize) -> u32) -> f64 {
        let landmarks = &self.reduced.landmarks;
        let are_fan = landmarks[at].parent == landmarks[other].parent
            && [at, other].iter().all(|l| landmarks[*l].kind == LandmarkKind::End);
        if self.symmetry.is_some() || !are_fan {
            return 0.0;
        }
        let centre = |l: usize| self.graph.balls.get(ball_of(l) as usize).map(|b| b.centre);
        let (Some(a), Some(b)) = (centre(at), centre(other)) else { return 0.0 };
        let (wanted, own) = (place[at] - place[other], a - b);
        let cosine = wanted.normalize_or_zero().dot(own.normalize_or_zero());
        self.penalties.order * (-cosine).max(0.0)
    }

    /// The penalties of two landmarks with each other.
    fn between(&self, at: usize, other: usize, ball_of: &dyn Fn(usize) -> u32) -> f64 {
        let (weights, graph, landmarks) = (&self.penalties, self.graph, &self.reduced.landmarks);
        let (own, ball) = (ball_of(at), ball_of(other));
        if own == MISSING || ball == MISSING {
            return 0.0;
        }
        if ball == own {
            return f64::INFINITY;
        }
        let centre = |ball: u32| graph.balls[ball as usize].centre;
        let way = |a: u32, b: u32| graph.distance(a as usize, b as usize);
        // The way from a landmark to one above it, through the template's bones.
        let up = |from: usize, to: usize| {
            let (mut l, mut sum) = (from, 0.0);
            while l != to {
                let Some(parent) = landmarks[l].parent else { return f64::INFINITY };
                sum += way(ball_of(parent), ball_of(l));
                l = parent;
            }
            sum
        };
        let above = |l: usize| std::iter::successors(Some(l), |l| landmarks[*l].parent);
        let mut sum = 0.0;
        if [at, other].iter().all(|l| landmarks[*l].kind != LandmarkKind::Branch) {
            let meet = above(at).find(|l| above(other).any(|o| o == *l)).unwrap_or(0);
            let through = up(at, meet) + up(other, meet);
            sum += weights.sharing * ((through - way(own, ball)).max(0.0) / 0.3).powi(2);
        }
        if landmarks[at].partner == other {
            if let Some(symmetry) = self.symmetry {
                let off = symmetry.image(centre(ball)).distance(centre(own));
                sum += weights.mirror * symmetry.trust * (off / 0.2).powi(2);
            }
            if let (Some(a), Some(b)) = (landmarks[at].parent, landmarks[other].parent) {
                let ratio = way(ball_of(a), own) / way(ball_of(b), ball).max(1e-9);
                sum += weights.unequal * ratio.ln().powi(2) * (0.3 + 0.7 * self.trust());
            }
        }
        sum
    }
}

/// How far behind the best embedding another one may be to be kept, in penalty.
pub const SPREAD: f64 = 1.0;

/// An embedding of the first landmarks.
struct Partial {
    bound: f64,
    picks: Vec<u16>,
}

impl PartialEq for Partial {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Partial {}
impl PartialOrd for Partial {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Partial {
    /// The greatest has the least bound; of equal ones the longest, then the first in the order of picks.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let bound = other.bound.total_cmp(&self.bound);
        bound.then(self.picks.len().cmp(&other.picks.len())).then_with(|| other.picks.cmp(&self.picks))
    }
}
