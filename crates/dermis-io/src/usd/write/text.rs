//! The text of a stage: prims within prims, each with metadata and attributes.
//!
//! Source: Pixar, "USD File Format Specifications: usda" and the grammar of its parser. Numbers have the fewest digits that give them
//! back, so the same scene gives the same bytes.

use crate::WriteError;
use std::fmt::Write;

/// How many bits a number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Single,
    Double,
}

/// A stage in the making.
#[derive(Default)]
pub(super) struct Text {
    made: String,
    depth: usize,
    /// The first attribute with a number that is not finite.
    bad: Option<String>,
}

impl Text {
    /// The whole text.
    ///
    /// # Errors
    /// [`WriteError::NotFinite`] if a number of it is not.
    pub(super) fn finish(self) -> Result<String, WriteError> {
        match self.bad {
            Some(what) => Err(WriteError::NotFinite { what: format!("a number of \"{what}\"") }),
            None => Ok(self.made),
        }
    }

    /// A line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.indent();
        self.made.push_str(line);
        self.made.push('\n');
    }

    /// Begins a prim.
    ///
    /// - `metadata`: a line each
    pub(super) fn open(&mut self, kind: &str, name: &str, metadata: &[String]) {
        match metadata.is_empty() {
            true => self.line(&format!("def {kind} \"{name}\"")),
            false => {
                self.line(&format!("def {kind} \"{name}\" ("));
                self.block(metadata);
            }
        }
        self.begin();
    }

    /// What stands in a round bracket, whose first line is written already.
    pub(super) fn block(&mut self, lines: &[String]) {
        self.depth += 1;
        lines.iter().for_each(|line| self.line(line));
        self.depth -= 1;
        self.line(")");
    }

    /// An opening brace.
    pub(super) fn begin(&mut self) {
        self.line("{");
        self.depth += 1;
    }

    /// Ends what [`Text::begin`] began.
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// An attribute that is a list of tuples, or of numbers where a tuple has one.
    ///
    /// - `metadata`: a line each
    pub(super) fn tuples<const N: usize>(
        &mut self,
        declaration: &str,
        values: impl IntoIterator<Item = [f64; N]>,
        number: Number,
        metadata: &[&str],
    ) {
        self.declare(declaration);
        self.list(values, number, declaration);
        self.end(metadata);
    }

    /// An attribute that is a list of whole numbers.
    pub(super) fn integers(&mut self, declaration: &str, values: impl IntoIterator<Item = usize>, metadata: &[&str]) {
        self.declare(declaration);
        self.separated(values, |text, value| {
            let _ = write!(text.made, "{value}"); // a string takes all
        });
        self.end(metadata);
    }

    /// An attribute that is a list of texts.
    pub(super) fn texts<'a>(&mut self, declaration: &str, values: impl IntoIterator<Item = &'a str>) {
        self.declare(declaration);
        self.separated(values, |text, value| text.made.push_str(&quoted(value)));
        self.end(&[]);
    }

    /// An attribute that is a list of paths.
    pub(super) fn paths<'a>(&mut self, declaration: &str, values: impl IntoIterator<Item = &'a str>) {
        self.declare(declaration);
        self.separated(values, |text, value| {
            let _ = write!(text.made, "<{value}>");
        });
        self.end(&[]);
    }

    /// An attribute that is a list of matrices, whose columns stand as rows.
    pub(super) fn matrices(&mut self, declaration: &str, values: impl IntoIterator<Item = [[f64; 4]; 4]>) {
        self.declare(declaration);
        self.separated(values, |text, value| {
            text.made.push('(');
            for (at, column) in value.into_iter().enumerate() {
                text.made.push_str(if at == 0 { "" } else { ", " });
                text.tuple(column, Number::Double, declaration);
            }
            text.made.push(')');
        });
        self.end(&[]);
    }

    /// An attribute that is one tuple or one number.
    pub(super) fn value<const N: usize>(&mut self, declaration: &str, value: [f64; N], number: Number) {
        self.declare(declaration);
        self.tuple(value, number, declaration);
        self.end(&[]);
    }

    /// An attribute that is a list of tuples at every time; one that stays the same has it once.
    ///
    /// - `frames`: one list for each of `times`
    pub(super) fn samples<const N: usize>(
        &mut self,
        declaration: &str,
        times: &[f64],
        frames: &[Vec<[f64; N]>],
        metadata: &[&str],
    ) {
        if let Some(first) = frames.first().filter(|first| frames.iter().all(|frame| frame == *first)) {
            return self.tuples(declaration, first.iter().copied(), Number::Single, metadata);
        }
        if !metadata.is_empty() {
            self.indent();
            self.made.push_str(declaration);
            self.end(metadata);
        }
        self.time_samples(declaration, times, frames);
    }

    /// A frame for every time, whatever holds without one.
    pub(super) fn time_samples<const N: usize>(&mut self, declaration: &str, times: &[f64], frames: &[Vec<[f64; N]>]) {
        self.line(&format!("{declaration}.timeSamples = {{"));
        self.depth += 1;
        for (time, frame) in times.iter().zip(frames) {
            self.indent();
            self.number(*time, Number::Double, declaration);
            self.made.push_str(": ");
            self.list(frame.iter().copied(), Number::Single, declaration);
            self.made.push_str(",\n");
        }
        self.close();
    }

    fn list<const N: usize>(&mut self, values: impl IntoIterator<Item = [f64; N]>, number: Number, of: &str) {
        self.separated(values, |text, value| text.tuple(value, number, of));
    }

    fn separated<T>(&mut self, values: impl IntoIterator<Item = T>, put: impl Fn(&mut Self, T)) {
        self.made.push('[');
        for (at, value) in values.into_iter().enumerate() {
            self.made.push_str(if at == 0 { "" } else { ", " });
            put(self, value);
        }
        self.made.push(']');
    }

    fn tuple<const N: usize>(&mut self, value: [f64; N], number: Number, of: &str) {
        self.made.push_str(if N == 1 { "" } else { "(" });
        for (at, x) in value.into_iter().enumerate() {
            self.made.push_str(if at == 0 { "" } else { ", " });
            self.number(x, number, of);
        }
        self.made.push_str(if N == 1 { "" } else { ")" });
    }

    fn number(&mut self, x: f64, number: Number, of: &str) {
        let start = self.made.len();
        // A string takes all. There is no negative zero.
        let _ = match number {
            Number::Single => write!(self.made, "{:?}", x as f32 + 0.0),
            Number::Double => write!(self.made, "{:?}", x + 0.0),
        };
        if self.made[start..].ends_with(".0") {
            self.made.truncate(self.made.len() - 2);
        }
        let is_finite = if number == Number::Single { (x as f32).is_finite() } else { x.is_finite() };
        if !is_finite && self.bad.is_none() {
            self.bad = Some(of.to_owned());
        }
    }

    fn declare(&mut self, declaration: &str) {
        self.indent();
        self.made.push_str(declaration);
        self.made.push_str(" = ");
    }

    fn end(&mut self, metadata: &[&str]) {
        if metadata.is_empty() {
            return self.made.push('\n');
        }
        self.made.push_str(" (\n");
        self.block(&metadata.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    }

    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.made.push_str("    ");
        }
    }
}

