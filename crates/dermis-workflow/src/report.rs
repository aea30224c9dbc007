//! Results as JSON for programs and as a page for people.

use crate::compare::Row;
use crate::fit::Fitted;
use crate::load::FileNote;
use crate::measure::{Runner, Scores, baseline};
use crate::page::{
    Figure, FileStamp, Frame, MethodRow, Page, PoseRef, PoseScore, PoseSet, Provenance, Sweep, SweepPoint, Table, Tone,
    Unit, Value as Cell, Verdict, View, WorstVertex, frame_bytes, positions,
};
use dermis_io::{ModelFile, Space};
use dermis_rig::ExampleSet;
use dermis_rig::glam::DVec3;
use serde_json::{Value, json};

/// Everything a fit or an evaluation found out.
pub struct Outcome<'a> {
    /// The model.
    pub model: &'a ModelFile,
    /// The fit, unless a stored model was scored.
    pub fitted: Option<&'a Fitted>,
    /// The sets scored, held-out motion last, with their examples; with an empty set if they were streamed.
    pub sets: Vec<(&'static str, &'a Scores, &'a ExampleSet)>,
    /// Errors by cross-validation, when nothing was held out.
    pub cross_validated: Option<&'a Scores>,
    /// Other methods on the same bench.
    pub comparison: &'a [Row],
    /// Files read and written.
    pub files: &'a [FileNote],
    /// The command line.
    pub command: Option<String>,
}

impl<'a> Outcome<'a> {
    /// The set whose errors count: held-out motion if there is any.
    fn main(&self) -> Option<&(&'static str, &'a Scores, &'a ExampleSet)> {
        self.sets.last()
    }

