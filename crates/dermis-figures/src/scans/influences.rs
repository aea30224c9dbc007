//! The threshold, the published rule beside shares of subtrees, and the n nearest bones.

use super::arm::{Arm, RADIUS, pose};
use crate::FigureError;
use crate::limb::{BONES, largest};
use dermis_fit::influence::{
    Class, InfluenceSettings, PlanSettings, Rule, classify, from_examples, half_longest_edges, plan,
};
use dermis_fit::{BasePoses, Training, WeightSettings, fit_weights, silent};
use dermis_report::figures::{
    CaptionedDrawing, Drawing, Exhibit, Figure, LineChart, Measured, Picture, PictureView, Series, Verdict,
};
use dermis_report::page::{PageTable, Quantity};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Example, Influences};

/// A bone influences a vertex from this weight on.
const INFLUENCE: f64 = 0.02;

/// What a pose of one joint says of pairs of a vertex and a bone, and how often that is so.
struct Claims {
    /// Pairs that the rule gives to the bone alone, where its true weight is nearly all.
    right: usize,
    /// The same where its true weight is below [`INFLUENCE`].
    wrong: usize,
    /// The same where other bones share the vertex.
    shared: usize,
    /// Pairs of vertices and joints.
    pairs: usize,
}

/// Returns the figures.
///
/// # Errors
/// [`FigureError`] of the fits.
pub(super) fn figures(arm: &Arm) -> Result<Vec<Figure>, FigureError> {
    let study = Study::new(arm)?;
    Ok(vec![study.threshold(), study.rule()?, study.nearest()?])
}

/// The arm with examples of one joint each.
struct Study<'a> {
    arm: &'a Arm,
    examples: Vec<Example>,
    v_min: Vec<f64>,
}

impl<'a> Study<'a> {
    fn new(arm: &'a Arm) -> Result<Self, FigureError> {
        let motion = plan(&arm.skeleton, &PlanSettings::default());
        let example = |frame: &dermis_rig::Frame| {
            let transforms = arm.skeleton.bone_transforms(&frame.pose);
            Example {
                label: frame.label.clone(),
                time: None,
                positions: arm.skin(&arm.weights, &transforms),
                transforms,
                importance: 1.0,
                local: None,
            }
        };
        let examples = motion.frames.iter().map(example).collect();
        Ok(Self { arm, examples, v_min: half_longest_edges(&arm.mesh.positions, &arm.mesh.neighbours()) })
    }

