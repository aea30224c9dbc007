//! Pieces of skinning decomposition.

use crate::{Answers, Array, Case, CaseError, Method};
use dermis_fit::decompose::bone_maps::{fit_affine, fit_rigid, rigid_update};
use dermis_fit::decompose::clustering::triangle_rotation;
use dermis_fit::decompose::{DecomposeSettings, Sequence, Task, decompose};
use dermis_fit::silent;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, Influences};
use dermis_solve::mean_shift::mean_shift;

pub(crate) const METHODS: &[Method] = &[
    Method { name: "triangle_rotations", inputs: &["P", "F", "X"], answers: &["R"], run: rotations },
    Method { name: "mean_shift", inputs: &["P", "F", "X"], answers: &["labels", "sizes"], run: shift },
    Method { name: "affine_bone", inputs: &["P", "X"], answers: &["M"], run: affine },
    Method { name: "rigid_fit", inputs: &["P", "Q", "w"], answers: &["R", "t"], run: rigid },
    Method { name: "bone_update", inputs: &["P", "X", "W", "M"], answers: &["M_bone*"], run: update },
    Method { name: "two_rigid_parts", inputs: &["P", "X"], answers: &["labels"], run: parts },
];

/// Rest positions and frames of as many.
pub(crate) struct Frames {
    pub rest: Vec<DVec3>,
    pub frames: Vec<Vec<DVec3>>,
}

impl Frames {
    pub fn read(case: &Case) -> Result<Self, CaseError> {
        let (_, rest) = case.array("P")?.points("P")?;
        let (shape, all) = case.array("X")?.points("X")?;
        let [_, vertices] = shape[..] else { return Err(CaseError::Missing { key: "X".into() }) };
        CaseError::unless_equal(("P", rest.len()), ("X", vertices))?;
        Ok(Self { rest, frames: all.chunks(vertices.max(1)).map(<[DVec3]>::to_vec).collect() })
    }
    pub fn slices(&self) -> Vec<&[DVec3]> {
        self.frames.iter().map(Vec::as_slice).collect()
    }
}

fn triangles(case: &Case, vertices: usize) -> Result<Vec<[u32; 3]>, CaseError> {
    let corners = case.array("F")?.integers("F")?;
    let corner = |&c: &i64| u32::try_from(c).ok().filter(|&c| (c as usize) < vertices);
    let corners: Option<Vec<u32>> = corners.iter().map(corner).collect();
    let corners = corners.ok_or_else(|| CaseError::Malformed { key: "F".into(), reason: "names no vertex".into() })?;
    Ok(corners.chunks_exact(3).map(|t| [t[0], t[1], t[2]]).collect())
}

/// Frame after frame, triangle after triangle.
fn all_rotations(case: &Case) -> Result<(usize, usize, Vec<DMat3>), CaseError> {
    let of = Frames::read(case)?;
    let triangles = triangles(case, of.rest.len())?;
    let all = of.frames.iter().flat_map(|f| triangles.iter().map(|t| triangle_rotation(&of.rest, f, t)));
    let all: Option<Vec<DMat3>> = all.collect();
    let all = all.ok_or_else(|| CaseError::refused("a triangle has no area"))?;
    Ok((of.frames.len(), triangles.len(), all))
}

fn rotations(case: &Case) -> Result<Answers, CaseError> {
    let (frames, triangles, all) = all_rotations(case)?;
    let mut answers = Answers::default();
    answers.add("R", Array::from_matrices(&[frames, triangles], &all));
    Ok(answers)
}

fn shift(case: &Case) -> Result<Answers, CaseError> {
    let (frames, triangles, all) = all_rotations(case)?;
    let rotation = |t: usize, s: usize| all[s * triangles + t].to_cols_array();
    let points: Vec<f64> = (0..triangles)
        .flat_map(|t| (0..frames).flat_map(move |s| [(t, s)]))
        .flat_map(|(t, s)| rotation(t, s))
        .collect();
    let found = mean_shift(&points, 9 * frames.max(1), case.number("bandwidth")?, case.number("merge")?);
    let numbers = |list: &[usize]| Array::new(&[list.len()], list.iter().map(|&x| x as f64).collect());
    let mut answers = Answers::default();
    answers.add("labels", numbers(&found.labels));
    answers.add("sizes", numbers(&found.sizes));
    Ok(answers)
}

