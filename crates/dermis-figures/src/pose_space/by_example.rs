//! Shapes by example: an arm that bends and is more or less muscular.
//!
//! Two bones in the plane. The wanted shape has a closed form at every angle θ and every value m of the adjective:
//!
//! ```text
//! X(p) = R(θ w) (p + e(p) sin(θ/2)/sin 45° + m (1 + sin(θ/2)) b(p)/2)
//! ```
//!
//! w is the vertex's weight on the outer bone, e an elbow that keeps its bone, b a biceps that swells, more the more the arm is
//! bent. Sculpts show three angles, lean and muscular; the lean arm at rest is the bind pose. Their coordinates are those of the
//! joint's rotation and m.
//!
//! Four ways: linear blending, kernels alone ([`PsdMethod`]), shapes by example, and weights with the radial functions as
//! published, which this file makes by itself: a constant and the coordinates by least squares, cubic B-splines on what is left,
//! the support of each twice the distance to its nearest example. The bind pose is an example there.

use super::{ShapeError, chain};
use crate::FigureError;
use crate::learning::Model;
use dermis_deform::Correction;
use dermis_deform::pose_space::CompiledShapes;
use dermis_fit::method::{FitInput, Method, PoseSpaceSettings, PsdMethod, ShapeByExampleMethod};
use dermis_fit::psd::{ChannelSetting, Reach};
use dermis_fit::silent;
use dermis_report::figures::{Drawing, Exhibit, Figure, Measured, Panel, PanelColumn, PanelGrid, PanelRow, Verdict};
use dermis_report::svg::{SvgWindow, outline};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneTransforms, Example, ExampleSet, Rig};
use dermis_solve::faer::Mat;
use dermis_solve::pseudo_inverse;

/// The adjective.
const ADJECTIVE: &str = "muscular";
/// Angle, degrees, and how muscular, of the sculpts.
const SCULPTS: [(f64, f64); 5] = [(45.0, 0.0), (90.0, 0.0), (0.0, 1.0), (45.0, 1.0), (90.0, 1.0)];
/// The places shown.
const PLACES: [(f64, f64); 5] = [(90.0, 1.0), (65.0, 0.5), (90.0, 0.3), (90.0, 2.0), (0.0, 3.0)];
/// The four ways.
const NAMES: [&str; 4] = ["SSD", "PSD, kernels", "By example", "B-splines"];
/// σ of both interpolators, a chord.
const SIGMA: f64 = 1.0;
/// Half the thickness of the arm.
const HALF: f64 = 0.2;

/// A place with the skins of the four ways.
struct View {
    at: (f64, f64),
    pose: BoneTransforms,
    wanted: Vec<DVec3>,
    skins: [Vec<DVec3>; 4],
    errors: [ShapeError; 4],
}

/// The figure.
///
/// # Errors
/// As [`pose_space`](super::page).
pub(super) fn figure() -> Result<Figure, FigureError> {
    let arm = Arm::new()?;
    let mut ways = Ways::new(&arm)?;
    let views = PLACES.map(|at| ways.view(&arm, at));
    let views: Vec<View> = views.into_iter().collect::<Result<_, FigureError>>()?;
    let (cardinal, met) = (ways.off_cardinal(), ways.largest_at_sculpts(&arm)?);
    let beyond = ways.unseen(&arm, |_, m| m > 1.0)?;
    let between = ways.unseen(&arm, |_, m| m <= 1.0)?;
    let third = ways.third_difference();
    let percent = |x: f64| format!("{:.2}", 100.0 * x);
    let listed = |of: [f64; 4]| of.map(percent).join(" · ");
    let measured = vec![
        Measured::claimed(
            "largest |w − δ| of the weights at the sculpts",
            format!("{cardinal:.1e}"),
            "cardinal: one at the own sculpt, zero at the others",
            cardinal < 1e-9,
        ),
        Measured::claimed(
            "largest error at the sculpts",
            format!("{met:.1e} of a bone"),
            "examples are met exactly",
            met < 1e-8,
        ),
        Measured::claimed(
            "change of the weights from m = 8 to 9, less that from 7 to 8",
            format!("{third:.1e}"),
            "far from the examples weights are linear in the adjective",
            third < 1e-9,
        ),
        Measured::claimed(
            "rms error beyond the sculpts (0° to 90°, m = 1.25 to 3), by the four ways",
            format!("{} % of a bone", listed(beyond)),
            "extrapolation: shapes by example leave less than kernels alone, which return to blending",
            beyond[2] < beyond[1] && beyond[1] < beyond[0],
        ),
        Measured::claimed(
            "rms error between the sculpts (0° to 90°, m = 0 to 1), by the four ways",
            format!("{} % of a bone", listed(between)),
            "our own claim: one width for all leaves at most a tenth more than B-splines with widths of their own",
            between[2] <= 1.1 * between[3],
        ),
    ];
    let reproduced = cardinal < 1e-9 && met < 1e-8 && third < 1e-9 && beyond[2] < beyond[1];
    let outcome = match reproduced {
        true => Verdict::Reproduced,
        false => Verdict::Differs("a claim beside it does not hold".into()),
    };
    Ok(Figure {
        name: "Shapes by example".into(),
        title: "an arm with an adjective".into(),
        paper: "Shapes are examples at places of an abstract space of pose and adjectives. Every example has a cardinal function of the \
                place: linear functions by least squares, and radial functions for what they leave. So an arm bends, and is more or less \
                muscular, also beyond the examples."
            .into(),
        ours: format!(
            "Five sculpts: bent by 45° and 90°, and muscular at 0°, 45° and 90°; the lean arm at rest is the bind pose. Dashed: the shape \
             wanted. All ways know the same sculpts, exactly and without guard; kernels and shapes by example have the same Gaussian (σ = \
             {SIGMA}). Beyond the sculpts kernels alone return to blending, and the linear part goes on. Where the wanted shape is not \
             linear in pose and adjective it errs there. The last row has the radial functions as published: cubic B-splines, the support of each twice the distance to its nearest \
             example."
        ),
        outcome,
        measured,
        exhibits: vec![Exhibit::Panels(grid(&views))],
    })
}