    /// Warnings of the fit and of what was measured.
    pub fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.fitted.map(|f| f.warnings.clone()).unwrap_or_default();
        for (name, scores, _) in &self.sets {
            if let Some(baseline) = &scores.baseline {
                if scores.model.error.rms > baseline.error.rms {
                    all.push(format!("{name}: the model is worse than the rig's own weights"));
                } else if scores.model.error.max > 1.1 * baseline.error.max {
                    all.push(format!("{name}: the largest error exceeds 1.1 times that of the rig's own weights"));
                }
            }
            let count = scores.frames.len().max(1) as f64;
            let limited = scores.frames.iter().map(|f| f.limited).sum::<f64>() / count;
            if limited > 0.1 {
                all.push(format!(
                    "{name}: the motion is unlike the training: limits act on {:.0} % of the joints",
                    100.0 * limited
                ));
            }
            if let Some((frame, (degrees, joint))) = farthest(scores).filter(|(_, d)| d.0 > 20.0) {
                all.push(format!(
                    "{name}: in \"{}\" the joint of \"{joint}\" is {degrees:.0} degrees from anything it was trained on",
                    scores.model.per_pose[frame].label
                ));
            }
        }
        all
    }

    /// The JSON of `fit` and `eval`.
    pub fn json(&self) -> Value {
        let rig = &self.model.rig;
        let Some((_, main, _)) = self.main() else { return json!({}) };
        let per_pose = |scores: &Scores| -> Vec<Value> {
            let pairs = scores.model.per_pose.iter().zip(&scores.frames).enumerate();
            pairs
                .map(|(at, (pose, frame))| {
                    let base = scores.baseline.as_ref().and_then(|b| b.per_pose.get(at));
                    json!({
                        "label": pose.label, "rms": pose.rms, "max": pose.max, "p95": pose.p95,
                        "worst_vertex": pose.worst_vertex,
                        "baseline_rms": base.map(|b| b.rms),
                        "distance_degrees": frame.distance.as_ref().map(|d| d.0),
                        "distance_joint": frame.distance.as_ref().map(|d| &d.1),
                        "limited_share": frame.limited, "guarded_share": frame.held,
                        "volume_ratio": frame.volume.map(|v| v.1),
                        "volume_ratio_target": frame.volume.map(|v| v.0),
                    })
                })
                .collect()
        };
        let find = |name: &str| self.sets.iter().find(|s| s.0 == name).map(|s| s.1);
        let error = |scores: Option<&Scores>| scores.map(|s| json!(s.model.error));
        let mut value = json!({
            "method": self.model.header.method,
            "vertices": rig.mesh.positions.len(),
            "bones": rig.skeleton.len(),
            "poses": find("training").map_or(main.model.per_pose.len(), |s| s.model.per_pose.len()),
            "unit": self.model.space.unit,
            "diagonal": rig.mesh.diagonal(),
            "seconds": self.fitted.map(|f| f.seconds),
            "error": main.model.error,
            "baseline": main.baseline.as_ref().map(|b| json!({"method": "lbs", "error": b.error})),
            "ratio": main.ratio(),
            "per_pose": per_pose(main),
            "worst_vertices": main.model.worst_vertices,
            "model_bytes": self.model.baked.bytes(),
            "report": self.model.header.report,
            "settings": self.model.header.settings.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<serde_json::Map<_, _>>(),
            "warnings": self.warnings(),
        });
        if self.fitted.is_some() {
            value["train"] = json!(error(find("training")));
            value["held_out"] = json!(error(find("held out")));
            if let Some(scores) = self.cross_validated {
                value["cross_validated"] = json!(scores.model.error);
            }
            if let Some(scores) = find("training") {
                value["per_pose_train"] = json!(per_pose(scores));
            }
        }
        value
    }

    /// Unit in which lengths are shown.
    fn unit(&self) -> Unit {
        unit_of(&self.model.space)
    }

    /// The page.
    pub fn page(&self) -> Page {
        let rig = &self.model.rig;
        let method = self.model.header.method.clone();
        let main = self.main();
        let subtitle = self
            .sets
            .iter()
            .map(|(role, scores, _)| format!("{role}: {} ({} poses)", scores.set, scores.frames.len()))
            .collect::<Vec<_>>()
            .join("; ");
        let mut page = Page {
            title: format!("{}: {method}", rig.name),
            subtitle,
            warnings: self.warnings(),
            unit: self.unit(),
            model_name: method,
            baseline_name: "lbs".into(),
            settings: self.model.header.settings.clone(),
            provenance: Provenance {
                program: self.model.header.program.clone(),
                date: None,
                command: self.command.clone(),
                files: self.files.iter().map(stamp).collect(),
            },
            ..Page::default()
        };
        if let Some((_, scores, _)) = main {
            page.verdict = Some(verdict(scores));
            page.figures = self.figures(scores);
            page.worst = self.worst(self.sets.len() - 1);
        }
        page.sets = self.sets.iter().map(|(role, scores, _)| pose_set(role, scores)).collect();
        if let Some(fitted) = self.fitted.filter(|f| f.sweep.len() > 1) {
            let point = |&(s, train, validated): &(f64, f64, f64)| SweepPoint {
                s: s as f32,
                train_rms: train as f32,
                validated_rms: validated as f32,
            };
            page.sweep = Some(Sweep {
                points: fitted.sweep.iter().map(point).collect(),
                chosen_s: fitted.s.unwrap_or(f64::NAN) as f32,
                what: fitted.validated_by.clone(),
            });
        }
        page.comparison = self.comparison.iter().map(method_row).collect();
        page.tables = self.tables();
        page.view = self.view();
        page
    }

    fn figures(&self, main: &Scores) -> Vec<Figure> {
        let figure = |label: &str, value: Cell, note: String| Figure { label: label.into(), value, note };
        let find = |name: &str| self.sets.iter().find(|s| s.0 == name).map(|s| s.1);
        let mut figures = Vec::new();
        let count = |s: &Scores| format!("rms over {} poses", s.model.per_pose.len());
        if let Some(held_out) = find("held out") {
            figures.push(figure("Held-out error", Cell::Length(held_out.model.error.rms as f32), count(held_out)));
        } else if let Some(scores) = self.cross_validated {
            let note = format!("rms, {} poses predicted by fits without them", scores.model.per_pose.len());
            figures.push(figure("Cross-validated error", Cell::Length(scores.model.error.rms as f32), note));
        }
        if let Some(train) = find("training") {
            figures.push(figure("Training error", Cell::Length(train.model.error.rms as f32), count(train)));
        }
        if let Some(scores) = find("scored") {
            figures.push(figure("Error", Cell::Length(scores.model.error.rms as f32), count(scores)));
        }
        if let Some(baseline) = &main.baseline {
            figures.push(figure(
                "Rig's own weights",
                Cell::Length(baseline.error.rms as f32),
                "rms on the same poses".into(),
            ));
        }
        if let Some(ratio) = main.ratio() {
            figures.push(figure("Remaining error", Cell::Share(ratio as f32), "of the rig's own weights".into()));
        }
        let max_note = main
            .baseline
            .as_ref()
            .map_or(String::new(), |b| format!("the rig's own weights: {}", show_length(b.error.max, &self.unit())));
        figures.push(figure("Largest error", Cell::Length(main.model.error.max as f32), max_note));
        let vertices = self.model.rig.mesh.positions.len().max(1);
        let bytes = self.model.baked.bytes();
        figures.push(figure("Model", Cell::Bytes(bytes as u64), format!("{} bytes per vertex", bytes / vertices)));
        if let Some(fitted) = self.fitted {
            figures.push(figure("Fit", Cell::Seconds(fitted.seconds as f32), "files not counted".into()));
        }
        figures
    }

    fn worst(&self, set: usize) -> Vec<WorstVertex> {
        let Some((_, scores, _)) = self.sets.get(set) else { return vec![] };
        let rig = &self.model.rig;
        let found = scores.model.worst_vertices.iter().filter_map(|w| {
            let pose = scores.model.per_pose.iter().position(|p| p.label == w.label)?;
            let bone = rig.weights.as_ref().and_then(|i| i.dominant(w.vertex));
            Some(WorstVertex {
                vertex: w.vertex as u32,
                bone: bone.map_or(String::new(), |b| rig.skeleton.names()[b].clone()),
                pose: PoseRef { set, pose },
                error: w.error as f32,
            })
        });
        found.collect()
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = Vec::new();
        let volumes: Vec<Vec<Cell>> = self
            .sets
            .iter()
            .filter_map(|(role, scores, _)| {
                let ratios: Vec<(f64, f64)> = scores.frames.iter().filter_map(|f| f.volume).collect();
                let worst = ratios.iter().copied().max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()))?;
                let mean = |of: fn(&(f64, f64)) -> f64| ratios.iter().map(of).sum::<f64>() / ratios.len() as f64;
                let cell = |x: f64| Cell::Share(x as f32);
                Some(vec![
                    Cell::Text((*role).into()),
                    cell(mean(|r| r.0)),
                    cell(mean(|r| r.1)),
                    cell(worst.0),
                    cell(worst.1),
                ])
            })
            .collect();
        if !volumes.is_empty() {
            tables.push(Table {
                title: "Volume".into(),
                note: "Volume over rest volume: mean over the poses, and the pose where model and target differ most"
                    .into(),
                columns: ["set", "target, mean", "model, mean", "target, worst pose", "model, worst pose"]
                    .map(String::from)
                    .to_vec(),
                rows: volumes,
            });
        }
        tables.push(self.bones_table());
        tables.retain(|t| !t.rows.is_empty());
        tables
    }

    /// rms by the bone that dominates a vertex, on the set that counts.
    fn bones_table(&self) -> Table {
        let mut table = Table {
            title: "Error by bone".into(),
            note: "rms over the vertices a bone dominates; the bones with the largest share of the squared error"
                .into(),
            columns: ["bone", "vertices", "model", "rig's own weights"].map(String::from).to_vec(),
            rows: vec![],
        };
        let (Some((_, scores, _)), Some(weights)) = (self.main(), &self.model.rig.weights) else { return table };
        let bones = self.model.rig.skeleton.len();
        let (mut squares, mut counts) = (vec![(0.0, 0.0); bones], vec![0usize; bones]);
        for (v, rms) in scores.model.per_vertex_rms.iter().enumerate() {
            let Some(bone) = weights.dominant(v) else { continue };
            let base = scores.baseline.as_ref().and_then(|b| b.per_vertex_rms.get(v)).copied().unwrap_or(0.0);
            squares[bone.get()].0 += rms * rms;
            squares[bone.get()].1 += base * base;
            counts[bone.get()] += 1;
        }
        let mut order: Vec<usize> = (0..bones).filter(|&b| counts[b] > 0).collect();
        order.sort_by(|&a, &b| squares[b].0.total_cmp(&squares[a].0));
        for bone in order.into_iter().take(12) {
            let rms = |sum: f64| Cell::Length((sum / counts[bone] as f64).sqrt() as f32);
            table.rows.push(vec![
                Cell::Text(self.model.rig.skeleton.names()[dermis_rig::BoneIndex::new(bone)].clone()),
                Cell::Count(counts[bone] as u64),
                rms(squares[bone].0),
                rms(squares[bone].1),
            ]);
        }
        table
    }

    /// The worst frames of every set and one typical one, as many as a page can carry.
    fn view(&self) -> Option<View> {
        const MOST_BYTES: usize = 12 << 20;
        // Examples that were streamed are not there to be shown.
        if self.sets.iter().any(|(_, scores, examples)| examples.len() < scores.frames.len()) {
            return None;
        }
        let rig = &self.model.rig;
        let room = (MOST_BYTES / frame_bytes(rig.mesh.positions.len()).max(1)).clamp(1, 8);
        let mut chosen: Vec<(usize, usize, &str)> = Vec::new();
        for (set, (_, scores, _)) in self.sets.iter().enumerate().rev() {
            let poses = &scores.model.per_pose;
            let mut by_rms: Vec<usize> = (0..poses.len()).collect();
            by_rms.sort_by(|&a, &b| poses[b].rms.total_cmp(&poses[a].rms));
            let by_max = (0..poses.len()).max_by(|&a, &b| poses[a].max.total_cmp(&poses[b].max));
            let last = set + 1 == self.sets.len();
            let picks = [
                (by_rms.first().copied(), "largest rms"),
                (by_max, "largest error of a vertex"),
                (farthest(scores).map(|f| f.0).filter(|_| last), "farthest from training"),
                (by_rms.get(by_rms.len() / 2).copied(), "typical"),
                (by_rms.get(1).copied().filter(|_| last), "second largest rms"),
            ];
            for (pose, why) in picks {
                if let Some(pose) = pose.filter(|&p| !chosen.iter().any(|c| (c.0, c.1) == (set, p))) {
                    chosen.push((set, pose, why));
                }
            }
        }
        chosen.truncate(room);
        let base = baseline(self.model);
        let mut model_runner = (!self.model.baked.needs_given()).then(|| Runner::new(&self.model.baked))?;
        let mut base_runner = base.as_ref().map(Runner::new);
        let frames = chosen
            .into_iter()
            .map(|(set, pose, why)| {
                let (role, _, examples) = &self.sets[set];
                let example = &examples.examples()[pose];
                let middle = middle_of(&example.positions);
                let about = |skin: &[DVec3]| positions(&skin.iter().map(|p| *p - middle).collect::<Vec<_>>());
                Frame {
                    label: example.label.clone(),
                    set: (*role).into(),
                    note: why.into(),
                    pose: Some(PoseRef { set, pose }),
                    target: about(&example.positions),
                    model: about(model_runner.run(&example.transforms, None)),
                    baseline: base_runner.as_mut().map(|r| about(r.run(&example.transforms, None))),
                }
            })
            .collect();
        let middle = middle_of(&rig.mesh.positions);
        let rest: Vec<DVec3> = rig.mesh.positions.iter().map(|p| *p - middle).collect();
        Some(View { triangles: rig.mesh.triangles.clone(), rest: positions(&rest), frames })
    }
}

