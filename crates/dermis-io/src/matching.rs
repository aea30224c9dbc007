//! Which vertex is which: the vertices of another file brought into the order of a rig.
//!
//! By order when the counts agree, with the rig's own vertices or with those its file draws (split at seams); else by
//! position at rest. Nothing is guessed: what is missing or could be two vertices is an error with numbers.

use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use std::collections::HashMap;

/// Brings the vertices of another file into the order of `rig`.
///
/// - `other_rest`: that file's rest positions, metres, if it has any. With them, an order is believed only if no vertex
///   is further than `tolerance` from its counterpart, and vertices can be matched by position.
/// - `other_count`: its number of vertices
/// - `tolerance`: metres
///
/// Tried in turn: the rig's order; the order of the vertices drawn ([`Mesh::render`]); position at rest, where each vertex
/// of the rig needs exactly one within the tolerance, and none may serve two. Vertices of the other file may be left over.
///
/// # Errors
/// [`MatchError`].
pub fn match_vertices(
    rig: &Mesh,
    other_rest: Option<&[DVec3]>,
    other_count: usize,
    tolerance: f64,
) -> Result<Matching, MatchError> {
    if !(tolerance.is_finite() && tolerance >= 0.0) {
        return Err(MatchError::Tolerance { tolerance });
    }
    if let Some(rest) = other_rest {
        if rest.len() != other_count {
            return Err(MatchError::RestCount { rest: rest.len(), vertices: other_count });
        }
        if let Some(vertex) = rest.iter().position(|p| !p.is_finite()) {
            return Err(MatchError::NotFinite { vertex });
        }
    }
    let in_order = (other_count == rig.positions.len()).then(|| Matching::in_order(rig));
    let drawn = rig.render.as_ref().filter(|render| !render.by_corner).map(|render| render.source.len());
    let as_drawn = (drawn == Some(other_count)).then(|| Matching::as_drawn(rig)).flatten();
    let Some(rest) = other_rest else {
        return match (in_order, as_drawn) {
            (Some(one), Some(other)) if one.source != other.source => Err(MatchError::TwoOrders { count: other_count }),
            (Some(matching), _) | (None, Some(matching)) => Ok(matching),
            (None, None) => Err(MatchError::Counts { rig: rig.positions.len(), drawn, other: other_count }),
        };
    };
    let mut order_distance: Option<f64> = None;
    for mut matching in [in_order, as_drawn].into_iter().flatten() {
        let largest = matching.largest_distance(&rig.positions, rest).max(matching.spread(rest));
        if largest <= tolerance {
            matching.report.largest_distance = Some(matching.largest_distance(&rig.positions, rest));
            matching.report.duplicate_spread = Some(matching.spread(rest));
            return Ok(matching);
        }
        order_distance = Some(order_distance.map_or(largest, |least| least.min(largest)));
    }
    by_position(&rig.positions, rest, tolerance, order_distance)
}

/// Vertices of another file in a rig's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Matching {
    /// For each vertex of the rig, the vertex of the other file.
    source: Vec<u32>,
    /// Other vertices of the file that are the same vertex of the rig: (of the rig, of the file).
    duplicates: Vec<(u32, u32)>,
    /// How they were matched.
    pub report: MatchReport,
}

/// How vertices were matched, and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchReport {
    /// By what.
    pub how: MatchedBy,
    /// Vertices of the rig, each of which has its counterpart.
    pub vertices: usize,
    /// Vertices of the other file.
    pub other_vertices: usize,
    /// The largest distance between counterparts at rest, metres, if the other file's rest positions are known.
    pub largest_distance: Option<f64>,
    /// The largest distance at rest between vertices of the other file that are one vertex of the rig, metres.
    pub duplicate_spread: Option<f64>,
    /// By how many metres the order of the file was off, when positions had to be used although the counts agree.
    pub order_distance: Option<f64>,
}

/// What told which vertex is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedBy {
    /// The order of the rig's vertices.
    Order,
    /// The order of the vertices the rig's file draws, split at seams.
    DrawnOrder,
    /// Position at rest.
    Position,
}

