//! An order in which poses follow each other without long ways: a round trip from the rest pose.
//!
//! The nearest neighbour first, then exchanges of two edges (2-opt) while they shorten the trip.
//! Source: Croes 1958, "A method for solving traveling-salesman problems".

/// Passes of exchanges; a few dozen poses need 5, two thousand 15.
const PASSES: usize = 40;

/// The order of `count` poses, the first of which stays first: a round trip that is short by `distance`, which is symmetric.
pub(super) fn round_trip(count: usize, distance: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let table: Vec<Vec<f64>> = (0..count).map(|a| (0..a).map(|b| distance(a, b)).collect()).collect();
    let d = |a: usize, b: usize| if a == b { 0.0 } else { table[a.max(b)][a.min(b)] };
    let mut order = Vec::with_capacity(count);
    let mut left: Vec<usize> = (0..count).collect();
    let mut now = 0;
    while !left.is_empty() {
        let at = (0..left.len()).min_by(|&i, &j| d(now, left[i]).total_cmp(&d(now, left[j]))).unwrap_or(0);
        // The first round finds pose 0 itself, at distance zero and first of equals.
        now = left.remove(at);
        order.push(now);
    }
    let n = order.len();
    for _ in 0..PASSES {
        let mut shorter = false;
        for i in 0..n.saturating_sub(2) {
            for j in i + 2..n {
                let (a, b, c, e) = (order[i], order[i + 1], order[j], order[(j + 1) % n]);
                if a == e {
                    continue;
                }
                let gain = d(a, b) + d(c, e) - d(a, c) - d(b, e);
                if gain > 1e-12 * (d(a, b) + d(c, e)) {
                    order[i + 1..=j].reverse();
                    shorter = true;
                }
            }
        }
        if !shorter {
            break;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_testkit::Random;

    /// Oracle: points on a circle in any order have one shortest round trip, around it.
    #[test]
    fn points_on_a_circle_are_walked_around() {
        let mut random = Random::new(1);
        let mut places = random.order(40);
        let zero = places.iter().position(|p| *p == 0).unwrap();
        places.swap(0, zero);
        let at = |i: usize| {
            let turn = std::f64::consts::TAU * places[i] as f64 / 40.0;
            (turn.cos(), turn.sin())
        };
        let order = round_trip(40, |a, b| (at(a).0 - at(b).0).hypot(at(a).1 - at(b).1));
        assert_eq!(order[0], 0);
        let steps: Vec<i64> =
            (0..40).map(|i| (places[order[(i + 1) % 40]] as i64 - places[order[i]] as i64).rem_euclid(40)).collect();
        assert!(steps.iter().all(|s| *s == 1) || steps.iter().all(|s| *s == 39), "{steps:?}");
    }

    #[test]
    fn few_poses_are_an_order_too() {
        for count in 0..5 {
            let mut order = round_trip(count, |a, b| (a as f64 - b as f64).abs());
            order.sort_unstable();
            assert!(order.into_iter().eq(0..count));
        }
    }
}
