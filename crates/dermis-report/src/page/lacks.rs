//! What training lacks for a motion, as a table.

use super::{PageTable, Quantity};

/// The skin that a joint moves most: what training lacks there.
#[derive(Clone, Debug)]
pub struct LacksRow {
    /// The joint.
    pub joint: String,
    /// Its part of the expected squared error, 0..=1.
    pub share: f64,
    /// How far joints go beyond training, a phrase each.
    pub beyond: Vec<String>,
    /// The poses to sculpt, in one phrase.
    pub to_sculpt: Option<String>,
}

/// Returns what training lacks as a table of the report.
pub fn lacks_table(rows: impl Iterator<Item = LacksRow>) -> PageTable {
    let row = |row: LacksRow| {
        vec![
            Quantity::Text(row.joint),
            Quantity::Share(row.share as f32),
            Quantity::Text(row.beyond.join("; ")),
            row.to_sculpt.map_or(Quantity::Text(String::new()), Quantity::Text),
        ]
    };
    PageTable {
        title: "What training lacks".into(),
        note: "By the joint that moves the skin most: its part of the squared error that these poses are expected to have, where they \
               take joints beyond training, and the rms error expected there after sculpting one, two and three of them. Expected from \
               poses alone, not measured"
            .into(),
        columns: ["skin of", "expected error", "joints", "to sculpt"].map(String::from).to_vec(),
        rows: rows.map(row).collect(),
    }
}
