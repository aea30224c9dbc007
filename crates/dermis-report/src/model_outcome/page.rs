//! The outcome as a page.

use super::{ModelOutcome, ScoredExamples, SetRole};
use crate::page::{KeyFigure, Page, PageTable, PoseRef, Provenance, Quantity, ScoredPose, ScoredSet, WorstVertexRow};
use crate::{show_length, unit_of};
use dermis_measure::Scores;
use dermis_rig::BoneIndex;

impl ModelOutcome<'_> {
    /// Returns the page.
    pub fn page(&self) -> Page {
        let rig = self.model.rig();
        let method = self.model.header.method.clone();
        let main = self.counts();
        let subtitle = self
            .sets
            .iter()
            .map(|s| format!("{}: {} ({} poses)", s.role.name(), s.scores.set, s.scores.frames.len()))
            .collect::<Vec<_>>()
            .join("; ");
        let mut page = Page {
            title: format!("{}: {method}", rig.name()),
            subtitle,
            warnings: self.page_warnings(),
            unit: unit_of(&self.model.space),
            model_name: method,
            baseline_name: "lbs".into(),
            settings: self.model.header.settings.clone(),
            provenance: Provenance {
                program: self.model.header.program.clone(),
                date: None,
                command: self.command.clone(),
                files: self.files.clone(),
            },
            ..Page::default()
        };
        if let Some(counts) = main {
            page.verdict = self.verdict();
            page.pass = self.pass().map(|pass| pass.on_page());
            page.figures = self.figures(counts);
            page.worst = self.worst(self.sets.len() - 1);
        }
        page.sets = self.sets.iter().map(|set| scored_set(set.role, set.scores)).collect();
        page.sweep = self.fit.as_ref().and_then(|fit| fit.sweep.clone());
        page.comparison = self.comparison.clone();
        page.tables = self.tables();
        page.view = self.view();
        page
    }

    /// Returns the key figures, those of the set that counts first.
    fn figures(&self, counts: &ScoredExamples<'_>) -> Vec<KeyFigure> {
        let all = counts.scores;
        let (rms, max, baseline) = match counts.evidence() {
            Some(of) => (of.error.rms, of.error.max, of.baseline),
            None => (all.model.error.rms, all.model.error.max, all.baseline.as_ref().map(|b| b.error)),
        };
        let figure = |label: &str, value: Quantity, note: String| KeyFigure { label: label.into(), value, note };
        let length = |length: f64| Quantity::Length(length as f32);
        let mut figures = Vec::new();
        let count = |s: &Scores| format!("rms over {} poses", s.model.per_pose.len());
        for set in self.sets.iter().filter(|set| set.role != SetRole::Training) {
            let label = error_label(set.role);
            match set.evidence() {
                Some(of) => {
                    let fits =
                        if set.role == SetRole::CrossValidated { ", predicted by fits without them" } else { "" };
                    figures.push(figure(label, length(of.error.rms), format!("rms over {} poses{fits}", of.poses)));
                }
                None => {
                    let note = format!("all {} poses are beside training poses", set.scores.frames.len());
                    figures.push(figure(label, Quantity::Text(set.validation().into()), note));
                }
            }
        }
        if counts.role == SetRole::Training {
            let note = "no pose was kept from the fit".into();
            figures.push(figure("Error on other poses", Quantity::Text(counts.validation().into()), note));
        }
        if let Some(train) = self.scores_of(SetRole::Training) {
            figures.push(figure(error_label(SetRole::Training), length(train.model.error.rms), count(train)));
        }
        if let Some(baseline) = &baseline {
            figures.push(figure("Rig's own weights", length(baseline.rms), "rms on the same poses".into()));
        }
        if let Some(baseline) = baseline.filter(|baseline| baseline.rms > 0.0) {
            let note = format!("of the rig's own weights, {}", counts.role.name());
            figures.push(figure("Remaining error", Quantity::Share((rms / baseline.rms) as f32), note));
        }
        let max_note = baseline.map_or(String::new(), |b| {
            format!("the rig's own weights: {}", show_length(b.max, &unit_of(&self.model.space)))
        });
        figures.push(figure("Largest error", length(max), max_note));
        let vertices = self.model.rig().mesh().positions.len().max(1);
        let bytes = self.model.baked().bytes();
        figures.push(figure("Model", Quantity::Bytes(bytes as u64), format!("{} bytes per vertex", bytes / vertices)));
        if let Some(fit) = &self.fit {
            figures.push(figure("Fit", Quantity::Seconds(fit.seconds as f32), "files not counted".into()));
        }
        figures
    }

    /// Returns the vertices with the largest errors of a set, worst first.
    fn worst(&self, set: usize) -> Vec<WorstVertexRow> {
        let Some(ScoredExamples { scores, .. }) = self.sets.get(set) else { return vec![] };
        let rig = self.model.rig();
        let found = scores.model.worst_vertices.iter().filter_map(|w| {
            let pose = scores.model.per_pose.iter().position(|p| p.label == w.label)?;
            let bone = rig.weights().and_then(|i| i.dominant(w.vertex));
            Some(WorstVertexRow {
                vertex: w.vertex as u32,
                bone: bone.map_or(String::new(), |b| rig.skeleton().names()[b].clone()),
                pose: PoseRef { set, pose },
                error: w.error as f32,
            })
        });
        found.collect()
    }

    /// Returns volumes and errors by bone, as far as there are any.
    fn tables(&self) -> Vec<PageTable> {
        let mut tables = Vec::new();
        let volumes: Vec<Vec<Quantity>> = self
            .sets
            .iter()
            .filter_map(|ScoredExamples { role, scores, .. }| {
                let ratios: Vec<(f64, f64)> = scores.frames.iter().filter_map(|f| f.volume).collect();
                let worst = ratios.iter().copied().max_by(|a, b| (a.0 - a.1).abs().total_cmp(&(b.0 - b.1).abs()))?;
                let mean = |of: fn(&(f64, f64)) -> f64| ratios.iter().map(of).sum::<f64>() / ratios.len() as f64;
                let cell = |x: f64| Quantity::Share(x as f32);
                Some(vec![
                    Quantity::Text(role.name().into()),
                    cell(mean(|r| r.0)),
                    cell(mean(|r| r.1)),
                    cell(worst.0),
                    cell(worst.1),
                ])
            })
            .collect();
        if !volumes.is_empty() {
            tables.push(PageTable {
                title: "Volume".into(),
                note: "Volume over rest volume: mean over the poses, and the pose where model and target differ most"
                    .into(),
                columns: ["set", "target, mean", "model, mean", "target, worst pose", "model, worst pose"]
                    .map(String::from)
                    .to_vec(),
                rows: volumes,
            });
        }
        tables.push(self.objects_table());
        tables.push(self.bones_table());
        tables.extend(self.further.iter().cloned());
        tables.retain(|t| !t.rows.is_empty());
        tables
    }

    /// Returns the rms of each of several objects, on the set that counts.
    fn objects_table(&self) -> PageTable {
        let mesh = self.model.rig().mesh();
        let mut table = PageTable {
            title: "Error by object".into(),
            note: "rms over the vertices of each mesh of the file".into(),
            columns: ["object", "vertices", "model", "rig's own weights"].map(String::from).to_vec(),
            rows: vec![],
        };
        let Some(ScoredExamples { scores, .. }) = self.counts().filter(|_| mesh.has_several_objects()) else {
            return table;
        };
        let numbers = mesh.object_numbers();
        let (squares, counts) = squares_by(scores, mesh.objects.len(), |v| Some(numbers[v] as usize));
        for ((object, (own, base)), count) in mesh.objects.iter().zip(squares).zip(counts) {
            let rms = |sum: f64| Quantity::Length((sum / count.max(1) as f64).sqrt() as f32);
            let hidden = if object.visible { "" } else { " (hidden)" };
            let name = Quantity::Text(format!("{}{hidden}", object.name));
            table.rows.push(vec![name, Quantity::Count(count as u64), rms(own), rms(base)]);
        }
        table
    }

    /// Returns the rms by the bone that dominates a vertex, on the set that counts.
    fn bones_table(&self) -> PageTable {
        let mut table = PageTable {
            title: "Error by bone".into(),
            note: "rms over the vertices a bone dominates; the bones with the largest share of the squared error"
                .into(),
            columns: ["bone", "vertices", "model", "rig's own weights"].map(String::from).to_vec(),
            rows: vec![],
        };
        let (Some(ScoredExamples { scores, .. }), Some(weights)) = (self.counts(), self.model.rig().weights()) else {
            return table;
        };
        let bones = self.model.rig().skeleton().len();
        let (squares, counts) = squares_by(scores, bones, |v| weights.dominant(v).map(BoneIndex::get));
        let mut order: Vec<usize> = (0..bones).filter(|&b| counts[b] > 0).collect();
        order.sort_by(|&a, &b| squares[b].0.total_cmp(&squares[a].0));
        for bone in order.into_iter().take(12) {
            let rms = |sum: f64| Quantity::Length((sum / counts[bone] as f64).sqrt() as f32);
            table.rows.push(vec![
                Quantity::Text(self.model.rig().skeleton().names()[BoneIndex::new(bone)].clone()),
                Quantity::Count(counts[bone] as u64),
                rms(squares[bone].0),
                rms(squares[bone].1),
            ]);
        }
        table
    }
}

