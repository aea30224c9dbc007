//! Mean shift with a flat kernel: clusters of points whose number is not known beforehand.
//!
//! A mode starts at every point and moves to the mean of the points within distance h until it stops. Modes closer than
//! `merge` are one cluster, the earlier first. Source: Comaniciu & Meer 2002.

use std::collections::HashMap;

/// Moves of a mode, at most. With a flat kernel a mode converges after about ten.
const MOST_MOVES: usize = 300;

/// The clusters of some points.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each point; clusters are ranked by size, then by their first point.
    pub labels: Vec<usize>,
    /// How many points each cluster has.
    pub sizes: Vec<usize>,
    /// The mode of each cluster: where the mode of its first point converged.
    pub modes: Vec<Vec<f64>>,
}

/// Clusters points (row after row, `width` numbers each) with bandwidth h and joining distance `merge`.
///
/// A move costs (points)² × `width` operations. Modes that meet move as one.
///
/// # Panics
/// If `width` is zero or does not divide the number of numbers.
pub fn mean_shift(points: &[f64], width: usize, bandwidth: f64, merge: f64) -> Clusters {
    assert!(width > 0 && points.len().is_multiple_of(width), "the points are not rows of that width");
    let count = points.len() / width;
    // Every point's place in the list of modes that still differ.
    let mut place: Vec<usize> = (0..count).collect();
    let mut modes: Vec<(Vec<f64>, bool)> = points.chunks_exact(width).map(|p| (p.to_vec(), false)).collect();
    for _ in 0..MOST_MOVES {
        if modes.iter().all(|(_, stands)| *stands) {
            break;
        }
        for (mode, stands) in modes.iter_mut().filter(|(_, stands)| !stands) {
            let next = mean_within(points, width, mode, bandwidth * bandwidth);
            *stands = next == *mode;
            *mode = next;
        }
        let mut first = HashMap::<Vec<u64>, usize>::new();
        let (mut kept, mut new_place) = (Vec::new(), Vec::with_capacity(modes.len()));
        for (mode, stands) in modes {
            let key = mode.iter().map(|x| x.to_bits()).collect();
            new_place.push(*first.entry(key).or_insert_with(|| {
                kept.push((mode, stands));
                kept.len() - 1
            }));
        }
        place.iter_mut().for_each(|p| *p = new_place[*p]);
        modes = kept;
    }
    joined(&modes, &place, merge)
}

/// The mean of the points within a squared distance of `at`; `at` itself if there are none.
fn mean_within(points: &[f64], width: usize, at: &[f64], limit: f64) -> Vec<f64> {
    let (mut sum, mut count) = (vec![0.0; width], 0usize);
    for point in points.chunks_exact(width) {
        if squared_distance(point, at, limit) <= limit {
            sum.iter_mut().zip(point).for_each(|(s, p)| *s += p);
            count += 1;
        }
    }
    match count {
        0 => at.to_vec(),
        _ => sum.into_iter().map(|s| s / count as f64).collect(),
    }
}

/// |a − b|², or some number above `limit` once it exceeds it.
fn squared_distance(a: &[f64], b: &[f64], limit: f64) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        sum += a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        if sum > limit {
            break;
        }
    }
    sum
}

/// Clusters from modes and the mode of each point.
fn joined(modes: &[(Vec<f64>, bool)], place: &[usize], merge: f64) -> Clusters {
    let mut centres: Vec<&[f64]> = Vec::new();
    // Modes are in the order of their first points.
    let cluster: Vec<usize> = modes
        .iter()
        .map(|(mode, _)| {
            let near = |c: &&[f64]| squared_distance(mode, c, merge * merge) < merge * merge;
            centres.iter().position(near).unwrap_or_else(|| {
                centres.push(mode);
                centres.len() - 1
            })
        })
        .collect();
    let mut sizes = vec![0; centres.len()];
    place.iter().for_each(|&p| sizes[cluster[p]] += 1);
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by_key(|&c| std::cmp::Reverse(sizes[c])); // stable: then by first point
    let mut rank = vec![0; order.len()];
    order.iter().enumerate().for_each(|(new, &old)| rank[old] = new);
    Clusters {
        labels: place.iter().map(|&p| rank[cluster[p]]).collect(),
        sizes: order.iter().map(|&c| sizes[c]).collect(),
        modes: order.iter().map(|&c| centres[c].to_vec()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: within 1, {0, 0.5, 1} have the mean 0.5, {4, 4.2} the mean 4.1, 9 is alone.
    #[test]
    fn groups_that_are_apart_are_found_largest_first() {
        let found = mean_shift(&[4.0, 0.0, 0.5, 9.0, 4.2, 1.0], 1, 1.0, 0.5);
        assert_eq!(found.labels, [1, 0, 0, 2, 1, 0]);
        assert_eq!(found.sizes, [3, 2, 1]);
        assert!((found.modes[0][0] - 0.5).abs() < 1e-15 && (found.modes[1][0] - 4.1).abs() < 1e-15);
    }

    /// Eight numbers at a time are summed; a sum that has just reached the limit goes on.
    #[test]
    fn distances_count_every_number() {
        let mut points = vec![0.0; 18];
        (points[0], points[8]) = (1.0, 1.0);
        assert_eq!(mean_shift(&points, 9, 1.0, 0.5).sizes, [1, 1]);
        assert_eq!(mean_shift(&points, 9, 1.5, 0.5).sizes, [2]);
    }

    #[test]
    fn one_cluster_for_a_wide_kernel_and_one_for_each_place_for_none() {
        let points: Vec<f64> = (0..20).map(|i| f64::from(i % 5)).collect();
        assert_eq!(mean_shift(&points, 1, 100.0, 50.0).sizes, [20]);
        assert_eq!(mean_shift(&points, 1, 0.0, 0.0).sizes, [1; 5].map(|_: i32| 4), "equal points are one mode");
        assert_eq!(mean_shift(&[], 3, 1.0, 0.5).labels, [] as [usize; 0]);
    }
}
