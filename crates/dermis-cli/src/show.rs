//! Results as text for a terminal.

use crate::ui::Ui;
use dermis_workflow::fits::method::MethodReport;
use dermis_workflow::load::FileNote;
use dermis_workflow::measure::{ErrorStats, Scores};
use dermis_workflow::recipe::{Curve, Memory};
use dermis_workflow::report::{LengthUnit, SetRole, show_length, show_number};
use dermis_workflow::rig::Skeleton;
use dermis_workflow::verbs::compare::{Row, recommend};
use dermis_workflow::verbs::eval::stress::{Bound, Stress};
use dermis_workflow::verbs::fit::{FitReport, SecondaryFound};
use serde_json::Value;
use std::collections::HashSet;

/// Errors of every set, model beside baseline.
pub fn errors(ui: &Ui, sets: &[(&str, &Scores)], unit: &LengthUnit) {
    let cell = |length: f64| format!("{:>10}", show_number(length, unit));
    let title = format!("errors in {}", unit.name);
    ui.print(&format!("{title:<28} {:>9} {:>9} {:>9} {:>8} {:>8}", "rms", "95 %", "max", "E_RMS", "dist. %"));
    let line = |name: &str, e: &ErrorStats| {
        let number = |x: Option<f64>| {
            x.map_or_else(
                || format!("{:>9}", "–"),
                |x| match x < 1e5 {
                    true => format!("{x:>9.3}"),
                    false => format!("{x:>9.1e}"),
                },
            )
        };
        let stats =
            format!("{}{}{}{}{}", cell(e.rms), cell(e.p95), cell(e.max), number(e.e_rms), number(e.distortion_percent));
        ui.print(&format!("{name:<28}{stats}"));
    };
    for (name, scores) in sets {
        let poses = scores.model.per_pose.len();
        let all = (poses * scores.model.per_vertex_rms.len()) as u64;
        let skin = if scores.model.pairs < all { ", touched skin" } else { "" };
        line(&format!("{name} ({poses} poses{skin})"), &scores.model.error);
        if let Some(baseline) = &scores.baseline {
            line("  the rig's own weights", &baseline.error);
        }
    }
    ui.print("E_RMS = 1000·|X−Y| / (√(3·poses·vertices)·diagonal/2); dist. = 100·|X−Y| / |X−mean X|");
}

/// What a compiled pose space would cost within other budgets, as the fit's report has it.
pub fn budgets(ui: &Ui, report: &Value, unit: &LengthUnit) {
    let Some(points) = report["budgets"].as_array() else { return };
    let title = format!("distance to the whole model, {}", unit.name);
    ui.print(&format!("{title:<36} {:>9} {:>9}", "training", "unseen"));
    let length = |value: &Value| show_number(value.as_f64().unwrap_or(f64::NAN), unit);
    for point in points {
        let name = format!("  {} shapes, {} kernel values", point["shapes"], point["kernel_values"]);
        ui.print(&format!("{name:<36} {:>9} {:>9}", length(&point["rms_training"]), length(&point["rms_unseen"])));
    }
}

/// What secondary motion was learnt.
pub fn secondary(ui: &Ui, found: &SecondaryFound, unit: &LengthUnit) {
    let [slow, middle, fast] = found.frequencies();
    ui.print(&format!(
        "secondary motion of {} over {} frames, swinging by {} rms: simulated, {:.0} % of that remain ({:.0} % in clips left out); {slow:.1} \
         to {fast:.1} Hz, in the middle {middle:.1}; learnt in {:.1} s",
        match found.clips {
            1 => "one clip".into(),
            clips => format!("{clips} clips"),
        },
        found.learnt.frames,
        show_length(found.swing[0], unit),
        100.0 * found.learnt.training,
        100.0 * found.learnt.left_out,
        found.seconds
    ));
    if ui.verbose {
        for (clip, left) in &found.learnt.folds {
            ui.print(&format!("  without \"{clip}\": {:.0} % of its swinging remain", 100.0 * left));
        }
    }
}