/// Two bones with an outline.
struct Arm {
    rig: Rig,
}

impl Arm {
    fn new() -> Result<Self, FigureError> {
        let rest = contour();
        let weights = rest.iter().map(|p| vec![1.0 - weight(p.x), weight(p.x)]).collect();
        Ok(Self { rig: chain("arm", &[-1.0, 0.0], rest, weights)? })
    }

    fn pose((degrees, m): (f64, f64)) -> BoneTransforms {
        BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(degrees.to_radians())])
            .with_channels(vec![(ADJECTIVE.into(), m)])
    }

    fn wanted(&self, (degrees, m): (f64, f64)) -> Vec<DVec3> {
        let half = (0.5 * degrees.to_radians()).sin();
        let shape = |p: &DVec3| {
            let bent = elbow(*p) * (half / 45f64.to_radians().sin());
            let at = *p + bent + biceps(*p) * (0.5 * m * (1.0 + half));
            DAffine3::from_rotation_z(degrees.to_radians() * weight(p.x)).transform_point3(at)
        };
        self.rig.mesh().positions.iter().map(shape).collect()
    }

    fn examples(&self) -> Result<ExampleSet, FigureError> {
        let example = |&at: &(f64, f64)| Example {
            label: format!("{}°, {ADJECTIVE} {}", at.0, at.1),
            time: None,
            transforms: Self::pose(at),
            positions: self.wanted(at),
            importance: 1.0,
            local: None,
        };
        Ok(ExampleSet::new("arm".into(), SCULPTS.iter().map(example).collect(), &self.rig)?)
    }
}

/// The four ways, fitted.
struct Ways {
    own: Model,
    kernels: Model,
    by_example: Model,
    shapes: CompiledShapes,
}

impl Ways {
    fn new(arm: &Arm) -> Result<Self, FigureError> {
        let examples = arm.examples()?;
        let channels = vec![ChannelSetting { name: ADJECTIVE.into(), scale: Some(1.0) }];
        let pose_space = PoseSpaceSettings {
            channels: channels.clone(),
            reach: Reach::Global,
            smoothing: Some(0.0),
            guard: false,
            ..PoseSpaceSettings::default()
        };
        let kernel = Some(dermis_deform::pose_space::Family::Gaussian);
        let psd = PsdMethod { pose_space, sigma: Some(SIGMA), kernel, ..PsdMethod::default() };
        let by_example = Method::ShapeByExample(ShapeByExampleMethod {
            channels,
            kernel,
            sigma: Some(SIGMA),
            eig_tol: Some(0.0),
            smoothing: Some(0.0),
            guard: false,
            ..ShapeByExampleMethod::default()
        });
        let fit = |method: &Method| Model::fit(method, &arm.rig, &examples);
        let learnt = by_example.fit(&FitInput::new(&arm.rig, &examples), &silent)?;
        let Some(Correction::Shapes(shapes)) = learnt.deformer.corrections().last().cloned() else {
            return Err(FigureError::Lacks { character: "arm".into(), what: "shapes".into() });
        };
        Ok(Self {
            own: fit(&Method::OwnWeights)?,
            kernels: fit(&Method::Psd(psd))?,
            by_example: fit(&by_example)?,
            shapes,
        })
    }

