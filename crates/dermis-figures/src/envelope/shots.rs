//! The simulation session: shots whose skin is simulated in part, and the model makes the rest.

use super::mm;
use crate::FigureError;
use crate::character::Character;
use crate::learning::Model;
use dermis_fit::method::Method;
use dermis_report::figures::{Exhibit, Figure, Measured, Verdict};
use dermis_report::page::{PageTable, Quantity};
use dermis_rig::clock::Instant;

/// Of so many frames of a shot one is simulated, shot after shot.
const ONE_IN: [usize; 3] = [1, 2, 4];

/// What a shot cost.
struct Shot {
    frames: usize,
    simulated: usize,
    fit: f64,
    per_frame: f64,
    left: Option<f64>,
    weights: Option<f64>,
}

/// The figure.
pub(super) fn figure(thin: &Character) -> Result<Figure, FigureError> {
    let all = thin.examples();
    let length = all.len().div_ceil(ONE_IN.len());
    let mut learnt: Vec<usize> = Vec::new();
    let mut shots = Vec::new();
    for (shot, one_in) in ONE_IN.into_iter().enumerate() {
        let frames: Vec<usize> = (shot * length..((shot + 1) * length).min(all.len())).collect();
        let (simulated, others): (Vec<usize>, Vec<usize>) =
            frames.iter().copied().partition(|at| (at - shot * length).is_multiple_of(one_in));
        learnt.extend(&simulated);
        let train = all.subset(&learnt);
        let mut model = Model::fit(&Method::mwe(), thin.rig(), &train)?;
        let mut base = Model::fit(&Method::OwnWeights, thin.rig(), &train)?;
        let start = Instant::now();
        for &at in &frames {
            model.skin(&all.examples()[at].transforms)?;
        }
        let per_frame = start.elapsed().as_secs_f64() / frames.len().max(1) as f64;
        let unseen = all.subset(&others);
        let of = |model: &mut Model| -> Result<Option<f64>, FigureError> {
            if unseen.is_empty() { Ok(None) } else { Ok(Some(model.error(&unseen)?.rms)) }
        };
        shots.push(Shot {
            frames: frames.len(),
            simulated: simulated.len(),
            fit: model.took.as_secs_f64(),
            per_frame,
            left: of(&mut model)?,
            weights: of(&mut base)?,
        });
    }
    let (frames, simulated) = shots.iter().fold((0, 0), |(f, s), shot| (f + shot.frames, s + shot.simulated));
    let left: Vec<(f64, f64)> = shots.iter().filter_map(|s| s.left.zip(s.weights)).collect();
    let begun = Figure {
        name: "Simulation session".into(),
        title: "shots reused, and their cost".into(),
        paper: "Skin is simulated for some frames of a shot. Enveloping learns them and makes the others, and later shots reuse them.".into(),
        ..Figure::default()
    };
    // The first shot is simulated as a whole.
    if left.len() + 1 < shots.len() {
        let why =
            format!("{} examples are too few for {} shots with frames that are not simulated", all.len(), ONE_IN.len());
        return Ok(Figure { outcome: Verdict::NotShown(why), ..begun });
    }
    let mended = left.iter().all(|(left, weights)| left < weights);
    Ok(Figure {
        ours: "The character's examples are three shots in a row. Of the first all frames are simulated, of the second every other one, of the third \
               every fourth. Enveloping learns from all that was simulated so far. The cost of simulation is counted in frames; seconds are of \
               this machine, for a part of the skin."
            .into(),
        outcome: Verdict::Differs("no simulation runs here, so its cost is counted in frames and not in hours".into()),
        measured: vec![
            Measured::claimed(
                "frames simulated, of all",
                format!("{simulated} of {frames}"),
                "later shots need fewer",
                shots.windows(2).all(|w| w[1].simulated < w[0].simulated),
            ),
            Measured::claimed(
                "rms on frames not simulated: enveloping, weights alone",
                left.iter()
                    .map(|(left, weights)| format!("{}, {}", mm(*left), mm(*weights)))
                    .collect::<Vec<_>>()
                    .join(" · "),
                "less than the weights alone, in every shot",
                mended,
            ),
        ],
        exhibits: vec![Exhibit::Table(PageTable {
            title: "Cost".into(),
            columns: ["shot", "frames", "simulated", "fit", "a frame", "frames not simulated, rms", "by weights alone"]
                .map(String::from)
                .to_vec(),
            rows: shots
                .iter()
                .enumerate()
                .map(|(i, s)| {
                    vec![
                        Quantity::Count(i as u64 + 1),
                        Quantity::Count(s.frames as u64),
                        Quantity::Count(s.simulated as u64),
                        Quantity::Seconds(s.fit as f32),
                        Quantity::Seconds(s.per_frame as f32),
                        Quantity::optional(s.left.map(|x| x as f32), Quantity::Length),
                        Quantity::optional(s.weights.map(|x| x as f32), Quantity::Length),
                    ]
                })
                .collect(),
            ..PageTable::default()
        })],
        ..begun
    })
}
