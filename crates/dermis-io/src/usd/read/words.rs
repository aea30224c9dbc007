//! The words of a text layer.

use super::budget::Budget;
use super::damaged;
use super::layer::Name;
use crate::contents::ReadError;
use std::collections::HashSet;

/// Where a text is read.
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    known: HashSet<Name>,
    budget: &'a Budget,
}

impl<'a> Words<'a> {
    pub fn new(bytes: &'a [u8], budget: &'a Budget) -> Self {
        Self { bytes, at: 0, known: HashSet::new(), budget }
    }

    /// The line that is read, from 1.
    pub fn line(&self) -> usize {
        1 + self.bytes[..self.at.min(self.bytes.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    /// One copy of a name.
    pub fn intern(&mut self, name: &str) -> Name {
        if let Some(known) = self.known.get(name) {
            return Name::clone(known);
        }
        let made: Name = name.into();
        self.known.insert(Name::clone(&made));
        made
    }

    pub fn skip_line(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
            self.at += 1;
        }
    }

    /// Passes over spaces and comments.
    fn blank(&mut self) {
        loop {
            match self.bytes.get(self.at..).unwrap_or_default() {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => self.at += 1,
                [b'#', ..] | [b'/', b'/', ..] => self.skip_line(),
                [b'/', b'*', rest @ ..] => {
                    let end = rest.windows(2).position(|pair| pair == b"*/");
                    self.at += 2 + end.map_or(rest.len(), |end| end + 2);
                }
                _ => return,
            }
        }
    }

    pub fn is_end(&mut self) -> bool {
        self.blank();
        self.at >= self.bytes.len()
    }

    /// The next byte that is no space.
    pub fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.bytes.get(self.at).copied()
    }

    /// Passes over `byte` if it comes next.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub fn need(&mut self, byte: u8) -> Result<(), ReadError> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("'{}'", byte as char))),
        }
    }

    fn unexpected(&mut self, expected: &str) -> ReadError {
        match self.peek() {
            Some(byte) => damaged(format!("'{}' where {expected} is expected", byte.escape_ascii())),
            None => damaged(format!("it ends where {expected} is expected")),
        }
    }

    /// A name, with its namespaces and what follows a dot.
    pub fn word(&mut self) -> Result<String, ReadError> {
        self.blank();
        let from = self.at;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.') || *byte >= 0x80;
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        match self.at > from {
            true => Ok(String::from_utf8_lossy(&self.bytes[from..self.at]).into_owned()),
            false => Err(self.unexpected("a name")),
        }
    }

    pub fn number(&mut self) -> Result<f64, ReadError> {
        self.blank();
        let from = self.at;
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[from..self.at]).unwrap_or_default();
        match text {
            "" => Err(self.unexpected("a number")),
            "true" | "True" => Ok(1.0),
            "false" | "False" => Ok(0.0),
            _ => text.parse().map_err(|_| damaged(format!("\"{text:.50}\" is no number"))),
        }
    }

    /// Any word, number or sign.
    pub fn any(&mut self) -> Result<(), ReadError> {
        self.blank();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.+-".contains(byte) || *byte >= 0x80;
        let from = self.at;
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        if self.at == from {
            if self.at >= self.bytes.len() {
                return Err(self.unexpected("a value"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A text in quotation marks, one or three of either kind.
    pub fn string(&mut self) -> Result<Name, ReadError> {
        let Some(mark @ (b'"' | b'\'')) = self.peek() else { return Err(self.unexpected("a text")) };
        let long = self.bytes[self.at..].starts_with(&[mark; 3]);
        let end: &[u8] = if long { &[mark; 3] } else { &[mark] };
        self.at += end.len();
        let mut text = Vec::new();
        loop {
            match self.bytes.get(self.at..).unwrap_or_default() {
                rest if rest.starts_with(end) => break,
                [b'\\', escaped, ..] => {
                    text.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        other => *other,
                    });
                    self.at += 2;
                }
                [b'\n', ..] if !long => return Err(damaged("a text without its end")),
                [byte, ..] => {
                    text.push(*byte);
                    self.at += 1;
                }
                [] => return Err(damaged("a text without its end")),
            }
        }
        self.at += end.len();
        self.budget.charge(text.len() + 48)?;
        Ok(self.intern(&String::from_utf8_lossy(&text)))
    }

    /// The name of a file between one @ and another, or between three and three.
    pub fn asset(&mut self) -> Result<Name, ReadError> {
        self.need(b'@')?;
        let long = self.bytes[self.at..].starts_with(b"@@");
        if long {
            self.at += 2;
        }
        let end: &[u8] = if long { b"@@@" } else { b"@" };
        let text = self.until(end)?;
        Ok(self.intern(&text))
    }

    /// What stands between < and >.
    pub fn path(&mut self) -> Result<String, ReadError> {
        self.need(b'<')?;
        self.until(b">")
    }

    fn until(&mut self, end: &[u8]) -> Result<String, ReadError> {
        let rest = &self.bytes[self.at..];
        let length = rest.windows(end.len()).position(|found| found == end);
        let length = length.ok_or_else(|| damaged(format!("no \"{}\" closes what was opened", end.escape_ascii())))?;
        self.at += length + end.len();
        self.budget.charge(length + 48)?;
        Ok(String::from_utf8_lossy(&rest[..length]).into_owned())
    }
}