    fn skins(&mut self, arm: &Arm, at: (f64, f64)) -> Result<[Vec<DVec3>; 4], FigureError> {
        let pose = Arm::pose(at);
        let weights = published(at)?;
        // Blending is affine at a vertex: p' = S(p + Σ w d).
        let rest = arm.rig.mesh().positions.iter().enumerate();
        let published = rest.map(|(v, p)| {
            let moved = *p + self.shapes.displacement(v, &weights);
            let inner = 1.0 - weight(p.x);
            pose.as_slice()[0].transform_point3(moved) * inner
                + pose.as_slice()[1].transform_point3(moved) * weight(p.x)
        });
        let published = published.collect();
        Ok([self.own.skin(&pose)?, self.kernels.skin(&pose)?, self.by_example.skin(&pose)?, published])
    }

    fn view(&mut self, arm: &Arm, at: (f64, f64)) -> Result<View, FigureError> {
        let (skins, wanted) = (self.skins(arm, at)?, arm.wanted(at));
        let errors = skins.each_ref().map(|skin| ShapeError::between(skin, &wanted));
        Ok(View { at, pose: Arm::pose(at), wanted, skins, errors })
    }

    /// The largest |w_e(x_f) − δ_ef|.
    fn off_cardinal(&self) -> f64 {
        let mut off = 0.0f64;
        for (f, at) in SCULPTS.iter().enumerate() {
            for (e, w) in self.shapes.weights_in(&Arm::pose(*at)).into_iter().enumerate() {
                off = off.max((w - if e == f { 1.0 } else { 0.0 }).abs());
            }
        }
        off
    }

    /// The largest error of shapes by example at the sculpts.
    fn largest_at_sculpts(&mut self, arm: &Arm) -> Result<f64, FigureError> {
        let mut largest = 0.0f64;
        for at in SCULPTS {
            largest = largest.max(ShapeError::between(&self.by_example.skin(&Arm::pose(at))?, &arm.wanted(at)).max);
        }
        Ok(largest)
    }

    /// The largest difference between two steps of the weights, far from the examples.
    fn third_difference(&self) -> f64 {
        let [a, b, c] = [7.0, 8.0, 9.0].map(|m| self.shapes.weights_in(&Arm::pose((60.0, m))));
        (0..a.len()).map(|e| (c[e] - 2.0 * b[e] + a[e]).abs()).fold(0.0, f64::max)
    }

    /// The rms errors of the four ways over places of a grid that no sculpt has.
    fn unseen(&mut self, arm: &Arm, keep: impl Fn(f64, f64) -> bool) -> Result<[f64; 4], FigureError> {
        let (mut sums, mut count) = ([0.0; 4], 0.0);
        for at in (0..=6).flat_map(|i| (0..=12).map(move |k| (15.0 * f64::from(i), 0.25 * f64::from(k)))) {
            if SCULPTS.contains(&at) || at == (0.0, 0.0) || !keep(at.0, at.1) {
                continue;
            }
            let errors = self.view(arm, at)?.errors;
            sums.iter_mut().zip(errors).for_each(|(sum, e)| *sum += e.rms.powi(2));
            count += 1.0;
        }
        Ok(sums.map(|sum| f64::sqrt(sum / count)))
    }
}

