//! Weights of the whole mesh: bone heat on the body, and what lies on it follows it.
//!
//! Bone heat ([`dermis_fit::heat`]) runs on the welded shells that are a part of the body: the largest one, and others of at least
//! `PART` of its area. Smaller shells (eyes, teeth, buttons, straps) take the weights of the nearest point of the body. A shell that
//! is tiny takes one weight as a whole, so that an eyeball stays round.

use crate::AutoRigError;
use crate::body::Body;
use dermis_fit::heat::{HeatReport, HeatSettings, faded, heat_weights};
use dermis_fit::surface::Surface;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, PrincipalBox, Progress};
use std::collections::{BTreeMap, BTreeSet};

/// A shell of at least this part of the largest shell's area is a part of the body.
const PART: f64 = 0.1;
/// A shell whose box, along its principal axes, is smaller than this is rigid.
const TINY: f64 = 0.06;

/// How the weights were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighed {
    /// Of bone heat on the body; `None` if it had no solution and vertices follow their nearest bones.
    pub heat: Option<HeatReport>,
    /// Shells of the body.
    pub body_shells: usize,
    /// Shells that follow the body.
    pub following: usize,
}

/// Weights for every vertex of the mesh. `segments` are in the body's space.
pub fn weigh(
    body: &Body,
    segments: &BoneVec<Vec<[DVec3; 2]>>,
    influences: usize,
    progress: Progress<'_>,
) -> Result<(Influences, Weighed), AutoRigError> {
    let largest = body.shell_areas.first().copied().unwrap_or(0.0);
    let is_body = |shell: u32| body.shell_areas.get(shell as usize).is_none_or(|area| *area >= PART * largest);
    let mut number: Vec<Option<u32>> = vec![None; body.nodes.len()];
    let mut own = Vec::new();
    for triangle in body.triangles.iter().filter(|t| is_body(body.shell_of[t[0] as usize])) {
        for &n in triangle {
            if number[n as usize].is_none() {
                number[n as usize] = Some(own.len() as u32);
                own.push(n);
            }
        }
    }
    let positions: Vec<DVec3> = own.iter().map(|n| body.nodes[*n as usize]).collect();
    let of_body = |t: &[u32; 3]| -> Option<[u32; 3]> {
        Some([number[t[0] as usize]?, number[t[1] as usize]?, number[t[2] as usize]?])
    };
    let triangles: Vec<[u32; 3]> = body.triangles.iter().filter_map(of_body).collect();
    let mesh = Mesh { positions: positions.clone(), triangles: triangles.clone(), ..Mesh::default() };
    let settings = HeatSettings { influences: None, ..HeatSettings::default() };
    let mut report = Weighed::default();
    let heated = match heat_weights(&mesh, segments, &settings, progress) {
        Ok((weights, heat)) => {
            report.heat = Some(heat);
            weights
        }
        Err(dermis_fit::HeatError::Cancelled) => return Err(AutoRigError::Cancelled),
        Err(_) => Influences::from_rows(positions.iter().map(|p| vec![(nearest_bone(segments, *p), 1.0)]))
            .map_err(|e| AutoRigError::Internal(e.to_string()))?,
    };
    let surface = Surface::new(&positions, &triangles);
    let on_body = |p: DVec3| -> Vec<(BoneIndex, f64)> {
        let Some(closest) = surface.closest(p, f64::INFINITY) else { return vec![(nearest_bone(segments, p), 1.0)] };
        let corners = triangles[closest.triangle];
        let shares = barycentric(closest.point, corners.map(|c| positions[c as usize]));
        let mut sum: BTreeMap<BoneIndex, f64> = BTreeMap::new();
        for (corner, share) in corners.iter().zip(shares) {
            for &(bone, w) in heated.of(*corner as usize) {
                *sum.entry(bone).or_default() += share * w;
            }
        }
        sum.into_iter().collect()
    };
    // Tiny shells as a whole.
    let mut shells: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for t in body.triangles.iter().filter(|t| number[t[0] as usize].is_none()) {
        shells.entry(body.shell_of[t[0] as usize]).or_default().extend(t);
    }
    let around = |(shell, nodes): (&u32, &BTreeSet<u32>)| {
        let points: Vec<DVec3> = nodes.iter().map(|n| body.nodes[*n as usize]).collect();
        (*shell, PrincipalBox::of(&points))
    };
    let rigid: BTreeMap<u32, Vec<(BoneIndex, f64)>> = shells
        .iter()
        .map(around)
        .filter(|(_, around)| around.extent() < TINY)
        .map(|(shell, around)| (shell, on_body(around.centre)))
        .collect();
    report.following = shells.len();
    report.body_shells = body.shell_areas.len() - shells.len();
    let rows = body.nodes.iter().enumerate().map(|(n, p)| match number[n] {
        Some(at) => heated.of(at as usize).to_vec(),
        None => match rigid.get(&body.shell_of[n]).filter(|_| shells.contains_key(&body.shell_of[n])) {
            Some(row) => row.clone(),
            None => on_body(*p),
        },
    });
    let rows: Vec<Vec<(BoneIndex, f64)>> = rows.collect();
    let all = Influences::from_rows(body.node_of.iter().map(|n| rows[*n as usize].clone()));
    let (all, _) = all.map_err(|e| AutoRigError::Internal(e.to_string()))?.normalised();
    let (weights, _) = faded(&all, influences).map_err(|e| AutoRigError::Internal(e.to_string()))?;
    Ok((weights, report))
}

fn nearest_bone(segments: &BoneVec<Vec<[DVec3; 2]>>, p: DVec3) -> BoneIndex {
    let far = |bone: &BoneIndex| {
        let one = |s: &[DVec3; 2]| {
            let along = s[1] - s[0];
            let t = ((p - s[0]).dot(along) / along.length_squared().max(1e-18)).clamp(0.0, 1.0);
            (s[0] + along * t).distance(p)
        };
        segments[*bone].iter().map(one).fold(f64::INFINITY, f64::min)
    };
    segments.indices().min_by(|a, b| far(a).total_cmp(&far(b)).then(a.cmp(b))).unwrap_or(BoneIndex::new(0))
}

/// Shares of the corners in a point of a triangle; equal ones where it has no area.
fn barycentric(p: DVec3, [a, b, c]: [DVec3; 3]) -> [f64; 3] {
    let (u, v, w) = (b - a, c - a, p - a);
    let (uu, uv, vv, wu, wv) = (u.dot(u), u.dot(v), v.dot(v), w.dot(u), w.dot(v));
    let area = uu * vv - uv * uv;
    if area.is_nan() || area <= 0.0 {
        return [1.0 / 3.0; 3];
    }
    let (s, t) = ((vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area);
    [1.0 - s - t, s, t].map(|x| x.clamp(0.0, 1.0))
}