/// What springs of bone chains were learnt, whether or not they are kept.
pub fn chains(ui: &Ui, found: &SecondaryFound, skeleton: &Skeleton, unit: &LengthUnit) {
    for learnt in &found.chains {
        let (first, others) = (learnt.chain.bones.first(), learnt.chain.bones.len().saturating_sub(1));
        let name = first.map_or("", |bone| skeleton.names()[*bone].as_str());
        let below = if others == 1 { "the bone".into() } else { format!("{others} bones") };
        let spring = learnt.spring;
        ui.print(&format!(
            "springs of the chain \"{name}\" and {below} below, swinging by {} rms: simulated, {:.0} % of that remain ({:.0} % in clips \
             left out){}",
            show_length(learnt.swing, unit),
            100.0 * learnt.training,
            100.0 * learnt.left_out,
            match learnt.is_kept() {
                true => format!(
                    "; stiffness {:.3}, drag {:.3}, gravity {:.3}",
                    spring.stiffness(),
                    spring.drag(),
                    spring.gravity()
                ),
                false => "; not kept".into(),
            },
        ));
        if ui.verbose {
            for (clip, left) in &learnt.folds {
                ui.print(&format!("  without \"{clip}\": {:.0} % of its swinging remain", 100.0 * left));
            }
        }
    }
}

/// What drives each corrective, and what it leaves of its sculpt.
pub fn correctives(ui: &Ui, report: &FitReport, unit: &LengthUnit) {
    let shapes = match &report.details {
        MethodReport::Correctives(found) => &found.correctives,
        MethodReport::Joint(found) => &found.remembered,
        _ => return,
    };
    for shape in shapes {
        // A joint that drives other sculpts of the group alone is at rest here.
        let turned = shape.joints.iter().filter(|joint| joint.degrees >= 1.0);
        let joints = turned.map(|joint| match joint.part {
            "rotation" => format!("{} ({:.0}°)", joint.to, joint.degrees),
            part => format!("{} ({part} {:.0}°)", joint.to, joint.degrees),
        });
        let drivers: Vec<String> = joints.chain(shape.channels.iter().cloned()).collect();
        let left = shape.left.map_or(String::new(), |left| format!(", {} left in its pose", show_length(left, unit)));
        ui.print(&format!(
            "  {:<24} driven by {}; moves {} vertices by up to {}{left}",
            shape.name,
            drivers.join(", "),
            shape.vertices,
            show_length(shape.largest, unit),
        ));
    }
}

/// The worst frames of a set with what is known about them.
pub fn frames(ui: &Ui, scores: &Scores, unit: &LengthUnit, most: usize) {
    let mut order: Vec<usize> = (0..scores.model.per_pose.len()).collect();
    order.sort_by(|&a, &b| scores.model.per_pose[b].rms.total_cmp(&scores.model.per_pose[a].rms));
    ui.print("worst frames:");
    for at in order.into_iter().take(most) {
        let (pose, frame) = (&scores.model.per_pose[at], &scores.frames[at]);
        let far = frame
            .distance
            .as_ref()
            .map_or(String::new(), |(degrees, joint)| format!("; {joint} is {degrees:.0}° from training"));
        ui.print(&format!(
            "  {:<24.60} rms {:>9}, max {:>9} at vertex {}{far}",
            pose.label,
            show_length(pose.rms, unit),
            show_length(pose.max, unit),
            pose.worst_vertex
        ));
    }
}

/// Words in lines of at most a hundred characters, indented but for the first.
pub fn wrapped(ui: &Ui, title: &str, items: &[String]) {
    let mut line = format!("{title}:");
    for (at, item) in items.iter().enumerate() {
        let end = if at + 1 < items.len() { ";" } else { "" };
        if line.chars().count() + item.chars().count() > 98 {
            ui.print(&line);
            line = " ".into();
        }
        line += &format!(" {item}{end}");
    }
    ui.print(&line);
}

/// What was read. A file that serves twice is remarked upon once.
pub fn files(ui: &Ui, notes: &[FileNote]) {
    let mut said = HashSet::new();
    for note in notes {
        if ui.verbose {
            ui.note(&format!("{:<10} {} ({} bytes, sha256 {}…)", note.role, note.path, note.bytes, note.hash));
        }
        for remark in &note.remarks {
            if (ui.verbose || !remark.ends_with("examples")) && said.insert((&note.path, remark)) {
                ui.note(&format!("  {}: {remark}", note.path));
            }
        }
    }
}

/// The bench.
pub fn rows(ui: &Ui, rows: &[Row], unit: &LengthUnit) {
    rows.first().iter().for_each(|row| bench_heading(ui, row.role, unit));
    rows.iter().for_each(|row| bench_row(ui, row, unit));
    recommended(ui, rows);
}

/// The width of the column of errors on what the fits did not see.
fn unseen_width(role: SetRole) -> usize {
    role.name().len().max(10)
}

