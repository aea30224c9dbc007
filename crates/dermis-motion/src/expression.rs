//! Expressions: a number as a function of other numbers, from a text such as `0.3 * sin(2 * pi * t) + wind`.
//!
//! Texts are parsed and evaluated by the crate `fasteval3`, which has no loops, no memory and no way out: an expression ends after as
//! many steps as it has letters. A text has at most [`MOST_LETTERS`] letters, nested at most 32 deep.
//!
//! | | |
//! |---|---|
//! | operators, tightest first | `^` `%` `/` `*` `-` `+`, comparisons (`<` `<=` `==` `!=` `>=` `>`), `&&`, `\|\|`; `!x` and `-x` |
//! | functions of numbers | `abs ceil floor int round sign min max log ln exp sqrt` (`log` has base 10) |
//! | of angles, radians | `sin cos tan asin acos atan atan2(y, x) sinh cosh tanh asinh acosh atanh`; `rad(degrees)` and `deg(radians)` |
//! | of ranges | `clamp(x, low, high)`, `mix(a, b, s)`, `smoothstep(low, high, x)`, `fract(x)`, `if(condition, a, b)` |
//! | [`noise`] | `noise(x, seed)`, smooth, in −1..1 |
//! | constants | `pi`, `e` |

use crate::noise::noise;
use fasteval3::{EvalNamespace, Evaler, ExpressionI, Parser, Slab};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The longest text.
pub const MOST_LETTERS: usize = 4096;

/// Functions beside those of the parser, with the number of their arguments.
const FUNCTIONS: [(&str, usize); 12] = [
    ("noise", 2),
    ("clamp", 3),
    ("mix", 3),
    ("smoothstep", 3),
    ("fract", 1),
    ("if", 3),
    ("atan2", 2),
    ("sqrt", 1),
    ("exp", 1),
    ("ln", 1),
    ("rad", 1),
    ("deg", 1),
];

/// Words of the parser itself.
const BUILT_IN: [&str; 25] = [
    "abs", "ceil", "floor", "int", "round", "sign", "min", "max", "log", "e", "pi", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "print", "eval",
];

/// Why a text is no expression, or one has no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpressionFault {
    /// The parser's reason.
    #[error("\"{text:.80}\" is no expression: {reason}")]
    Syntax {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A function with another number of arguments.
    #[error("{name} takes {takes} numbers in parentheses")]
    Arguments {
        /// The function.
        name: String,
        /// How many it takes.
        takes: usize,
    },
    /// A name that nothing has.
    #[error("nothing is called \"{name:.80}\" here; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Names that may be used.
        known: String,
    },
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    parsed: Arc<(Slab, ExpressionI)>,
    names: BTreeSet<String>,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Whether a control may have this name: a word of letters, digits and underscores that expressions have no other use for.
pub fn is_free_name(name: &str) -> bool {
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    let used = BUILT_IN.contains(&name) || FUNCTIONS.iter().any(|(function, _)| *function == name);
    word && !used && !["t", "i", "n", "x", "y", "z"].contains(&name)
}

impl Expression {
    /// Parses a text.
    ///
    /// # Errors
    /// [`ExpressionFault::Syntax`] and [`ExpressionFault::Arguments`].
    pub fn new(text: &str) -> Result<Self, ExpressionFault> {
        let fault = |reason: String| ExpressionFault::Syntax { text: text.into(), reason };
        if text.len() > MOST_LETTERS {
            return Err(fault(format!("it has {} letters; {MOST_LETTERS} are the most", text.len())));
        }
        // What the parser counts as a node has a letter at least.
        let mut slab = Slab::with_capacity(text.len() + 1);
        let expression = Parser::new().parse(text, &mut slab.ps).map_err(|e| fault(reason(&e)))?;
        // `print` would write to the terminal; no other expression holds a quotation mark.
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        if text.contains('"') || words.into_iter().any(|word| word == "print") {
            return Err(fault("print is no function here".into()));
        }
        let names = expression.from(&slab.ps).var_names(&slab);
        let parsed = Self { text: text.into(), parsed: Arc::new((slab, expression)), names };
        // Every call stands in the text as it is, so a run with any numbers meets functions with the wrong number of arguments.
        match parsed.evaluate(&|_| Some(0.5)) {
            Err(fault @ ExpressionFault::Arguments { .. }) => Err(fault),
            _ => Ok(parsed),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names whose values it needs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let own = |name: &&str| *name != "pi" && *name != "e" && !FUNCTIONS.iter().any(|(known, _)| known == name);
        self.names.iter().map(String::as_str).filter(own)
    }

    /// Its value, with the values of names.
    ///
    /// # Errors
    /// [`ExpressionFault`] for a name that has no value. The value itself may be NaN or infinite.
    pub fn evaluate(&self, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExpressionFault> {
        let (slab, expression) = &*self.parsed;
        let mut scope = Scope { value_of, wrong: None };
        let value = expression.from(&slab.ps).eval(slab, &mut scope);
        match (scope.wrong, value) {
            (Some(fault), _) => Err(fault),
            (None, Ok(value)) => Ok(value),
            (None, Err(fasteval3::Error::Undefined(name))) => {
                Err(ExpressionFault::Unknown { name, known: String::from("those that the scene names") })
            }
            (None, Err(error)) => Err(ExpressionFault::Syntax { text: self.text.clone(), reason: reason(&error) }),
        }
    }
}

struct Scope<'a> {
    value_of: &'a dyn Fn(&str) -> Option<f64>,
    wrong: Option<ExpressionFault>,
}

impl EvalNamespace for Scope<'_> {
    fn lookup(&mut self, name: &str, args: Vec<f64>, _: &mut String) -> Option<f64> {
        let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
        if let Some((_, takes)) = function.filter(|(_, takes)| *takes != args.len()) {
            self.wrong.get_or_insert(ExpressionFault::Arguments { name: name.into(), takes: *takes });
            return Some(0.0);
        }
        match (name, args.as_slice()) {
            ("noise", &[x, seed]) => Some(noise(x, seed)),
            ("clamp", &[x, low, high]) => Some(x.max(low).min(high)),
            ("mix", &[a, b, s]) => Some(a + (b - a) * s),
            ("smoothstep", &[low, high, x]) => {
                let s = if high == low {
                    f64::from(u8::from(x >= low))
                } else {
                    ((x - low) / (high - low)).clamp(0.0, 1.0)
                };
                Some(s * s * (3.0 - 2.0 * s))
            }
            ("fract", &[x]) => Some(x - x.floor()),
            ("if", &[condition, yes, no]) => Some(if condition != 0.0 { yes } else { no }),
            ("atan2", &[y, x]) => Some(y.atan2(x)),
            ("sqrt", &[x]) => Some(x.sqrt()),
            ("exp", &[x]) => Some(x.exp()),
            ("ln", &[x]) => Some(x.ln()),
            ("rad", &[x]) => Some(x.to_radians()),
            ("deg", &[x]) => Some(x.to_degrees()),
            ("pi", []) => Some(std::f64::consts::PI),
            ("e", []) => Some(std::f64::consts::E),
            (name, []) => (self.value_of)(name),
            _ => None,
        }
    }
}

