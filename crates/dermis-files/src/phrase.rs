//! Text that names settings and verbs as data, so that the program and Python each write them in their own way.

use std::borrow::Cow;

/// A message, or what to do about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrase(Vec<Part>);

/// One part of a [`Phrase`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text, the same everywhere.
    Text(Cow<'static, str>),
    /// A setting by its name in recipes, with the value that it should have or has; `true` of a switch.
    Setting(Cow<'static, str>, Option<Cow<'static, str>>),
    /// A verb, named to be run.
    Verb(Cow<'static, str>),
}

impl Phrase {
    /// Text alone, whatever stands in it.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// A setting, and what is said of it.
    pub fn of_setting(name: &'static str, said: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Setting(name.into(), None), Part::Text(said.into())])
    }

    /// A setting with a value, and what is said of it.
    pub fn of_value(name: &'static str, value: impl ToString, said: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Setting(name.into(), Some(value.to_string().into())), Part::Text(said.into())])
    }

    /// This phrase and then another one.
    pub fn then(mut self, next: Self) -> Self {
        self.0.extend(next.0);
        self
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        !self.0.iter().any(|part| !matches!(part, Part::Text(text) if text.is_empty()))
    }

    /// The phrase as text; `written` gives settings and verbs.
    pub fn written(&self, written: impl Fn(&Part) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.to_string(),
            other => written(other),
        };
        self.0.iter().map(part).collect()
    }
}

impl From<Cow<'static, str>> for Phrase {
    /// Reads our own texts: `` `setting` ``, `` `setting=value` `` and `` `dermis verb` `` stand in backquotes.
    fn from(text: Cow<'static, str>) -> Self {
        let part = |(at, part): (usize, &str)| match (at % 2, part.strip_prefix("dermis "), part.split_once('=')) {
            (0, ..) => Part::Text(part.to_owned().into()),
            (_, Some(verb), _) => Part::Verb(verb.to_owned().into()),
            (_, _, Some((name, value))) => Part::Setting(name.to_owned().into(), Some(value.to_owned().into())),
            _ => Part::Setting(part.to_owned().into(), None),
        };
        let parts = text.split('`').enumerate().map(part);
        Self(parts.filter(|part| !matches!(part, Part::Text(text) if text.is_empty())).collect())
    }
}

impl From<&'static str> for Phrase {
    fn from(text: &'static str) -> Self {
        Cow::Borrowed(text).into()
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Self {
        Cow::<'static, str>::Owned(text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_verbs_of_a_text_are_data() {
        let read = Phrase::from("use `anchor=root`, or `dermis weights` `heat=true`; lower `fps`");
        let written = read.written(|part| match part {
            Part::Text(text) => text.to_string(),
            Part::Setting(name, value) => format!("<{name}:{}>", value.as_deref().unwrap_or("-")),
            Part::Verb(verb) => format!("<{verb}!>"),
        });
        assert_eq!(written, "use <anchor:root>, or <weights!> <heat:true>; lower <fps:->");
        assert!(Phrase::from("").is_empty());
        // A message may hold a name that the user chose.
        assert_eq!(Phrase::text("\"a`b`c\"").written(|_| "no".into()), "\"a`b`c\"");
    }
}