fn affine(case: &Case) -> Result<Answers, CaseError> {
    let of = Frames::read(case)?;
    let map = |frame: &Vec<DVec3>| fit_affine(of.rest.iter().copied().zip(frame.iter().copied()));
    let mut answers = Answers::default();
    answers.add("M", Array::from_affine(&[of.frames.len()], &of.frames.iter().map(map).collect::<Vec<_>>()));
    Ok(answers)
}

fn rigid(case: &Case) -> Result<Answers, CaseError> {
    let ((_, p), (_, q)) = (case.array("P")?.points("P")?, case.array("Q")?.points("Q")?);
    let w = case.array("w")?.data.clone();
    CaseError::unless_equal(("P", p.len()), ("Q", q.len()))?;
    CaseError::unless_equal(("P", p.len()), ("w", w.len()))?;
    let map = fit_rigid(w.iter().zip(&p).zip(&q).map(|((w, p), q)| (*w, *p, *q)));
    let mut answers = Answers::default();
    answers.add("R", Array::from_matrices(&[], &[map.matrix3]));
    answers.add("t", Array::from_points(&[], &[map.translation]));
    Ok(answers)
}

fn update(case: &Case) -> Result<Answers, CaseError> {
    let of = Frames::read(case)?;
    let (_, poses) = case.array("M")?.poses("M")?;
    let bones = poses.first().map_or(0, |p| p.len());
    let weights: Influences = case.array("W")?.influences("W", bones)?;
    CaseError::unless_equal(("P", of.rest.len()), ("W", weights.vertices()))?;
    CaseError::unless_equal(("X", of.frames.len()), ("M", poses.len()))?;
    let mut answers = Answers::default();
    for bone in 0..bones {
        let maps = rigid_update(&of.rest, &of.slices(), &weights, &poses, BoneIndex::new(bone));
        answers.add(format!("M_bone{bone}"), Array::from_affine(&[maps.len()], &maps));
    }
    Ok(answers)
}

/// Two rigid bones by the search: the bone of each vertex, numbered as they appear; refused above an objective of 1e-16.
fn parts(case: &Case) -> Result<Answers, CaseError> {
    let of = Frames::read(case)?;
    let sequence = Sequence { rest: &of.rest, frames: &of.slices(), triangles: &[] };
    let settings = DecomposeSettings::default();
    let found = decompose(&sequence, &Task::Search { bones: 2 }, &settings, &silent).map_err(CaseError::refused)?;
    let skin = |frame: usize, v: usize| -> DVec3 {
        let row = found.weights.of(v).iter();
        row.map(|&(bone, w)| w * found.transforms[frame][bone].transform_point3(of.rest[v])).sum()
    };
    let off = |frame: usize, v: usize| of.frames[frame][v].distance_squared(skin(frame, v));
    let objective: f64 =
        (0..of.frames.len()).flat_map(|s| (0..of.rest.len()).map(move |v| (s, v))).map(|(s, v)| off(s, v)).sum();
    if objective > 1e-16 {
        return Err(CaseError::refused(format!("the objective ends at {objective:e}")));
    }
    let mut seen: Vec<BoneIndex> = Vec::new();
    let labels = (0..of.rest.len()).map(|v| {
        let bone = found.weights.dominant(v).unwrap_or(BoneIndex::new(0));
        seen.iter().position(|b| *b == bone).unwrap_or_else(|| {
            seen.push(bone);
            seen.len() - 1
        }) as f64
    });
    let mut answers = Answers::default();
    answers.add("labels", Array::new(&[of.rest.len()], labels.collect()));
    Ok(answers)
}