/// What the columns of the bench are.
pub fn bench_heading(ui: &Ui, role: SetRole, unit: &LengthUnit) {
    let title = format!("rms in {}", unit.name);
    ui.print(&format!(
        "{:<18} {:>10} {:>width$} {:>10} {:>6} {:>10} {:>8} {:>13}",
        title,
        "train",
        role.name(),
        "max",
        "ratio",
        "model",
        "fit",
        "Mvertices/s",
        width = unseen_width(role)
    ));
}

/// A method of the bench.
pub fn bench_row(ui: &Ui, row: &Row, unit: &LengthUnit) {
    let unseen = row.unseen.as_ref();
    let number = |of: fn(&ErrorStats) -> f64| unseen.map(|scores| show_number(of(&scores.model.error), unit));
    let ratio = unseen.and_then(Scores::ratio).map_or_else(|| "–".into(), |r| format!("{r:.2}"));
    ui.print(&format!(
        "{:<18} {:>10} {:>width$} {:>10} {:>6} {:>7.2} MB {:>6.2} s {:>13.1}",
        row.method,
        show_number(row.train.model.error.rms, unit),
        number(|error| error.rms).as_deref().unwrap_or("not validated"),
        number(|error| error.max).as_deref().unwrap_or("–"),
        ratio,
        row.bytes as f64 / 1e6,
        row.seconds,
        row.vertices_per_second / 1e6,
        width = unseen_width(row.role),
    ));
}

/// The method to take.
pub fn recommended(ui: &Ui, rows: &[Row]) {
    if let Some((row, reason)) = recommend(rows) {
        ui.print(&format!("recommended: {} ({reason})", row.method));
    }
}

/// What a stress test found.
pub fn stress(ui: &Ui, stress: &Stress, unit: &LengthUnit) {
    let poses = stress.levels.first().map_or(0, |level| level.poses);
    ui.print(&format!(
        "stress: {poses} random poses at each angle, all {} joints turned about their own places (seed {})",
        stress.joints, stress.seed
    ));
    ui.print(&format!(
        "{:<16} {:>11} {:>11} {:>19} {:>19} {:>13}",
        format!("lengths in {}", unit.name),
        "largest",
        "99 %",
        "held by the ball",
        "features limited",
        "not finite"
    ));
    for level in &stress.levels {
        ui.print(&format!(
            "{:<16} {:>11} {:>11} {:>17.2} % {:>17.1} % {:>13}",
            format!("turns to {:.0}°", level.degrees),
            show_number(level.largest, unit),
            show_number(level.p99, unit),
            100.0 * level.held,
            100.0 * level.limited,
            level.not_finite
        ));
    }
    if stress.bound == Bound::Ball {
        ui.print(&format!(
            "largest bound {}; largest excess over a vertex's own bound {} ({:.0e} of the diagonal; rounding may take 1e-6)",
            show_length(stress.largest_radius, unit),
            show_length(stress.excess(), unit),
            stress.relative_excess()
        ));
    }
    ui.print(&stress.verdict());
}

/// A learning curve: a row per number of poses, a column per method, in blocks that fit a terminal.
pub fn curve(ui: &Ui, curve: &Curve, unit: &LengthUnit) {
    let points = &curve.points;
    /// Columns beside each other at most: 13 + 5 · 17 characters.
    const COLUMNS: usize = 5;
    let mut methods: Vec<&str> = Vec::new();
    for point in points {
        if !methods.contains(&point.method.as_str()) {
            methods.push(&point.method);
        }
    }
    ui.print(&format!("held-out rms in {}, in brackets over that of the rig's own weights", unit.name));
    let mut counts: Vec<usize> = points.iter().map(|p| p.poses).collect();
    counts.dedup();
    for block in methods.chunks(COLUMNS) {
        let header: String = block.iter().map(|name| format!("{name:>17}")).collect();
        ui.print(&format!("{:<10}{header}", "poses"));
        for &count in &counts {
            let cell = |name: &&str| {
                let point = points.iter().find(|p| p.poses == count && p.method == *name);
                let text = point.map_or(String::new(), |p| {
                    let ratio = p.ratio().map_or(String::new(), |r| format!(" ({r:.2})"));
                    format!("{}{ratio}", show_number(p.rms(), unit))
                });
                format!("{text:>17}")
            };
            ui.print(&format!("{count:<10}{}", block.iter().map(cell).collect::<String>()));
        }
    }
    ui.print(&curve.choice);
}

/// What a fit took.
pub fn memory(memory: &Memory) -> String {
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let peak = memory.peak.map_or_else(|| "unknown".into(), mib);
    format!("memory: peak {peak}; examples {} in 32 bits, model {}", mib(memory.examples), mib(memory.model))
}
