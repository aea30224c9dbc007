//! The rig of a page in 3D: weights by bone, influence maps, left and right, connected components, joints with their axes and limits.
//!
//! Weights travel as sparse rows in 16 bits: a step is 1/65535.

use super::skins::{Packed, diagonal, pack_points};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

/// A rig as the page shows it, at rest. Positions are in mesh units, Y up.
#[derive(Clone, Debug, Default)]
pub struct RigView {
    /// Vertex indices, three per triangle.
    pub triangles: Vec<[u32; 3]>,
    /// Rest positions.
    pub rest: Vec<[f32; 3]>,
    /// The bones, parents first.
    pub bones: Vec<RigBone>,
    /// For each vertex its bones and their weights; empty if the rig has none.
    pub weights: Vec<Vec<(u32, f32)>>,
    /// For each vertex its bones and their influence, 0..=1; empty if the rig has no maps.
    pub maps: Vec<Vec<(u32, f32)>>,
    /// Left and right, if the rig has them.
    pub mirror: Option<RigMirror>,
    /// For each vertex the number of its connected component.
    pub islands: Vec<u32>,
    /// Edges along which the file draws two vertices in the place of one.
    pub seams: Vec<[u32; 2]>,
    /// Edges of one triangle.
    pub borders: Vec<[u32; 2]>,
}

/// A bone of a [`RigView`].
#[derive(Clone, Debug, Default)]
pub struct RigBone {
    /// Its name.
    pub name: String,
    /// The number of its parent.
    pub parent: Option<u32>,
    /// Where its joint is at rest.
    pub head: [f32; 3],
    /// Its own axes at rest, x y z, unit vectors of the world.
    pub axes: [[f32; 3]; 3],
    /// How far it turns from rest, as arcs.
    pub arcs: Vec<RigArc>,
    /// The same in words, and where it comes from, e.g. "bend −10° to 140° (anatomy)".
    pub limits: String,
}

/// A range of angles of a joint.
#[derive(Clone, Debug)]
pub struct RigArc {
    /// What turns, e.g. "bend".
    pub name: String,
    /// The axis, a unit vector of the world.
    pub about: [f32; 3],
    /// The direction that is at 0°, a unit vector of the world.
    pub zero: [f32; 3],
    /// From and to, degrees.
    pub range: [f32; 2],
}

/// Left and right of a [`RigView`].
#[derive(Clone, Debug, Default)]
pub struct RigMirror {
    /// Normal of the plane, a unit vector.
    pub normal: [f32; 3],
    /// Where the plane stands: normal · p of its points, mesh units.
    pub plane: f32,
    /// For each vertex its partner.
    pub partners: Vec<Option<u32>>,
    /// For each bone its partner.
    pub bones: Vec<u32>,
    /// For each vertex by how much its weights differ from its partner's, 0..=1; NaN without a partner.
    pub asymmetry: Vec<f32>,
}

/// The rig as the page's script reads it. Lists of numbers are little-endian, base64.
#[derive(Serialize)]
pub(crate) struct PackedRig<'a> {
    vertices: usize,
    triangles: String,
    rest: Packed,
    bones: Vec<PackedBone<'a>>,
    weights: Option<PackedRows>,
    maps: Option<PackedRows>,
    mirror: Option<PackedMirror<'a>>,
    islands: Option<String>,
    seams: String,
    borders: String,
}

#[derive(Serialize)]
struct PackedBone<'a> {
    name: &'a str,
    parent: i64,
    head: [f32; 3],
    axes: [[f32; 3]; 3],
    arcs: Vec<PackedArc<'a>>,
    limits: &'a str,
}

#[derive(Serialize)]
struct PackedArc<'a> {
    name: &'a str,
    about: [f32; 3],
    zero: [f32; 3],
    range: [f32; 2],
}

/// Sparse rows: for each vertex the number of its entries, then the bone and the value of every entry.
#[derive(Serialize)]
struct PackedRows {
    /// `u16` per vertex.
    counts: String,
    /// `u16` per entry.
    bones: String,
    /// `u16` per entry; 65535 is 1.
    values: String,
}

#[derive(Serialize)]
struct PackedMirror<'a> {
    normal: [f32; 3],
    plane: f32,
    /// `u32` per vertex; 2³² − 1 for none.
    partners: String,
    bones: &'a [u32],
    /// `f32` per vertex.
    asymmetry: String,
}

