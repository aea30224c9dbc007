//! Whether skins are those of the poses they come with: in the unit, the axes and the vertex order that were assumed. What is
//! wrong in one of these would be learnt without complaint. The rig's own weights say what is expected.

use crate::error::FileError;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::number::decimal;
use dermis_rig::{BoneTransforms, Example, Rig};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// The remedy for vertices in another order.
pub(crate) const KEEP_ORDER: &str = "export with the vertex order kept, from the mesh that the rig has; if the order is the rig's all the same, say `trust-order=true`";

/// Examples that are looked at: what is wrong with a file is wrong with all of them.
pub(crate) const LOOKED_AT: usize = 4;

/// Vertices out of place that are looked for among all others, at most.
const SOUGHT: usize = 256;

/// Returns the skin that a rig's own weights make of a pose; `None` without weights.
pub(crate) fn own_skin(rig: &Rig, pose: &BoneTransforms) -> Option<Vec<DVec3>> {
    let weights = rig.weights()?;
    let mut skin = vec![DVec3::ZERO; rig.mesh().positions.len()];
    dermis_deform::lbs(&rig.mesh().positions, weights, pose, &mut skin);
    Some(skin)
}

/// Compares unit, axes and vertex order of examples of one file with the skins that are expected in their poses. Of many, a few
/// evenly spread ones are looked at.
///
/// - `covers`: the vertices that are looked at; all without
/// - `expected`: the skin in a pose; nothing is compared where it is not known
/// - `is_ordered`: the order of the vertices is known, by proof or by the user's word, and not looked at
///
/// # Errors
/// [`FileError::Lacks`] with the remedy.
pub(crate) fn check_skins(
    rig: &Rig,
    examples: &[Example],
    covers: Option<&[u32]>,
    expected: &dyn Fn(&BoneTransforms) -> Option<Vec<DVec3>>,
    is_ordered: bool,
    path: &Path,
) -> Result<(), FileError> {
    let examples: Vec<&Example> = examples.iter().step_by(examples.len().div_ceil(LOOKED_AT).max(1)).collect();
    let expected: Option<Vec<Vec<DVec3>>> = examples.iter().map(|example| expected(&example.transforms)).collect();
    let Some(expected) = expected else { return Ok(()) };
    let skins: Vec<Skin<'_>> =
        examples.into_iter().zip(&expected).map(|(example, expected)| Skin::new(example, expected, covers)).collect();
    check_size(&skins, path)?;
    check_axes(&skins, path)?;
    if is_ordered {
        return Ok(());
    }
    let edges: Vec<(u32, u32)> = distinct_edges(&rig.mesh().triangles);
    skins.iter().try_for_each(|skin| check_neighbours(skin, &edges, path))?;
    check_places(&skins, &edges, path)
}

/// An example, and what the rig makes of its pose.
struct Skin<'a> {
    example: &'a Example,
    expected: &'a [DVec3],
    /// Where the vertices that are looked at are, and where they are expected.
    places: [Cow<'a, [DVec3]>; 2],
}

impl Skin<'_> {
    fn new<'a>(example: &'a Example, expected: &'a [DVec3], covers: Option<&[u32]>) -> Skin<'a> {
        let places = [&example.positions[..], expected].map(|all| match covers {
            None => Cow::Borrowed(all),
            Some(covers) => covers.iter().map(|&v| all[v as usize]).collect(),
        });
        Skin { example, expected, places }
    }

    /// Where vertex `v` is, and where it is expected.
    fn of(&self, v: u32) -> (DVec3, DVec3) {
        (self.example.positions[v as usize], self.expected[v as usize])
    }

    fn places(&self) -> (&[DVec3], &[DVec3]) {
        (&self.places[0], &self.places[1])
    }

    fn pairs(&self) -> impl Iterator<Item = (DVec3, DVec3)> + '_ {
        let (own, expected) = self.places();
        own.iter().copied().zip(expected.iter().copied())
    }
}