/// Errors per vertex as CSV, in the model's unit: vertex, its strongest bone, rms and largest error of the model and of the
/// rig's own weights.
pub fn vertex_csv(model: &ModelFile, scores: &Scores) -> String {
    let rig = &model.rig;
    let mut csv = String::from("vertex,bone,rms,max,baseline_rms,baseline_max\n");
    for (v, (rms, max)) in scores.model.per_vertex_rms.iter().zip(&scores.model.per_vertex_max).enumerate() {
        let bone = rig.weights.as_ref().and_then(|w| w.dominant(v)).map_or("", |b| &rig.skeleton.names()[b]);
        let bone = if bone.contains([',', '"', '\n']) {
            format!("\"{}\"", bone.replace('"', "\"\""))
        } else {
            bone.to_owned()
        };
        let base = scores
            .baseline
            .as_ref()
            .map_or(String::from(","), |b| format!("{:e},{:e}", b.per_vertex_rms[v], b.per_vertex_max[v]));
        csv += &format!("{v},{bone},{rms:e},{max:e},{base}\n");
    }
    csv
}

/// Characters that walk away are shown where they are: about their own middle.
fn middle_of(skin: &[DVec3]) -> DVec3 {
    let finite = skin.iter().filter(|p| p.is_finite());
    let (sum, count) = finite.fold((DVec3::ZERO, 0usize), |(sum, count), p| (sum + *p, count + 1));
    sum / count.max(1) as f64
}

