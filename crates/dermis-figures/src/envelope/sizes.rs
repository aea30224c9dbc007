//! Time and memory at the sizes of the paper's two creatures.

use crate::FigureError;
use dermis_deform::enveloping::EnvelopingForm;
use dermis_fit::mwe::{MweSettings, fit_mwe};
use dermis_fit::{BasePoses, Training, silent};
use dermis_report::figures::{Exhibit, Figure, Measured, Verdict};
use dermis_report::page::{PageTable, Quantity};
use dermis_rig::clock::Instant;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Example, Influences, Skeleton};
use dermis_solve::Random;

/// A creature: points, bones, poses, bones that a point reads at most, seconds that its fit took in 2002.
struct Creature {
    name: &'static str,
    points: usize,
    bones: usize,
    poses: usize,
    reads: usize,
    then: f32,
}

const CREATURES: [Creature; 2] = [
    Creature { name: "A", points: 300_000, bones: 59, poses: 16, reads: 6, then: 360.0 },
    Creature { name: "B", points: 200_000, bones: 55, poses: 344, reads: 12, then: 2400.0 },
];

/// One point of so many is fitted: cost is proportional to the points.
const SHARE: usize = 20;

/// What a fit took.
struct Took {
    seconds: f64,
    examples: u64,
    model: u64,
}

/// The figure.
pub(super) fn figure() -> Result<Figure, FigureError> {
    let mut rows = Vec::new();
    let mut measured = Vec::new();
    for creature in &CREATURES {
        let took = fit(creature)?;
        let whole = took.seconds * SHARE as f64;
        measured.push(Measured::plain(
            format!("creature {}: seconds of the fit here, for all points at this pace", creature.name),
            format!("{:.2} s, {whole:.1} s", took.seconds),
        ));
        rows.push(vec![
            Quantity::Text(creature.name.into()),
            Quantity::Count(creature.points as u64),
            Quantity::Count(creature.bones as u64),
            Quantity::Count(creature.poses as u64),
            Quantity::Count((creature.points / SHARE) as u64),
            Quantity::Seconds(took.seconds as f32),
            Quantity::Seconds(whole as f32),
            Quantity::Seconds(creature.then),
            Quantity::Bytes(took.examples * SHARE as u64),
            Quantity::Bytes(took.model * SHARE as u64),
        ]);
    }
    Ok(Figure {
        name: "Time and memory".into(),
        title: "at the sizes of the two creatures".into(),
        paper: "The two creatures of the paper have 300,000 points, 59 bones and 16 poses (A), and 200,000 points, 55 bones and 344 poses (B). Their \
                fits took 6 and 40 minutes in 2002."
            .into(),
        ours: format!(
            "Points, bones and poses are random, the numbers are the paper's; a point reads up to 6 (A) and 12 (B) bones. The published form \
             is fitted to one point in {SHARE}; its cost is proportional to the points, so the page multiplies by {SHARE}. cargo xtask bench fit \
             fits all points. Seconds are of this machine."
        ),
        outcome: Verdict::Differs(format!("one point in {SHARE} is fitted, and points and poses are random")),
        measured,
        exhibits: vec![Exhibit::Table(PageTable {
            columns: [
                "creature",
                "points",
                "bones",
                "poses",
                "points fitted",
                "fit",
                "all points",
                "in 2002",
                "examples",
                "coefficients",
            ]
            .map(String::from)
            .to_vec(),
            rows,
            ..PageTable::default()
        })],
    })
}

/// Fits the published form to a share of the points.
fn fit(creature: &Creature) -> Result<Took, FigureError> {
    let points = creature.points / SHARE;
    let mut random = Random::seeded(2002);
    let mut between = |low: f64, high: f64| low + (high - low) * random.unit();
    let heads: Vec<DVec3> = (0..creature.bones).map(|b| DVec3::new(0.1 * b as f64, 0.0, 0.0)).collect();
    let skeleton = Skeleton::new(
        (0..creature.bones).map(|b| format!("bone {b}")).collect(),
        (0..creature.bones).map(|b| b.checked_sub(1).map(BoneIndex::new)).collect(),
        heads.iter().map(|h| DAffine3::from_translation(*h)).collect(),
    )?;
    let rest: Vec<DVec3> = (0..points)
        .map(|v| {
            let x = 0.1 * creature.bones as f64 * v as f64 / points as f64;
            DVec3::new(x, between(-0.1, 0.1), between(-0.1, 0.1))
        })
        .collect();
    let first = |p: &DVec3| ((p.x / 0.1) as usize).min(creature.bones - creature.reads);
    let maps = Influences::from_rows(
        rest.iter()
            .map(|p| (0..creature.reads).map(|k| (BoneIndex::new(first(p) + k), 1.0 / (1.0 + k as f64))).collect()),
    )?;
    let mut examples = Vec::new();
    for pose in 0..creature.poses {
        let mut bones: Vec<DAffine3> = Vec::new();
        for head in &heads {
            let axis = DVec3::new(between(-1.0, 1.0), between(-1.0, 1.0), between(-1.0, 1.0)).normalize_or(DVec3::X);
            let turn = DAffine3::from_quat(DQuat::from_axis_angle(axis, between(-0.2, 0.2)));
            let about = DAffine3::from_translation(*head) * turn * DAffine3::from_translation(-*head);
            bones.push(bones.last().map_or(about, |parent| *parent * about));
        }
        let bulge =
            |p: &DVec3| bones[first(p) + 1].transform_point3(*p + DVec3::Y * 0.02 * bones[first(p)].matrix3.x_axis.y);
        examples.push(Example {
            label: format!("pose {pose}"),
            time: None,
            positions: rest.iter().map(bulge).collect(),
            transforms: BoneTransforms::new(bones),
            importance: 1.0,
            local: None,
        });
    }
    let nothing = |_: &BoneTransforms, _: usize| DVec3::ZERO;
    let training = Training {
        skeleton: &skeleton,
        rest: &rest,
        length: 0.1 * creature.bones as f64,
        examples: &examples,
        base: BasePoses::Computed(&nothing),
    };
    let start = Instant::now();
    let fitted = fit_mwe(&training, &maps, &MweSettings::published(1e-3), &silent)?;
    let seconds = start.elapsed().as_secs_f64();
    debug_assert_eq!(fitted.report.rows, EnvelopingForm::Row);
    Ok(Took {
        seconds,
        examples: (12 * points * creature.poses) as u64,
        // Row form: four numbers per bone and axis, in 32 bits.
        model: (48 * points * creature.reads) as u64,
    })
}
