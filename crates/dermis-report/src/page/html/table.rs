//! Tables of the page.

use super::escape;
use crate::length::LengthUnit;
use crate::page::quantity::Quantity;
use std::fmt::Write as _;

/// One cell of a table.
pub(super) struct Cell {
    pub(super) html: String,
    pub(super) flush: Flush,
    /// The number by which the table sorts it.
    pub(super) key: Option<f64>,
}

impl Cell {
    /// Words.
    pub(super) fn text(text: &str) -> Self {
        Self { html: escape(text), flush: Flush::Left, key: None }
    }

    /// A quantity with its unit.
    pub(super) fn value(value: &Quantity, unit: &LengthUnit) -> Self {
        Self {
            html: escape(&value.with_unit(unit)),
            flush: if value.is_number() { Flush::Right } else { Flush::Left },
            key: value.sort_key(),
        }
    }

    /// A quantity without its unit, which stands in the head of the column.
    pub(super) fn bare(value: &Quantity, unit: &LengthUnit) -> Self {
        let (number, _) = value.written(unit);
        Self { html: escape(&number), flush: Flush::Right, key: value.sort_key() }
    }

    /// HTML that is escaped already.
    pub(super) fn html(html: String) -> Self {
        Self { html, flush: Flush::Left, key: None }
    }
}

/// The side to which a cell is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    Left,
    /// As numbers are.
    Right,
}

/// Whether the reader can sort the table by its columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Yes,
    No,
}

/// Writes a table; `extra` goes into its tag. The page's script makes buttons of the heads of sortable tables.
pub(super) fn table<H: AsRef<str>>(extra: &str, heads: &[H], rows: Vec<Vec<Cell>>, sort: Sort) -> String {
    let sortable = if sort == Sort::Yes { " data-sortable" } else { "" };
    let is_number = |row: &Vec<Cell>, column: usize| row.get(column).is_some_and(|cell| cell.flush == Flush::Right);
    let numeric: Vec<bool> = (0..heads.len()).map(|column| rows.iter().any(|row| is_number(row, column))).collect();
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table{sortable}{extra}><thead><tr>"
    );
    for (column, head) in heads.iter().enumerate() {
        let class = if numeric[column] { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head.as_ref()));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &rows {
        out.push_str("<tr>");
        for column in 0..heads.len() {
            let Some(cell) = row.get(column) else {
                out.push_str("<td></td>");
                continue;
            };
            // Words among numbers stand where the numbers do.
            let right = cell.flush == Flush::Right || (column > 0 && numeric[column]);
            let class = if right { " class=\"n\"" } else { "" };
            let key = cell.key.map(|key| format!(" data-key=\"{key}\"")).unwrap_or_default();
            let _ = write!(out, "<td{class}{key}>{}</td>", cell.html);
        }
        out.push_str("</tr>");
    }
    out + "</tbody></table></div>"
}