fn farthest(scores: &Scores) -> Option<(usize, &(f64, String))> {
    let far = scores.frames.iter().enumerate().filter_map(|(at, f)| Some((at, f.distance.as_ref()?)));
    far.max_by(|a, b| a.1.0.total_cmp(&b.1.0))
}

/// The unit that lengths of a file's space are shown in: millimetres where metres are known, thousandths of its unit otherwise.
pub fn unit_of(space: &Space) -> Unit {
    match space.unit.as_str() {
        "m" => Unit::default(),
        _ => Unit { name: "1/1000 unit".into(), scale: 1000.0 },
    }
}

/// A length for people, three significant digits and the unit.
pub fn show_length(length: f64, unit: &Unit) -> String {
    format!("{} {}", show_number(length, unit), unit.name)
}

/// A length for people as a number in their unit, three significant digits.
pub fn show_number(length: f64, unit: &Unit) -> String {
    let value = length * f64::from(unit.scale);
    let size = value.abs();
    if size != 0.0 && size.is_finite() && !(1e-3..1e6).contains(&size) {
        return format!("{value:.1e}");
    }
    let digits = if value == 0.0 || !value.is_finite() { 2 } else { (2 - size.log10().floor() as i32).clamp(0, 4) };
    format!("{value:.*}", digits as usize)
}

