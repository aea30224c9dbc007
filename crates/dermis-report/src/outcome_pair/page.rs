//! Two outcomes as a page.

use super::OutcomePair;
use crate::page::{
    FileStamp, KeyFigure, Page, PageTable, PageVerdict, Provenance, Quantity, ScoredPose, ScoredSet, Tone, show_change,
};

impl OutcomePair {
    /// Returns the page: bars are those of the second outcome, the line is the first.
    pub fn page(&self, program: &str, command: Option<String>, files: Vec<FileStamp>) -> Page {
        let [first, second] = self.names();
        let verdict = self.verdict();
        let mut page = Page {
            title: format!("{second} against {first}"),
            subtitle: "Differences are those of the second from the first: negative is better".into(),
            verdict: verdict.as_ref().map(|(text, change)| PageVerdict {
                text: text.clone(),
                tone: if *change <= 0.0 { Tone::Good } else { Tone::Caution },
            }),
            warnings: self.notes().into_iter().map(Into::into).collect(),
            unit: self.unit(),
            model_name: second.into(),
            baseline_name: first.into(),
            provenance: Provenance { program: program.into(), date: None, command, files },
            ..Page::default()
        };
        let figures = self.figures();
        for figure in figures.iter().filter(|figure| ["rms", "95 %", "max"].contains(&figure.label.as_str())) {
            let before = figure.first.with_unit(&page.unit);
            let change = figure.change.map_or(String::new(), |change| format!(", {}", show_change(change)));
            let (label, note) = (figure.label.clone(), format!("{first}: {before}{change}"));
            page.figures.push(KeyFigure { label, value: figure.second.clone(), note });
        }
        let scored = |(at, pose): (usize, &super::PairedPose)| ScoredPose {
            label: pose.label.clone(),
            rms: pose.rms[1] as f32,
            max: pose.max[1] as f32,
            p95: self.outcomes[1].poses[self.both[at][1]].p95 as f32,
            baseline_rms: Some(pose.rms[0] as f32),
            baseline_max: Some(pose.max[0] as f32),
            ..ScoredPose::default()
        };
        let poses = self.poses();
        page.sets =
            vec![ScoredSet { name: "poses of both".into(), poses: poses.iter().enumerate().map(scored).collect() }];
        page.tables = vec![self.headline(), self.per_pose(&poses), self.lonely(), self.changed_settings()];
        page.tables.retain(|table| !table.rows.is_empty());
        page
    }

    fn columns(&self, head: &str, more: &[&str]) -> Vec<String> {
        let [first, second] = self.names();
        [head, first, second].into_iter().chain(more.iter().copied()).map(String::from).collect()
    }

    fn headline(&self) -> PageTable {
        let row = |figure: super::PairedFigure| {
            vec![
                Quantity::Text(figure.label),
                figure.first,
                figure.second,
                figure.change.map_or(Quantity::Missing, |change| Quantity::Change(change as f32)),
            ]
        };
        PageTable {
            title: "Headline figures".into(),
            note: String::new(),
            columns: self.columns("figure", &["change"]),
            rows: self.figures().into_iter().map(row).collect(),
        }
    }

    fn per_pose(&self, poses: &[super::PairedPose]) -> PageTable {
        let [first, second] = self.names();
        let length = |value: f64| Quantity::Length(value as f32);
        let row = |pose: &super::PairedPose| {
            let of = |[a, b]: [f64; 2]| [length(a), length(b), length(b - a)];
            [Quantity::Text(pose.label.clone())].into_iter().chain(of(pose.rms)).chain(of(pose.max)).collect()
        };
        let mut worst: Vec<&super::PairedPose> = poses.iter().collect();
        worst.sort_by(|a, b| (b.rms[1] - b.rms[0]).total_cmp(&(a.rms[1] - a.rms[0])));
        PageTable {
            title: "Difference per pose".into(),
            note: "The pose that became worst first".into(),
            columns: ["pose".to_owned()]
                .into_iter()
                .chain(["rms", "max"].iter().flat_map(|what| {
                    [format!("{first} {what}"), format!("{second} {what}"), format!("difference of {what}")]
                }))
                .collect(),
            rows: worst.into_iter().map(row).collect(),
        }
    }

    fn lonely(&self) -> PageTable {
        let rows = [0, 1].into_iter().flat_map(|at| {
            let of = &self.names[at];
            self.alone[at].iter().map(|label| vec![Quantity::Text(label.clone()), Quantity::Text(of.clone())])
        });
        PageTable {
            title: "Poses of one outcome alone".into(),
            note: "They are in no difference above".into(),
            columns: ["pose", "outcome"].map(String::from).to_vec(),
            rows: rows.collect(),
        }
    }

    fn changed_settings(&self) -> PageTable {
        let row = |setting: super::DifferentSetting| {
            let [first, second] = setting.values.map(|v| v.map_or(Quantity::Missing, Quantity::Text));
            vec![Quantity::Text(setting.name), first, second]
        };
        PageTable {
            title: "Settings that differ".into(),
            note: String::new(),
            columns: self.columns("setting", &[]),
            rows: self.settings().into_iter().map(row).collect(),
        }
    }
}