/// Skins in another unit than assumed.
fn check_size(skins: &[Skin<'_>], path: &Path) -> Result<(), FileError> {
    let spread = |points: &[DVec3]| {
        let middle = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
        points.iter().map(|p| p.distance_squared(middle)).sum::<f64>()
    };
    let size: f64 = skins.iter().map(|skin| spread(skin.places().0)).sum();
    let expected: f64 = skins.iter().map(|skin| spread(skin.places().1)).sum();
    // Between a character that swells in its motion and one in inches that was taken for one in centimetres (2.54).
    let ratio = (size / expected).sqrt();
    if !(0.45..=2.2).contains(&ratio) && expected > 0.0 {
        let what = format!("the skins are {} times as large as the rig makes them", decimal(ratio, 3));
        let hint = "state the unit of this file: `unit=1` for metres, `unit=0.01` for centimetres; or correct the one that it states";
        return Err(FileError::lacks(path, what, hint));
    }
    Ok(())
}

/// Skins in other axes than assumed: turned by right angles, or mirrored.
fn check_axes(skins: &[Skin<'_>], path: &Path) -> Result<(), FileError> {
    // A flat skin has no handedness: a mirror image is a turn of it.
    let flat = skins.iter().all(|skin| is_flat(skin.places().1));
    // Σ |P x − y|² = Σ |x|² + |y|² − 2 tr(P Σ x yᵀ) for a turn or mirror image P.
    let (mut moments, mut squares, mut plain) = (DMat3::ZERO, 0.0, 0.0);
    for (x, y) in skins.iter().flat_map(Skin::pairs) {
        moments += DMat3::from_cols(x * y.x, x * y.y, x * y.z);
        squares += x.length_squared() + y.length_squared();
        plain += x.distance_squared(y);
    }
    let best = axes()
        .filter(|turn| !flat || turn.determinant() > 0.0)
        .map(|turn| (squares - 2.0 * trace(&(turn * moments)), turn))
        .reduce(|best, other| if other.0 < best.0 { other } else { best });
    // A quarter turn misplaces a body by about its size; a tenth of the error means that the axes are the explanation.
    let Some((_, turn)) = best.filter(|(error, _)| *error < 0.01 * plain) else { return Ok(()) };
    let about_x = turn.col(0) == DVec3::X && turn.determinant() > 0.0 && turn.col(1).y == 0.0;
    let (what, hint) = match (about_x, turn.determinant() > 0.0) {
        (true, _) => (
            "the skins fit the poses only after a quarter turn about x".to_owned(),
            "name the axis that points up in this file: `up=z` or `up=y`; or correct the one that it states",
        ),
        (false, true) => (
            format!("the skins fit the poses only after a turn: {}", turn_in_words(&turn)),
            "export the skins with the axes of the rig, and with the character's own transform applied",
        ),
        (false, false) => (
            format!("the skins are a mirror image of what the poses make: they fit after {}", turn_in_words(&turn)),
            "export the skins with the handedness of the rig",
        ),
    };
    Err(FileError::lacks(path, what, hint))
}

/// Whether points lie within a fiftieth of their extent along one axis.
fn is_flat(points: &[DVec3]) -> bool {
    let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)));
    (high - low).min_element() < 0.02 * (high - low).max_element()
}

/// The 47 turns and mirror images that take axes to axes.
fn axes() -> impl Iterator<Item = DMat3> {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let signed = |order: [usize; 3], signs: usize| {
        let column = |c: usize| DVec3::AXES[order[c]] * if signs >> c & 1 == 1 { -1.0 } else { 1.0 };
        DMat3::from_cols(column(0), column(1), column(2))
    };
    orders.into_iter().flat_map(move |order| (0..8).map(move |signs| signed(order, signs))).skip(1)
}

fn trace(m: &DMat3) -> f64 {
    m.x_axis.x + m.y_axis.y + m.z_axis.z
}

/// Where a turn takes x, y and z.
fn turn_in_words(turn: &DMat3) -> String {
    let axis = |to: DVec3| {
        let at = (0..3).find(|&i| to[i] != 0.0).unwrap_or(0);
        format!("{}{}", if to[at] < 0.0 { "-" } else { "" }, ["x", "y", "z"][at])
    };
    format!("x to {}, y to {}, z to {}", axis(turn.x_axis), axis(turn.y_axis), axis(turn.z_axis))
}