/// Why vertices cannot be matched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatchError {
    /// Counts differ, and there are no rest positions to go by.
    #[error("{other} vertices cannot be matched with the rig's {rig}{}: there are no rest positions to compare", drawn.map_or(String::new(), |d| format!(" (drawn as {d})")))]
    Counts {
        /// The rig's vertices.
        rig: usize,
        /// The vertices its file draws.
        drawn: Option<usize>,
        /// The other file's vertices.
        other: usize,
    },
    /// The rig draws as many vertices as it has, in another order, and there are no rest positions to tell them apart.
    #[error(
        "{count} vertices could follow the rig's order or the order it is drawn in: there are no rest positions to compare"
    )]
    TwoOrders {
        /// Vertices in either order.
        count: usize,
    },
    /// Positions at rest do not tell.
    #[error("{}", no_match(*tolerance, *missing, *ambiguous, first_missing, first_ambiguous, *order_distance))]
    Position {
        /// The tolerance, metres.
        tolerance: f64,
        /// Vertices of the rig without a counterpart.
        missing: usize,
        /// Vertices of the rig with several, or that share one.
        ambiguous: usize,
        /// The first few without.
        first_missing: Vec<usize>,
        /// The first few with several.
        first_ambiguous: Vec<usize>,
        /// By how many metres matching by order was off, if the counts agree.
        order_distance: Option<f64>,
    },
    /// Too many vertices are within the tolerance of each other to look at them all.
    #[error("a tolerance of {tolerance} m is too large for this mesh: vertices are closer together than that")]
    Crowded {
        /// The tolerance, metres.
        tolerance: f64,
    },
    /// A tolerance that is negative or not finite.
    #[error("the tolerance is {tolerance}; it must be zero or more")]
    Tolerance {
        /// The tolerance.
        tolerance: f64,
    },
    /// As many rest positions as vertices are needed.
    #[error("there are {rest} rest positions for {vertices} vertices")]
    RestCount {
        /// Rest positions.
        rest: usize,
        /// Vertices.
        vertices: usize,
    },
    /// A rest position is not finite.
    #[error("rest position {vertex} is not finite")]
    NotFinite {
        /// The first such vertex.
        vertex: usize,
    },
}

fn no_match(
    tolerance: f64,
    missing: usize,
    ambiguous: usize,
    first_missing: &[usize],
    first_ambiguous: &[usize],
    order_distance: Option<f64>,
) -> String {
    let mut text = format!("within {tolerance:.1e} m of their rest positions, ");
    text += &match (missing, ambiguous) {
        (_, 0) => format!("{missing} vertices have no counterpart (first: {first_missing:?})"),
        (0, _) => format!("{ambiguous} vertices have several (first: {first_ambiguous:?})"),
        _ => format!(
            "{missing} vertices have no counterpart (first: {first_missing:?}) and {ambiguous} have several (first: \
             {first_ambiguous:?})"
        ),
    };
    if let Some(distance) = order_distance {
        text += &format!("; by order they are up to {distance:.3e} m apart");
    }
    text
}

impl Matching {
    /// The positions of the rig's vertices, from those of the other file.
    ///
    /// # Panics
    /// If there are not [`MatchReport::other_vertices`] positions.
    pub fn gather(&self, other: &[DVec3]) -> Vec<DVec3> {
        assert_eq!(other.len(), self.report.other_vertices, "another number of vertices than was matched");
        self.source.iter().map(|&at| other[at as usize]).collect()
    }

    /// For each vertex of the rig, the vertex of the other file.
    pub fn source(&self) -> &[u32] {
        &self.source
    }

    /// The largest distance between vertices of the other file that are one vertex of the rig; 0 without such.
    ///
    /// A seam that opens in some frame shows here: [`Matching::gather`] takes the first of them.
    ///
    /// # Panics
    /// As [`Matching::gather`].
    pub fn spread(&self, other: &[DVec3]) -> f64 {
        assert_eq!(other.len(), self.report.other_vertices, "another number of vertices than was matched");
        let first = |rig: u32| other[self.source[rig as usize] as usize];
        self.duplicates.iter().map(|&(rig, at)| first(rig).distance(other[at as usize])).fold(0.0, f64::max)
    }

    fn in_order(rig: &Mesh) -> Self {
        let vertices = rig.positions.len();
        Self::new(MatchedBy::Order, (0..vertices as u32).collect(), vertices)
    }

    /// By the order of drawn vertices; `None` if they leave out one of the rig's, or name one that does not exist.
    fn as_drawn(rig: &Mesh) -> Option<Self> {
        let drawn = &rig.render.as_ref().filter(|render| !render.by_corner)?.source;
        let mut source = vec![u32::MAX; rig.positions.len()];
        let mut duplicates = Vec::new();
        for (at, &vertex) in (0..).zip(drawn) {
            let place = source.get_mut(vertex as usize)?;
            match *place {
                u32::MAX => *place = at,
                _ => duplicates.push((vertex, at)),
            }
        }
        let all = !source.contains(&u32::MAX);
        all.then(|| Self { duplicates, ..Self::new(MatchedBy::DrawnOrder, source, drawn.len()) })
    }

    fn new(how: MatchedBy, source: Vec<u32>, other_vertices: usize) -> Self {
        let report = MatchReport {
            how,
            vertices: source.len(),
            other_vertices,
            largest_distance: None,
            duplicate_spread: None,
            order_distance: None,
        };
        Self { source, duplicates: Vec::new(), report }
    }