    fn training(&self) -> Training<'_> {
        Training {
            skeleton: &self.arm.skeleton,
            rest: &self.arm.mesh.positions,
            length: self.arm.mesh.diagonal(),
            examples: &self.examples,
            base: BasePoses::NONE,
        }
    }

    /// The movement of every vertex in the pose that bends the elbow by 45°, against the threshold.
    fn threshold(&self) -> Figure {
        let turned = pose([0.0, 0.0, 45.0], [0.0; 3]);
        let skin = self.arm.skin(&self.arm.weights, &turned);
        let rest = &self.arm.mesh.positions;
        let mut moved: Vec<[f64; 2]> = Vec::new();
        let mut least: Vec<[f64; 2]> = Vec::new();
        for v in (0..rest.len() - 2).step_by(24) {
            moved.push([rest[v].x, rest[v].distance(skin[v])]);
            least.push([rest[v].x, self.v_min[v]]);
        }
        let chart = LineChart {
            label: "movement of a line of vertices and the threshold".into(),
            across: "place along the arm".into(),
            up: "length".into(),
            series: vec![
                Series { name: "|x − p|, elbow bent by 45°".into(), points: moved, ..Series::default() },
                Series { name: "v_min".into(), points: least, dashed: true, ..Series::default() },
            ],
            marks: vec![(1.0, "elbow".into()), (2.0, "wrist".into())],
            ..LineChart::default()
        };
        let legend = chart.legend();
        let mean = self.v_min.iter().sum::<f64>() / self.v_min.len() as f64;
        // What the elbow's bones below have no weight on must not count as moved, and what they carry alone must.
        let below = |v: usize| [1, 2].iter().map(|b| self.arm.weights.value(v, BoneIndex::new(*b))).sum::<f64>();
        let is_moved = |v: usize| rest[v].distance(skin[v]) > self.v_min[v];
        let still = (0..rest.len()).filter(|&v| below(v) == 0.0 && is_moved(v)).count();
        let hand = (0..rest.len()).filter(|&v| rest[v].x > 1.5 && !is_moved(v)).count();
        Figure {
            name: "v_min".into(),
            title: "when a vertex counts as moved".into(),
            paper: "A vertex counts as moved if it moves by more than v_min, half the longest edge at the vertex.".into(),
            ours: "A line of vertices along the arm. The threshold depends on the mesh: a finer mesh sees smaller influences.".into(),
            outcome: Verdict::Reproduced,
            measured: vec![
                Measured::claimed(
                    "vertices that the elbow does not move and that count as moved; of the forearm's outer half that do not",
                    format!("{still}, {hand}"),
                    "0, 0",
                    still == 0 && hand == 0,
                ),
                Measured::plain("v_min on average, in percent of the radius", format!("{:.1}", 100.0 * mean / RADIUS)),
            ],
            exhibits: vec![Exhibit::Drawings(vec![CaptionedDrawing { drawing: Drawing::Svg(chart.to_svg()), caption: String::new(), legend }])],
        }
    }

    /// What the published rule says to the letter.
    fn claims(&self) -> Claims {
        let rest = &self.arm.mesh.positions;
        let mut claims = Claims { right: 0, wrong: 0, shared: 0, pairs: 0 };
        for bone in self.arm.skeleton.bones().skip(1) {
            let turned =
                if bone.get() == 1 { pose([0.0, 0.0, 45.0], [0.0; 3]) } else { pose([0.0; 3], [0.0, 0.0, 45.0]) };
            let skin = self.arm.skin(&self.arm.weights, &turned);
            for (v, p) in rest.iter().enumerate() {
                claims.pairs += 1;
                let q = turned[bone].transform_point3(*p);
                if classify(*p, q, skin[v], self.v_min[v]) == Class::Alone {
                    match self.arm.weights.value(v, bone) {
                        w if w < INFLUENCE => claims.wrong += 1,
                        w if w < 0.9 => claims.shared += 1,
                        _ => claims.right += 1,
                    }
                }
            }
        }
        claims
    }

    /// Bones found by a rule against those of the truth: pairs too many, pairs missing, of all pairs that are.
    fn found(&self, rule: Rule) -> Result<(Influences, [f64; 2]), FigureError> {
        let settings = InfluenceSettings { rule, ..InfluenceSettings::default() };
        let found = from_examples(&self.training(), &self.arm.mesh.neighbours(), &settings, &silent)?;
        let (mut many, mut missing, mut all) = (0usize, 0usize, 0usize);
        for v in 0..self.arm.weights.vertices() {
            for bone in self.arm.skeleton.bones() {
                let (truth, has) =
                    (self.arm.weights.value(v, bone) > INFLUENCE, found.weights.value(v, bone) > INFLUENCE);
                all += usize::from(truth);
                many += usize::from(has && !truth);
                missing += usize::from(truth && !has);
            }
        }
        Ok((found.weights, [many, missing].map(|n| n as f64 / all as f64)))
    }

    fn rule(&self) -> Result<Figure, FigureError> {
        let claims = self.claims();
        let wrong = claims.wrong as f64 / claims.pairs as f64;
        let (shares, [many, missing]) = self.found(Rule::Shares)?;
        let (published, [many_p, missing_p]) = self.found(Rule::Published)?;
        let off = |weights: &Influences| {
            let vertices = 0..self.arm.weights.vertices();
            let off = |v: usize| {
                self.arm.skeleton.bones().map(move |b| (weights.value(v, b) - self.arm.weights.value(v, b)).abs())
            };
            vertices.flat_map(off).fold(0.0, f64::max)
        };
        let view = PictureView::around(&self.arm.mesh.positions, 0.0, 0.25, 560);
        let picture = |label: &str, weights: &Influences| {
            let colour = |row: &[(BoneIndex, f64)]| row.iter().map(|&(b, w)| BONES[b.get()] * w).sum();
            let colours: Vec<DVec3> = weights.rows().map(colour).collect();
            CaptionedDrawing {
                drawing: Drawing::Picture(Picture::of(
                    label,
                    view,
                    &self.arm.mesh.positions,
                    &self.arm.mesh.triangles,
                    &colours,
                )),
                caption: label.into(),
                legend: vec![],
            }
        };
        Ok(Figure {
            name: "Influences".into(),
            title: "which bones move a vertex".into(),
            paper: "In a pose that turns joint b alone, q = M_b p is where the vertex would be if b alone moved it. If the scan is within v_min of \
                    q, b alone explains the vertex; otherwise b acts together with other bones."
                .into(),
            ours: "Read to the letter, a joint claims everything below it: the elbow claims the hand. And a vertex that a joint does not move at all \
                   is called \"moved together with others\". Shares of subtrees ask how much of the way the vertex went, ω_b = ⟨x − p, q − p⟩ / |q − p|², \
                   and subtract the children's."
                .into(),
            outcome: Verdict::Differs(
                "the rule read to the letter gives whole limbs to a joint above them; Dermis takes shares of subtrees instead".into(),
            ),
            measured: vec![
                Measured::plain(
                    "pairs of vertex and joint that the rule gives to a bone without weight there",
                    format!("{:.0} % of {}", 100.0 * wrong, claims.pairs),
                ),
                Measured::plain(
                    "pairs given to one bone that several share",
                    format!("{:.0} %", 100.0 * claims.shared as f64 / claims.pairs as f64),
                ),
                Measured::claimed(
                    "shares of subtrees: bones too many, bones missing",
                    format!("{:.1} % · {:.1} %", 100.0 * many, 100.0 * missing),
                    "0 · 0 on linear blending",
                    many == 0.0 && missing == 0.0,
                ),
                Measured::plain(
                    "published rule, then a fit: bones too many, bones missing",
                    format!("{:.1} % · {:.1} %", 100.0 * many_p, 100.0 * missing_p),
                ),
                Measured::claimed(
                    "largest error of a weight by shares of subtrees",
                    format!("{:.1e}", off(&shares)),
                    "below the threshold of 0.02, at which small weights are dropped",
                    off(&shares) <= 0.021,
                ),
                Measured::plain("largest error of a weight by the published rule and a fit", format!("{:.1e}", off(&published))),
            ],
            exhibits: vec![Exhibit::Drawings(vec![
                picture("true weights", &self.arm.weights),
                picture("shares of subtrees", &shares),
                picture("published rule, then a fit", &published),
            ])],
        })
    }

    /// Weights fitted on the n nearest bones, in poses that no fit saw.
    fn nearest(&self) -> Result<Figure, FigureError> {
        let held_out = [
            pose([20.0, 35.0, 70.0], [0.0, -30.0, 25.0]),
            pose([0.0, 0.0, 110.0], [40.0, 20.0, 0.0]),
            pose([-30.0, 10.0, 30.0], [0.0, 0.0, -60.0]),
        ];
        let error = |weights: &Influences| {
            let off = |pose| largest(&self.arm.skin(weights, pose), &self.arm.skin(&self.arm.weights, pose));
            100.0 * held_out.iter().map(off).fold(0.0, f64::max) / RADIUS
        };
        let mut rows = Vec::new();
        let mut errors = Vec::new();
        for (name, rule) in [
            ("1 nearest bone", Rule::Nearest(1)),
            ("2 nearest bones", Rule::Nearest(2)),
            ("3 nearest bones", Rule::Nearest(3)),
            ("published rule", Rule::Published),
            ("shares of subtrees", Rule::Shares),
        ] {
            let settings = InfluenceSettings { rule, ..InfluenceSettings::default() };
            let found = from_examples(&self.training(), &self.arm.mesh.neighbours(), &settings, &silent)?;
            let fit = WeightSettings { candidates: Some(found.candidates), ..WeightSettings::default() };
            let (weights, _) = fit_weights(&self.training(), &self.arm.mesh.neighbours(), &fit, &silent)?;
            errors.push(error(&weights));
            rows.push(vec![Quantity::Text(name.into()), Quantity::Number(error(&weights) as f32)]);
        }
        Ok(Figure {
            name: "Plan of poses".into(),
            title: "one joint a pose, weights on the n nearest bones".into(),
            paper: "Poses are planned joint by joint. The bones that may influence a vertex are the n nearest ones."
                .into(),
            ours: format!(
                "{} poses: rest, and every joint by 45° either way about each axis of its bone (dermis weights RIG --plan). Weights are fitted on the \
                 candidates of each rule and judged in three poses of both joints that no fit saw.",
                self.examples.len()
            ),
            outcome: Verdict::Reproduced,
            measured: vec![
                Measured::claimed(
                    "largest error with the one nearest bone, in percent of the radius",
                    format!("{:.1}", errors[0]),
                    "large: rigid binding",
                    errors[0] > 10.0,
                ),
                Measured::claimed(
                    "with two nearest bones",
                    format!("{:.2}", errors[1]),
                    "small: no vertex of this arm has a third",
                    errors[1] < 1.0,
                ),
                Measured::claimed("with shares of subtrees", format!("{:.2}", errors[4]), "small", errors[4] < 1.0),
            ],
            exhibits: vec![Exhibit::Table(PageTable {
                title: "Largest error in unseen poses".into(),
                note: "Percent of the limb's radius.".into(),
                columns: vec!["candidates".into(), "largest error, %".into()],
                rows,
            })],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_claims_the_hand_for_the_elbow_and_shares_do_not() {
        let arm = Arm::new(31, 12, 0.0).unwrap();
        let study = Study::new(&arm).unwrap();
        let claims = study.claims();
        assert!(claims.wrong as f64 > 0.1 * claims.pairs as f64, "{} of {}", claims.wrong, claims.pairs);
        for figure in figures(&arm).unwrap() {
            for m in &figure.measured {
                assert_ne!(m.holds, Some(false), "{}: {} {} against {}", figure.name, m.what, m.value, m.claim);
            }
        }
    }
}
