//! Where in a scene something stands: `controls.seconds.keys[2]`.

use std::fmt;

/// A step from a value of a scene into what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry by its key.
    Key(String),
    /// An element of a list, from zero.
    At(usize),
}

/// The way from a scene to one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

impl KeyPath {
    /// The scene itself.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key below this one.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Step::Key(key.into()))
    }

    /// An element of the list here, from zero.
    #[must_use]
    pub fn at(&self, at: usize) -> Self {
        self.with(Step::At(at))
    }

    /// The steps, from the scene on.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::At(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_it_is_written_in_code() {
        let path = KeyPath::new().key("controls").key("seconds").key("keys").at(2);
        assert_eq!(path.to_string(), "controls.seconds.keys[2]");
        assert_eq!(path.steps().len(), 4);
    }
}