/// Packs a rig and says what it leaves out. Returns none if there is no triangle to draw.
pub(crate) fn pack(view: &RigView) -> (Option<PackedRig<'_>>, Vec<String>) {
    let vertices = view.rest.len();
    let mut left_out = Vec::new();
    let is_there = |v: &u32| (*v as usize) < vertices;
    let mut triangles = numbers(view.triangles.iter().filter(|t| t.iter().all(is_there)).flatten().copied());
    let kept = triangles.1 / 3;
    if kept < view.triangles.len() {
        left_out.push(format!(
            "{} of {} triangles name a vertex beyond the {vertices} of the mesh; the 3D view leaves them out.",
            view.triangles.len() - kept,
            view.triangles.len()
        ));
    }
    if kept == 0 {
        return (None, left_out);
    }
    let mut rows = |given: &[Vec<(u32, f32)>], what: &str| {
        let fits = given.len() == vertices && view.bones.len() <= usize::from(u16::MAX);
        if !given.is_empty() && !fits {
            left_out.push(format!("The {what} do not fit the mesh; the 3D view leaves them out."));
        }
        (fits && !given.is_empty()).then(|| pack_rows(given, view.bones.len()))
    };
    let weights = rows(&view.weights, "weights");
    let maps = rows(&view.maps, "influence maps");
    let mirror = view
        .mirror
        .as_ref()
        .filter(|m| m.partners.len() == vertices && m.asymmetry.len() == vertices && m.bones.len() == view.bones.len());
    let edges = |edges: &[[u32; 2]]| numbers(edges.iter().filter(|e| e.iter().all(is_there)).flatten().copied()).0;
    let packed = PackedRig {
        vertices,
        triangles: std::mem::take(&mut triangles.0),
        rest: pack_points(view.rest.iter().map(|p| p.map(f64::from)), diagonal(&view.rest) * 2e-5),
        bones: view.bones.iter().map(|bone| pack_bone(bone, view.bones.len())).collect(),
        weights,
        maps,
        mirror: mirror.map(|m| PackedMirror {
            normal: m.normal,
            plane: m.plane,
            partners: numbers(m.partners.iter().map(|p| p.unwrap_or(u32::MAX))).0,
            bones: &m.bones,
            asymmetry: STANDARD.encode(m.asymmetry.iter().flat_map(|a| a.to_le_bytes()).collect::<Vec<u8>>()),
        }),
        islands: (view.islands.len() == vertices).then(|| numbers(view.islands.iter().copied()).0),
        seams: edges(&view.seams),
        borders: edges(&view.borders),
    };
    (Some(packed), left_out)
}

fn pack_bone(bone: &RigBone, bones: usize) -> PackedBone<'_> {
    let arc = |arc: &'_ RigArc| arc.about.iter().chain(&arc.zero).chain(&arc.range).all(|x| x.is_finite());
    PackedBone {
        name: &bone.name,
        parent: bone.parent.filter(|&p| (p as usize) < bones).map_or(-1, i64::from),
        head: bone.head,
        axes: bone.axes,
        arcs: bone
            .arcs
            .iter()
            .filter(|a| arc(a))
            .map(|a| PackedArc { name: &a.name, about: a.about, zero: a.zero, range: a.range })
            .collect(),
        limits: &bone.limits,
    }
}

fn pack_rows(rows: &[Vec<(u32, f32)>], bones: usize) -> PackedRows {
    let (mut counts, mut named, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let kept = row.iter().filter(|(bone, value)| (*bone as usize) < bones && *value > 0.0);
        let mut count = 0u16;
        for &(bone, value) in kept.take(usize::from(u16::MAX)) {
            count += 1;
            named.extend((bone as u16).to_le_bytes());
            values.extend(((value.min(1.0) * 65535.0).round() as u16).to_le_bytes());
        }
        counts.extend(count.to_le_bytes());
    }
    let [counts, bones, values] = [counts, named, values].map(|bytes| STANDARD.encode(bytes));
    PackedRows { counts, bones, values }
}

/// Numbers as base64, and how many.
fn numbers(list: impl Iterator<Item = u32>) -> (String, usize) {
    let bytes: Vec<u8> = list.flat_map(u32::to_le_bytes).collect();
    (STANDARD.encode(&bytes), bytes.len() / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle() -> RigView {
        RigView {
            triangles: vec![[0, 1, 2], [0, 1, 9]],
            rest: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            bones: vec![RigBone::default(), RigBone { parent: Some(7), ..RigBone::default() }],
            weights: vec![vec![(0, 0.25), (1, 0.75)], vec![(9, 0.5), (1, f32::NAN)], vec![(0, 2.0)]],
            maps: vec![vec![]],
            ..RigView::default()
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let view = triangle();
        let (packed, said) = pack(&view);
        let packed = packed.unwrap();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(packed.maps.is_none() && packed.mirror.is_none() && packed.islands.is_none());
        assert_eq!(packed.bones[1].parent, -1);
        let rows = packed.weights.unwrap();
        assert_eq!(STANDARD.decode(rows.counts).unwrap(), [2, 0, 0, 0, 1, 0]);
        // 0.25 · 65535 and 0.75 · 65535, rounded, low byte first; more than 1 is 1.
        assert_eq!(STANDARD.decode(rows.values).unwrap(), [0x00, 0x40, 0xff, 0xbf, 0xff, 0xff]);
        assert!(pack(&RigView::default()).0.is_none());
    }
}