fn verdict(scores: &Scores) -> Verdict {
    let say = |text: String, tone| Verdict { text, tone };
    let Some((ratio, baseline)) = scores.ratio().zip(scores.baseline.as_ref()) else {
        return say("The rig has no weights of its own to compare with.".into(), Tone::Caution);
    };
    let spikes = scores.model.error.max > 1.1 * baseline.error.max;
    match (ratio, spikes) {
        (r, _) if r > 1.0 => {
            say(format!("Worse than the rig's own weights: {:.0} % of their error.", 100.0 * r), Tone::Bad)
        }
        (r, true) => say(
            format!(
                "{:.0} % of the error of the rig's own weights remains, but the largest error exceeds theirs.",
                100.0 * r
            ),
            Tone::Caution,
        ),
        (r, false) if r > 0.8 => {
            say(format!("{:.0} % of the error of the rig's own weights: little gained.", 100.0 * r), Tone::Caution)
        }
        (r, false) => {
            let largest =
                if scores.model.error.max <= baseline.error.max { "; the largest error is smaller, too" } else { "" };
            say(format!("{:.0} % of the error of the rig's own weights remains{largest}.", 100.0 * r), Tone::Good)
        }
    }
}

fn pose_set(role: &str, scores: &Scores) -> PoseSet {
    let poses = scores.model.per_pose.iter().zip(&scores.frames).enumerate().map(|(at, (pose, frame))| {
        let base = scores.baseline.as_ref().and_then(|b| b.per_pose.get(at));
        PoseScore {
            label: pose.label.clone(),
            rms: pose.rms as f32,
            max: pose.max as f32,
            p95: pose.p95 as f32,
            baseline_rms: base.map(|b| b.rms as f32),
            baseline_max: base.map(|b| b.max as f32),
            distance_degrees: frame.distance.as_ref().map(|d| d.0 as f32),
            distance_joint: frame.distance.as_ref().map(|d| d.1.clone()),
            guarded_share: Some(frame.held as f32),
            limited_share: Some(frame.limited as f32),
        }
    });
    PoseSet { name: role.into(), poses: poses.collect() }
}

fn method_row(row: &Row) -> MethodRow {
    MethodRow {
        method: row.method.clone(),
        train: Some(row.train.model.error.rms as f32),
        held_out: Some(row.held_out.model.error.rms as f32),
        model_bytes: Some(row.bytes as u64),
        fit_seconds: Some(row.seconds as f32),
        vertices_per_second: Some(row.vertices_per_second as f32),
        note: row.fitted.warnings.first().cloned().unwrap_or_default(),
    }
}

fn stamp(note: &FileNote) -> FileStamp {
    FileStamp {
        role: note.role.clone(),
        path: note.path.clone(),
        bytes: note.bytes,
        hash: format!("sha256:{}…", note.hash),
    }
}