fn reason(error: &fasteval3::Error) -> String {
    use fasteval3::Error;
    let short = |text: &str| text.chars().take(60).collect::<String>();
    match error {
        Error::EOF | Error::EofWhileParsing(_) => "it ends too early".into(),
        Error::TooLong => format!("it has more than {MOST_LETTERS} letters"),
        Error::TooDeep | Error::SlabOverflow => "it is nested too deeply; 32 levels are the most".into(),
        Error::UnparsedTokensRemaining(rest) => format!("\"{}\" cannot stand there", short(rest)),
        Error::InvalidValue => "a number, a name or a parenthesis is missing".into(),
        Error::ParseF64(text) => format!("\"{}\" is no number", short(text)),
        Error::Expected(what) => format!("{} is expected", short(what)),
        Error::WrongArgs(what) => format!("wrong numbers in parentheses: {}", short(what)),
        Error::Undefined(name) => format!("nothing is called \"{}\"", short(name)),
        other => format!("{other:?}").chars().take(80).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let scope = |name: &str| [("t", 2.0), ("wind", 0.5)].into_iter().find(|(n, _)| *n == name).map(|(_, v)| v);
        Expression::new(text).unwrap().evaluate(&scope).unwrap()
    }

    #[test]
    fn arithmetic_is_that_of_school() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("-t ^ 2", 4.0),
            ("10 - 4 - 3", 3.0),
            ("12 / 3 / 2", 2.0),
            ("7 % 4", 3.0),
            ("t > 1 && wind < 1", 1.0),
            ("if(t >= 2, 5, 6)", 5.0),
            ("clamp(t, 0, 1) + clamp(-t, 0, 1)", 1.0),
            ("sin(pi / 2) + cos(pi) + e - e", 0.0),
            ("mix(1, 3, wind)", 2.0),
            ("smoothstep(0, 1, wind)", 0.5),
            ("fract(-0.25) + sqrt(16) + ln(exp(2)) + atan2(0, 1)", 6.75),
            ("deg(rad(90))", 90.0),
            ("max(1, wind, t) + min(3, t)", 4.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text} is {}", value(text));
        }
        assert_eq!(value("noise(t + 0.3, 4)"), noise(2.3, 4.0));
    }

    #[test]
    fn what_is_no_expression_is_said() {
        for (text, says) in [
            ("1 +", "too early"),
            ("", "too early"),
            ("2 * (3", "too early"),
            ("1 2", "cannot stand there"),
            ("noise(1)", "noise takes 2 numbers"),
            ("clamp(1, 2)", "clamp takes 3 numbers"),
            ("print(1)", "no function"),
            ("print(\"x\", 1)", "no function"),
            (&"(".repeat(200), "nested too deeply"),
            (&"-".repeat(200), "nested too deeply"),
            (&"1+".repeat(3000), "letters"),
        ] {
            let fault = Expression::new(text).map(|_| ()).unwrap_err().to_string();
            assert!(fault.contains(says), "{text:.40}: {fault}");
        }
        let unknown = Expression::new("gust + 1").unwrap();
        assert_eq!(unknown.names().collect::<Vec<_>>(), ["gust"]);
        assert!(unknown.evaluate(&|_| None).is_err());
    }

    #[test]
    fn names_are_those_of_values_alone() {
        let expression = Expression::new("noise(wind_x * pi, 3) + sin(t) + b2").unwrap();
        assert_eq!(expression.names().collect::<Vec<_>>(), ["b2", "t", "wind_x"]);
        assert!(is_free_name("wind_2") && !is_free_name("2wind") && !is_free_name("sin") && !is_free_name("t"));
        assert!(!is_free_name("") && !is_free_name("a.b") && !is_free_name("noise"));
    }
}
