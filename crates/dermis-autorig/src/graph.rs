//! The medial graph: balls, and edges where one can go from one to the other within the body.
//!
//! Two balls are joined if they overlap, or if the line between them stays inside, at least `CLEAR` of the smaller radius from
//! the skin. Parts without such a line, such as a head that hovers, are joined at their nearest balls.
//!
//! Source: Baran & Popović 2007, section 3.1.

use crate::field::Field;
use crate::medial::Ball;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Balls and the shortest ways between them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The balls, by decreasing radius.
    pub balls: Vec<Ball>,
    edges: Vec<Vec<(u32, f64)>>,
    /// Lengths of shortest ways, balls × balls.
    distance: Vec<f64>,
    /// The ball before the last on the shortest way.
    before: Vec<u32>,
    /// How much farther from its middle the graph goes on beyond each ball: zero at an end of it.
    pub beyond: Vec<f64>,
    /// Joins that leave the body.
    pub bridges: usize,
}

/// How far a line between balls keeps from the skin, in parts of the smaller radius.
const CLEAR: f64 = 0.5;
/// Balls whose spheres are farther apart than this many of the larger radius are not looked at.
const NEAR: f64 = 3.0;
/// A way outside the body counts this many times.
const OUTSIDE: f64 = 3.0;

impl Graph {
    /// Joins balls of a body.
    pub fn new(balls: Vec<Ball>, field: &Field) -> Self {
        let count = balls.len();
        let row = |i: usize| {
            let mut row = Vec::new();
            for j in 0..count {
                let (a, b) = (&balls[i], &balls[j]);
                let length = a.centre.distance(b.centre);
                let gap = length - a.radius - b.radius;
                if i == j || gap > NEAR * a.radius.max(b.radius) {
                    continue;
                }
                let clear = CLEAR * a.radius.min(b.radius);
                // Both orders of a pair sample the same points.
                let (from, to) = if i < j { (a, b) } else { (b, a) };
                let steps = (length / (0.5 * a.radius.min(b.radius)).max(0.004)).ceil().min(40.0) as usize;
                if gap < 0.0 || field.least_along(from.centre, to.centre, steps.max(3)) > clear {
                    row.push((j as u32, length));
                }
            }
            row
        };
        let mut edges: Vec<Vec<(u32, f64)>> = (0..count).into_par_iter().map(row).collect();
        let bridges = bridge(&balls, &mut edges);
        let ways: Vec<(Vec<f64>, Vec<u32>)> = (0..count).into_par_iter().map(|from| shortest(&edges, from)).collect();
        let (mut distance, mut before) = (Vec::with_capacity(count * count), Vec::with_capacity(count * count));
        for (d, b) in ways {
            distance.extend(d);
            before.extend(b);
        }
        let mut graph = Self { balls, edges, distance, before, beyond: Vec::new(), bridges };
        graph.beyond = graph.ends();
        graph
    }

    /// Number of balls.
    pub fn len(&self) -> usize {
        self.balls.len()
    }

    /// Whether there is no ball.
    pub fn is_empty(&self) -> bool {
        self.balls.is_empty()
    }

    /// The length of the shortest way.
    pub fn distance(&self, from: usize, to: usize) -> f64 {
        self.distance[from * self.len() + to]
    }

    /// The balls of the shortest way, both ends included.
    pub fn way(&self, from: usize, to: usize) -> Vec<usize> {
        let mut way = vec![to];
        let mut at = to;
        while at != from && way.len() <= self.len() {
            at = self.before[from * self.len() + at] as usize;
            way.push(at);
        }
        way.reverse();
        way
    }

    /// For each ball, how far the graph goes on: along edges that lead away from the middle, to the ball from which none does.
    fn ends(&self) -> Vec<f64> {
        let count = self.len();
        let far = |i: usize| (0..count).map(|j| self.distance(i, j) * self.balls[j].radius).sum::<f64>();
        let middle = (0..count).min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(0);
        let from_middle = |i: usize| self.distance(middle, i) + self.balls[i].radius;
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|a, b| from_middle(*b).total_cmp(&from_middle(*a)).then(a.cmp(b)));
        let mut farthest: Vec<f64> = (0..count).map(from_middle).collect();
        for &i in &order {
            for &(j, _) in &self.edges[i] {
                if from_middle(j as usize) > from_middle(i) {
                    farthest[i] = farthest[i].max(farthest[j as usize]);
                }
            }
        }
        (0..count).map(|i| farthest[i] - from_middle(i)).collect()
    }
}

/// Joins what hangs apart, nearest balls first; how many joins it took.
fn bridge(balls: &[Ball], edges: &mut [Vec<(u32, f64)>]) -> usize {
    let count = balls.len();
    let mut part: Vec<usize> = (0..count).collect();
    fn root(part: &mut [usize], mut i: usize) -> usize {
        while part[i] != i {
            part[i] = part[part[i]];
            i = part[i];
        }
        i
    }
    for i in 0..count {
        for &(j, _) in &edges[i] {
            let (a, b) = (root(&mut part, i), root(&mut part, j as usize));
            part[a.max(b)] = a.min(b);
        }
    }
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    for i in 0..count {
        for j in 0..i {
            if root(&mut part, i) != root(&mut part, j) {
                let length = balls[i].centre.distance(balls[j].centre);
                pairs.push((length - balls[i].radius - balls[j].radius, j, i));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut joined = 0;
    for (gap, i, j) in pairs {
        let (a, b) = (root(&mut part, i), root(&mut part, j));
        if a != b {
            part[a.max(b)] = a.min(b);
            let length = balls[i].centre.distance(balls[j].centre) + (OUTSIDE - 1.0) * gap.max(0.0);
            edges[i].push((j as u32, length));
            edges[j].push((i as u32, length));
            joined += 1;
        }
    }
    joined
}

/// A length in the order of a heap.
#[derive(PartialEq)]
struct Length(f64);
impl Eq for Length {}
impl PartialOrd for Length {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Length {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Dijkstra's shortest ways from one ball.
fn shortest(edges: &[Vec<(u32, f64)>], from: usize) -> (Vec<f64>, Vec<u32>) {
    let mut distance = vec![f64::INFINITY; edges.len()];
    let mut before = vec![from as u32; edges.len()];
    let mut open = BinaryHeap::new();
    distance[from] = 0.0;
    open.push(Reverse((Length(0.0), from as u32)));
    while let Some(Reverse((Length(d), at))) = open.pop() {
        if d > distance[at as usize] {
            continue;
        }
        for &(to, length) in &edges[at as usize] {
            if d + length < distance[to as usize] {
                distance[to as usize] = d + length;
                before[to as usize] = at;
                open.push(Reverse((Length(d + length), to)));
            }
        }
    }
    (distance, before)
}