/// A text in quotation marks.
pub(super) fn quoted(text: &str) -> String {
    let mut made = String::with_capacity(text.len() + 2);
    made.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => made.extend(['\\', c]),
            '\n' => made.push_str("\\n"),
            '\r' => made.push_str("\\r"),
            '\t' => made.push_str("\\t"),
            '\0' => {}
            c if c.is_ascii_control() => {
                let _ = write!(made, "\\x{:02x}", u32::from(c));
            }
            c => made.push(c),
        }
    }
    made.push('"');
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_give_them_back() {
        let mut text = Text::default();
        text.tuples("float[] a", [0.1, -0.0, 3.0, 1e-9, 16_777_216.0, 1e20].map(|x| [x]), Number::Single, &[]);
        text.value("double b", [0.1 + 0.2], Number::Double);
        assert_eq!(
            text.finish().unwrap(),
            "float[] a = [0.1, 0, 3, 1e-9, 16777216, 1e20]\ndouble b = 0.30000000000000004\n"
        );
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for (number, x) in [(Number::Single, 1e39), (Number::Double, f64::NAN), (Number::Single, f64::INFINITY)] {
            let mut text = Text::default();
            text.value("float a", [x], number);
            assert!(matches!(text.finish(), Err(WriteError::NotFinite { .. })), "{x}");
        }
    }

    #[test]
    fn texts_keep_their_marks() {
        assert_eq!(quoted("a\"b\\c\n\u{1}骨"), "\"a\\\"b\\\\c\\n\\x01骨\"");
    }
}