/// Weights of the sculpts as published, at a place: least squares on a constant and the coordinates, and cubic B-splines.
fn published(at: (f64, f64)) -> Result<Vec<f64>, FigureError> {
    // A hinge has the chord of its angle: |x − y| = 2 sin(angle/2).
    let place = |(degrees, m): (f64, f64)| {
        let (sin, cos) = degrees.to_radians().sin_cos();
        [1.0, cos - 1.0, sin, m]
    };
    let distance = |a: (f64, f64), b: (f64, f64)| -> f64 {
        place(a).iter().zip(place(b)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    };
    let places: Vec<(f64, f64)> = SCULPTS.into_iter().chain([(0.0, 0.0)]).collect();
    let n = places.len();
    let nearest = |j: usize| {
        let others = (0..n).filter(|k| *k != j).map(|k| distance(places[j], places[k]));
        others.fold(f64::INFINITY, f64::min)
    };
    let radial = |x: (f64, f64), j: usize| b_spline(distance(x, places[j]) / nearest(j));
    let linear = Mat::from_fn(n, 4, |i, l| place(places[i])[l]);
    let a = pseudo_inverse(linear.as_ref(), 1e-10)?;
    let left = Mat::<f64>::identity(n, n) - &linear * &a;
    let r = pseudo_inverse(Mat::from_fn(n, n, |i, j| radial(places[i], j)).as_ref(), 1e-12)? * left;
    let weight = |e: usize| {
        let linear: f64 = (0..4).map(|l| place(at)[l] * a[(l, e)]).sum();
        linear + (0..n).map(|j| radial(at, j) * r[(j, e)]).sum::<f64>()
    };
    Ok((0..SCULPTS.len()).map(weight).collect())
}

/// The cubic B-spline of support two, one at zero.
fn b_spline(t: f64) -> f64 {
    match t {
        t if t < 1.0 => 1.0 - 1.5 * t * t + 0.75 * t * t * t,
        t if t < 2.0 => 0.25 * (2.0 - t).powi(3),
        _ => 0.0,
    }
}

/// The outline, counter-clockwise: below to the hand, round it, and back above.
fn contour() -> Vec<DVec3> {
    let side = 80;
    let along = |i: usize| -1.0 + (2.0 - HALF) * i as f64 / side as f64;
    let below = (0..side).map(|i| DVec3::new(along(i), -HALF, 0.0));
    let hand = (0..=24).map(|i| {
        let (sin, cos) = (std::f64::consts::PI * (f64::from(i) / 24.0 - 0.5)).sin_cos();
        DVec3::new(1.0 - HALF + HALF * cos, HALF * sin, 0.0)
    });
    let above = (0..side).rev().map(|i| DVec3::new(along(i), HALF, 0.0));
    below.chain(hand).chain(above).collect()
}

/// The weight on the outer bone.
fn weight(x: f64) -> f64 {
    let t = ((x + 0.35) / 0.7).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The bone of the elbow, on the outer side of the bend.
fn elbow(p: DVec3) -> DVec3 {
    let bump = (-(p.x / 0.16).powi(2)).exp();
    if p.y < 0.0 { DVec3::Y * (-0.07 * bump) } else { DVec3::ZERO }
}

/// The muscle on the inner side of the upper arm, and its counterpart.
fn biceps(p: DVec3) -> DVec3 {
    let bump = (-((p.x + 0.5) / 0.24).powi(2)).exp();
    DVec3::Y * (if p.y > 0.0 { 0.2 } else { -0.08 } * bump)
}

/// A row per way, a column per place.
fn grid(views: &[View]) -> PanelGrid {
    let drawn = views.iter().flat_map(|v| v.skins[1..].iter().flatten().chain(&v.wanted)).map(|p| p.truncate());
    let window = SvgWindow::around(drawn, 0.04);
    let title = |(degrees, m): (f64, f64)| format!("{degrees}°, {ADJECTIVE} {m}");
    let column = |view: &View| PanelColumn {
        title: title(view.at),
        mark: if SCULPTS.contains(&view.at) { "sculpted".into() } else { String::new() },
    };
    let row = |(way, name): (usize, &str)| {
        let one = |view: &View| {
            let (error, of) =
                (view.errors[way], |bone: usize, x: f64| view.pose.as_slice()[bone].transform_point3(DVec3::X * x));
            let least = view.errors.iter().map(|e| e.rms).fold(f64::INFINITY, f64::min);
            let label = format!("{name} {}", title(view.at));
            let bones = [of(0, -1.0), of(0, 0.0), of(1, 1.0)];
            Panel {
                drawing: Drawing::Svg(outline(window, &label, &view.skins[way], &view.wanted, &bones)),
                caption: format!(
                    "rms {}, largest {}",
                    super::page::percent(error.rms),
                    super::page::percent(error.max)
                ),
                best: error.rms <= 1.01 * least || error.rms < 1e-6,
            }
        };
        PanelRow { name: name.into(), panels: views.iter().map(one).collect() }
    };
    PanelGrid { columns: views.iter().map(column).collect(), rows: NAMES.into_iter().enumerate().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights made here are cardinal and sum to one with that of the bind pose, as published.
    #[test]
    fn published_weights_are_cardinal() {
        for (f, at) in SCULPTS.into_iter().enumerate() {
            for (e, w) in published(at).unwrap().into_iter().enumerate() {
                assert!((w - if e == f { 1.0 } else { 0.0 }).abs() < 1e-12, "{e} at {at:?}: {w}");
            }
        }
        assert!(published((0.0, 0.0)).unwrap().iter().all(|w| w.abs() < 1e-12));
    }

    #[test]
    fn the_figure_is_reproduced_and_no_claim_is_broken() {
        let figure = figure().unwrap();
        assert!(matches!(figure.outcome, Verdict::Reproduced), "{:?}", figure.measured);
        assert!(figure.measured.iter().all(|m| m.holds != Some(false)), "{:#?}", figure.measured);
    }
}