    fn largest_distance(&self, rig: &[DVec3], other: &[DVec3]) -> f64 {
        self.source.iter().zip(rig).map(|(&at, p)| p.distance(other[at as usize])).fold(0.0, f64::max)
    }
}

/// Comparisons allowed per vertex. A mesh whose edges are longer than the tolerance needs fewer than 27; 10 000 coincident
/// points would need 10 000 each.
const COMPARISONS: usize = 1000;

/// Counterparts within `tolerance`, found in a hash grid whose cells are as wide as the tolerance.
fn by_position(
    rig: &[DVec3],
    other: &[DVec3],
    tolerance: f64,
    order_distance: Option<f64>,
) -> Result<Matching, MatchError> {
    const FEW: usize = 5;
    // Cells below the resolution of the coordinates would only waste the hash.
    let extent = other.iter().map(|p| p.abs().max_element()).fold(0.0, f64::max);
    let width = tolerance.max(extent * 1e-12).max(f64::MIN_POSITIVE);
    let cell = |p: DVec3| (p / width).floor().to_array().map(|c| c as i64); // saturates
    let mut grid: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    for (at, &p) in (0..).zip(other) {
        grid.entry(cell(p)).or_default().push(at);
    }
    let mut budget = COMPARISONS.saturating_mul(rig.len().max(other.len()));
    let mut source = vec![u32::MAX; rig.len()];
    let mut owner = vec![u32::MAX; other.len()];
    let (mut missing, mut ambiguous) = (Vec::new(), Vec::new());
    for (vertex, &p) in rig.iter().enumerate() {
        let [x, y, z] = cell(p);
        let mut found = Vec::new();
        'search: for n in 0..27i64 {
            let [i, j, k] = [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1];
            let near = [x.saturating_add(i), y.saturating_add(j), z.saturating_add(k)];
            for &at in grid.get(&near).into_iter().flatten() {
                budget = budget.checked_sub(1).ok_or(MatchError::Crowded { tolerance })?;
                if p.distance(other[at as usize]) <= tolerance && !found.contains(&at) {
                    found.push(at);
                    if found.len() > 1 {
                        break 'search;
                    }
                }
            }
        }
        match found[..] {
            [] => missing.push(vertex),
            [one] if owner[one as usize] == u32::MAX => {
                (source[vertex], owner[one as usize]) = (one, vertex as u32);
            }
            _ => ambiguous.push(vertex),
        }
    }
    if missing.is_empty() && ambiguous.is_empty() {
        let mut matching = Matching::new(MatchedBy::Position, source, other.len());
        matching.report.largest_distance = Some(matching.largest_distance(rig, other));
        matching.report.duplicate_spread = Some(0.0);
        matching.report.order_distance = order_distance;
        return Ok(matching);
    }
    Err(MatchError::Position {
        tolerance,
        missing: missing.len(),
        ambiguous: ambiguous.len(),
        first_missing: missing.into_iter().take(FEW).collect(),
        first_ambiguous: ambiguous.into_iter().take(FEW).collect(),
        order_distance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::RenderMesh;

    /// A rig of points on a jittered grid, one apart.
    fn rig(side: usize) -> Mesh {
        let jitter = |at: usize| ((at * 7919) % 101) as f64 / 400.0;
        let point = |at: usize| DVec3::new((at % side) as f64 + jitter(at), (at / side) as f64 - jitter(at + 1), 0.1);
        Mesh { positions: (0..side * side).map(point).collect(), ..Mesh::default() }
    }

    /// A permutation of 0..count: multiplication by a number without common factor.
    fn shuffled(count: usize, factor: usize) -> Vec<usize> {
        (0..count).map(|at| at * factor % count).collect()
    }

    #[test]
    fn equal_counts_match_by_order_unless_rest_positions_say_otherwise() {
        let rig = rig(10);
        let by_count = match_vertices(&rig, None, 100, 1e-3).unwrap();
        assert_eq!((by_count.report.how, by_count.report.largest_distance), (MatchedBy::Order, None));
        assert_eq!(by_count.gather(&rig.positions), rig.positions);
        let moved: Vec<_> = rig.positions.iter().map(|p| *p + DVec3::X * 5e-4).collect();
        let checked = match_vertices(&rig, Some(&moved), 100, 1e-3).unwrap();
        assert_eq!(checked.report.how, MatchedBy::Order);
        assert!((checked.report.largest_distance.unwrap() - 5e-4).abs() < 1e-15);
    }

    /// Oracle: the permutation that was applied.
    #[test]
    fn shuffled_vertices_are_found_by_position() {
        let rig = rig(30);
        let order = shuffled(900, 7);
        let rest: Vec<_> = order.iter().map(|&at| rig.positions[at] + DVec3::splat(1e-4)).collect();
        let matching = match_vertices(&rig, Some(&rest), 900, 1e-3).unwrap();
        assert_eq!(matching.report.how, MatchedBy::Position);
        assert!(matching.report.order_distance.unwrap() > 1.0);
        assert!((matching.report.largest_distance.unwrap() - 3f64.sqrt() * 1e-4).abs() < 1e-12);
        let posed: Vec<_> = order.iter().map(|&at| DVec3::splat(at as f64)).collect();
        let gathered = matching.gather(&posed);
        assert!((0..900).all(|at| gathered[at] == DVec3::splat(at as f64)));
    }

    #[test]
    fn drawn_vertices_are_gathered_and_their_spread_reported() {
        let mut rig = rig(3);
        let source = vec![0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 0];
        let rest: Vec<_> = source.iter().map(|&v: &u32| rig.positions[v as usize]).collect();
        rig.render = Some(RenderMesh { source, ..RenderMesh::default() });
        for known in [None, Some(rest.as_slice())] {
            let matching = match_vertices(&rig, known, 11, 1e-6).unwrap();
            assert_eq!(matching.report.how, MatchedBy::DrawnOrder);
            assert_eq!(matching.gather(&rest), rig.positions);
            let mut posed = rest.clone();
            posed[10].z += 0.25; // from 0.1: the sum is off by 2⁻⁵⁴

            assert_eq!(matching.spread(&rest), 0.0);
            assert!((matching.spread(&posed) - 0.25).abs() < 1e-15);
        }
    }

    #[test]
    fn two_possible_orders_are_no_order() {
        let mut rig = rig(2);
        rig.render = Some(RenderMesh { source: vec![0, 1, 3, 2], ..RenderMesh::default() });
        assert_eq!(match_vertices(&rig, None, 4, 1e-3), Err(MatchError::TwoOrders { count: 4 }));
        let rest: Vec<_> = [0, 1, 3, 2].iter().map(|&v: &usize| rig.positions[v]).collect();
        assert_eq!(match_vertices(&rig, Some(&rest), 4, 1e-3).unwrap().report.how, MatchedBy::DrawnOrder);
    }

    #[test]
    fn what_is_missing_or_ambiguous_is_counted() {
        let rig = rig(3);
        let why = |rest: &[DVec3]| match_vertices(&rig, Some(rest), rest.len(), 1e-3).unwrap_err().to_string();
        let mut rest = rig.positions.clone();
        rest[4].x += 0.3;
        let text = why(&rest);
        assert!(
            text.starts_with("within 1.0e-3 m of their rest positions, 1 vertices have no counterpart (first: [4])")
        );
        assert!(text.contains("by order they are up to 3.000e-1 m apart"), "{text}");
        rest.push(rest[2]);
        assert!(why(&rest).contains("1 vertices have no counterpart (first: [4]) and 1 have several (first: [2])"));
        assert_eq!(
            match_vertices(&rig, None, 8, 1e-3).unwrap_err().to_string(),
            "8 vertices cannot be matched with the rig's 9: there are no rest positions to compare"
        );
        let one = [rig.positions[0]];
        assert!(why(&one).contains("8 vertices have no counterpart"));
        assert_eq!(why(&[DVec3::NAN]), "rest position 0 is not finite");
    }

    #[test]
    fn coincident_vertices_of_the_rig_cannot_share_a_counterpart() {
        let mut twins = rig(3);
        twins.positions[8] = twins.positions[7];
        let rest = &twins.positions[..8];
        let found = match_vertices(&twins, Some(rest), 8, 1e-3);
        assert!(matches!(found, Err(MatchError::Position { ambiguous: 1, missing: 0, .. })), "{found:?}");
    }

    /// 100 000 points in a place would take 10¹⁰ comparisons.
    #[test]
    fn crowds_end_in_an_error() {
        let crowd =
            Mesh { positions: (0..100_000).map(|v| DVec3::X * 0.9 / f64::from(v + 1)).collect(), ..Mesh::default() };
        let other = vec![DVec3::X * 2.5; 100_001];
        assert_eq!(match_vertices(&crowd, Some(&other), other.len(), 1.5), Err(MatchError::Crowded { tolerance: 1.5 }));
        let exact = match_vertices(&rig(3), Some(&rig(3).positions[..8]), 8, 0.0);
        assert!(matches!(exact, Err(MatchError::Position { missing: 1, .. })));
        let far = [DVec3::splat(1e308), DVec3::splat(-1e308)];
        assert!(match_vertices(&rig(3), Some(&far), 2, 1e-300).is_err());
    }
}