/// Vertices in another order lie far from their neighbours.
fn check_neighbours(skin: &Skin<'_>, edges: &[(u32, u32)], path: &Path) -> Result<(), FileError> {
    let mut ratios: Vec<f64> =
        edges.iter().map(|&edge| stretch(skin, edge)).filter(|ratio| ratio.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    // Between a skin that is larger as a whole (up to 2.2) and a coarse tube in random order (above 2.8); on the bundled body it is 88.
    match ratios.get(ratios.len() / 2) {
        Some(&median) if median > 2.8 => Err(FileError::lacks(
            path,
            format!(
                "the vertices of \"{}\" seem to be in another order than the rig's: neighbours are {} times as far apart as in its pose",
                skin.example.label,
                decimal(median, 1)
            ),
            KEEP_ORDER,
        )),
        _ => Ok(()),
    }
}

/// An edge's length over the one expected.
fn stretch(skin: &Skin<'_>, (a, b): (u32, u32)) -> f64 {
    let ((xa, ya), (xb, yb)) = (skin.of(a), skin.of(b));
    xa.distance(xb) / ya.distance(yb)
}

/// Some vertices in each other's places, in every example: neighbours that changed places, and vertices that lie far from all
/// their neighbours, but where another such vertex is expected, while a third lies in their own place. A jagged sculpt also
/// tears vertices from their neighbours, but not into each other's places.
fn check_places(skins: &[Skin<'_>], edges: &[(u32, u32)], path: &Path) -> Result<(), FileError> {
    let changed = |skin: &Skin<'_>, (a, b): (u32, u32)| {
        let ((xa, ya), (xb, yb)) = (skin.of(a), skin.of(b));
        let (own, other) = (xa.distance(ya) + xb.distance(yb), xa.distance(yb) + xb.distance(ya));
        other < 0.1 * own && ya.distance(yb) > 0.0
    };
    let swapped = |edge: &&(u32, u32)| skins.iter().all(|skin| changed(skin, **edge));
    let mut wrong: Vec<u32> = edges.iter().filter(swapped).flat_map(|&(a, b)| [a, b]).collect();
    let mut around: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for &(a, b) in edges {
        let torn = skins.iter().all(|skin| stretch(skin, (a, b)) > 3.0);
        for v in [a, b] {
            let (far, all) = around.entry(v).or_default();
            (*far, *all) = (*far + u32::from(torn), *all + 1);
        }
    }
    let torn: Vec<u32> = around.into_iter().filter(|(_, (far, all))| 4 * far >= 3 * all).map(|(v, _)| v).collect();
    // Whether vertex `v` lies where `w` is expected.
    let lies_at = |v: u32, w: u32| {
        skins.iter().all(|skin| {
            let ((x, y), (_, place)) = (skin.of(v), skin.of(w));
            place.distance(x) < 0.1 * x.distance(y)
        })
    };
    let exchanged = |&&v: &&u32| torn.iter().any(|&w| lies_at(v, w)) && torn.iter().any(|&w| lies_at(w, v));
    wrong.extend(torn.iter().take(SOUGHT).filter(exchanged));
    wrong.sort_unstable();
    wrong.dedup();
    if skins.is_empty() || wrong.len() < 2 {
        return Ok(());
    }
    let listed: Vec<String> = wrong.iter().take(4).map(u32::to_string).collect();
    let more = if wrong.len() > listed.len() { ", …" } else { "" };
    Err(FileError::lacks(
        path,
        format!(
            "{} vertices are where others are expected (vertices {}{more}): they are in another order than the rig's",
            wrong.len(),
            listed.join(", ")
        ),
        KEEP_ORDER,
    ))
}

/// Every edge once.
fn distinct_edges(triangles: &[[u32; 3]]) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = edges(triangles).filter(|(a, b)| a != b).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Edges of triangles, those of two triangles twice.
pub(crate) fn edges(triangles: &[[u32; 3]]) -> impl Iterator<Item = (u32, u32)> + '_ {
    triangles.iter().flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]).map(|(a, b)| (a.min(b), a.max(b)))
}