/// Returns the sums of squares of the model's and the baseline's errors over the vertices of each of `groups`, and how many vertices each has.
fn squares_by(scores: &Scores, groups: usize, of: impl Fn(usize) -> Option<usize>) -> (Vec<(f64, f64)>, Vec<usize>) {
    let (mut squares, mut counts) = (vec![(0.0, 0.0); groups], vec![0usize; groups]);
    for (v, rms) in scores.model.per_vertex_rms.iter().enumerate() {
        let Some(group) = of(v) else { continue };
        let base = scores.baseline.as_ref().and_then(|b| b.per_vertex_rms.get(v)).copied().unwrap_or(0.0);
        squares[group].0 += rms * rms;
        squares[group].1 += base * base;
        counts[group] += 1;
    }
    (squares, counts)
}

/// Returns what the error of a set is called.
pub(crate) fn error_label(role: SetRole) -> &'static str {
    match role {
        SetRole::HeldOut => "Held-out error",
        SetRole::CrossValidated => "Cross-validated error",
        SetRole::Training => "Training error",
        SetRole::Scored => "Error",
    }
}

/// Returns the scores per pose as the page shows them.
fn scored_set(role: SetRole, scores: &Scores) -> ScoredSet {
    let poses = scores.model.per_pose.iter().zip(&scores.frames).enumerate().map(|(at, (pose, frame))| {
        let base = scores.baseline.as_ref().and_then(|b| b.per_pose.get(at));
        ScoredPose {
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
    ScoredSet { name: role.name().into(), poses: poses.collect() }
}
