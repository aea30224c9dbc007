//! Controls: named numbers over time, by keys, by expressions of each other, or by maps from other controls.

use crate::curve::Curve;
use crate::expression::{Expression, ExpressionFault, is_free_name};
use crate::key_path::KeyPath;
use crate::map::Map;
use crate::scene::{Fault, SceneError};
use std::collections::HashMap;

/// A number over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The same number always.
    Number(f64),
    /// Keys.
    Curve(Curve),
    /// A function of time and of controls.
    Expression(Expression),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

/// A named number or vector. Expressions call the numbers of a vector of three `name_x`, `name_y` and `name_z`, those of others
/// `name_0`, `name_1` and so on.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// A word.
    pub name: String,
    /// One number, or those of a vector.
    pub numbers: Vec<Value>,
}

impl Control {
    /// The names of its numbers.
    pub fn names(&self) -> Vec<String> {
        let name = &self.name;
        match self.numbers.len() {
            1 => vec![name.clone()],
            3 => ["x", "y", "z"].map(|axis| format!("{name}_{axis}")).to_vec(),
            count => (0..count).map(|at| format!("{name}_{at}")).collect(),
        }
    }
}

/// Names beside the controls: the time, and where a bone that is driven with others stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its place among the bones that the pattern names, from zero.
    pub i: f64,
    /// How many the pattern names.
    pub n: f64,
    /// Its head at rest, metres.
    pub at: [f64; 3],
}

/// All controls and maps of a scene in an order in which every one comes after those that it needs.
#[derive(Debug)]
pub struct Controls {
    names: Vec<String>,
    places: HashMap<String, usize>,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// A number of a control goes to a place.
    Value(usize, Value, KeyPath),
    /// Numbers at places go through a map to others.
    Map(Vec<usize>, Map, Vec<usize>),
}

/// The numbers of all controls at one time.
#[derive(Clone, Debug)]
pub struct Numbers<'a> {
    controls: &'a Controls,
    time: f64,
    values: Vec<f64>,
}

/// What is computed as one, before it is put in order.
struct Node {
    makes: Vec<usize>,
    needs: Vec<usize>,
    step: Step,
    name: String,
}

impl Controls {
    /// Puts controls and maps in order.
    ///
    /// # Errors
    /// [`SceneError`]: names that are taken or no words, names that nothing has, controls that need themselves.
    pub fn new(controls: &[Control], maps: &[Map]) -> Result<Self, SceneError> {
        let mut made = Self { names: Vec::new(), places: HashMap::new(), steps: Vec::new() };
        let root = KeyPath::new();
        let (controls_at, maps_at) = (root.key("controls"), root.key("maps"));
        for control in controls {
            let path = controls_at.key(&control.name);
            if !is_free_name(&control.name) {
                return Err(SceneError::new(path, Fault::NoName(control.name.clone())));
            }
            for name in control.names() {
                made.name(name, &path)?;
            }
        }
        for (at, map) in maps.iter().enumerate() {
            for (place, name) in map.to.iter().enumerate() {
                let path = maps_at.at(at).key("to").at(place);
                if !is_free_name(name) {
                    return Err(SceneError::new(path, Fault::NoName(name.clone())));
                }
                made.name(name.clone(), &path)?;
            }
        }
        let mut nodes = Vec::new();
        for control in controls {
            let path = controls_at.key(&control.name);
            for (name, value) in control.names().into_iter().zip(&control.numbers) {
                let needs = made.needs(value, &path, &[])?;
                let place = made.places[&name];
                let step = Step::Value(place, value.clone(), path.clone());
                nodes.push(Node { makes: vec![place], needs, step, name: control.name.clone() });
            }
        }
        for (at, map) in maps.iter().enumerate() {
            let find = |(place, name): (usize, &String)| {
                let path = maps_at.at(at).key("from").at(place);
                made.places.get(name).copied().ok_or_else(|| SceneError::new(path, made.unknown(name)))
            };
            let from = map.from.iter().enumerate().map(find).collect::<Result<Vec<_>, _>>()?;
            let to: Vec<usize> = map.to.iter().map(|name| made.places[name]).collect();
            let step = Step::Map(from.clone(), map.clone(), to.clone());
            nodes.push(Node { makes: to, needs: from, step, name: map.to.join(", ") });
        }
        made.steps = in_order(nodes, made.names.len())?;
        Ok(made)
    }

    /// Checks that a value needs nothing but the time, controls, and the names in `beside`.
    ///
    /// # Errors
    /// [`SceneError`] with the name that nothing has.
    pub fn check(&self, value: &Value, path: &KeyPath, beside: &[&str]) -> Result<(), SceneError> {
        self.needs(value, path, beside).map(drop)
    }

    /// The numbers of all controls at a time, seconds.
    ///
    /// # Errors
    /// [`SceneError`] for a number that is not finite.
    pub fn at(&self, time: f64) -> Result<Numbers<'_>, SceneError> {
        let mut numbers = Numbers { controls: self, time, values: vec![0.0; self.names.len()] };
        for step in &self.steps {
            match step {
                Step::Value(place, value, path) => {
                    numbers.values[*place] = numbers.value(value, &Place::default(), path)?;
                }
                Step::Map(from, map, to) => {
                    let input: Vec<f64> = from.iter().map(|&place| numbers.values[place]).collect();
                    map.evaluate(&input).into_iter().zip(to).for_each(|(value, &place)| numbers.values[place] = value);
                }
            }
        }
        Ok(numbers)
    }

    fn name(&mut self, name: String, path: &KeyPath) -> Result<(), SceneError> {
        match self.places.insert(name.clone(), self.names.len()) {
            Some(_) => Err(SceneError::new(path.clone(), Fault::NameTaken(name))),
            None => {
                self.names.push(name);
                Ok(())
            }
        }
    }

    fn needs(&self, value: &Value, path: &KeyPath, beside: &[&str]) -> Result<Vec<usize>, SceneError> {
        let Value::Expression(expression) = value else { return Ok(Vec::new()) };
        let mut needs = Vec::new();
        for name in expression.names().filter(|name| *name != "t" && !beside.contains(name)) {
            match self.places.get(name) {
                Some(place) => needs.push(*place),
                None => return Err(SceneError::new(path.clone(), self.unknown(name))),
            }
        }
        Ok(needs)
    }

    fn unknown(&self, name: &str) -> Fault {
        /// As many as fit into a message.
        const SHOWN: usize = 12;
        let mut known = vec!["t"];
        known.extend(self.names.iter().take(SHOWN).map(String::as_str));
        let more = self.names.len().saturating_sub(SHOWN);
        let known = known.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() };
        Fault::Expression(ExpressionFault::Unknown { name: name.into(), known })
    }
}

impl Numbers<'_> {
    /// The time, seconds.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The number of a control by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.controls.places.get(name).map(|&place| self.values[place])
    }

    /// The names and numbers of all controls, those of the scene first and in its order.
    pub fn all(&self) -> impl Iterator<Item = (&str, f64)> {
        self.controls.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// A value at this time, at a place.
    ///
    /// # Errors
    /// [`SceneError`] with `path` for a value that is not finite.
    pub fn value(&self, value: &Value, place: &Place, path: &KeyPath) -> Result<f64, SceneError> {
        let number = match value {
            Value::Number(number) => *number,
            Value::Curve(curve) => curve.value(self.time),
            Value::Expression(expression) => {
                let find = |name: &str| match name {
                    "t" => Some(self.time),
                    "i" => Some(place.i),
                    "n" => Some(place.n),
                    "x" => Some(place.at[0]),
                    "y" => Some(place.at[1]),
                    "z" => Some(place.at[2]),
                    _ => self.get(name),
                };
                let value = expression.evaluate(&find);
                value.map_err(|fault| SceneError::new(path.clone(), Fault::Expression(fault)))?
            }
        };
        match number.is_finite() {
            true => Ok(number),
            false => Err(SceneError::new(path.clone(), Fault::NotFinite { time: self.time, value: number })),
        }
    }
}

/// The nodes so that each comes after those that make what it needs; of those that could come next, the first as given.
fn in_order(nodes: Vec<Node>, numbers: usize) -> Result<Vec<Step>, SceneError> {
    let mut makers = vec![usize::MAX; numbers];
    for (at, node) in nodes.iter().enumerate() {
        node.makes.iter().for_each(|&place| makers[place] = at);
    }
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        // A stack of its own: a chain of controls may be longer than the program's stack is deep.
        let mut open = vec![(start, 0)];
        while let Some((node, next)) = open.pop() {
            if marks[node] == Mark::Done {
                continue;
            }
            marks[node] = Mark::Open;
            let Some(need) = nodes[node].needs.get(next) else {
                marks[node] = Mark::Done;
                order.push(node);
                continue;
            };
            open.push((node, next + 1));
            let maker = makers[*need];
            match marks[maker] {
                Mark::Done => {}
                Mark::New => open.push((maker, 0)),
                Mark::Open => {
                    let from = open.iter().position(|(at, _)| *at == maker).unwrap_or(0);
                    let mut names: Vec<&str> = open[from..].iter().map(|(at, _)| nodes[*at].name.as_str()).collect();
                    names.push(&nodes[maker].name);
                    let path = match &nodes[maker].step {
                        Step::Value(_, _, path) => path.clone(),
                        Step::Map(..) => KeyPath::new().key("maps"),
                    };
                    return Err(SceneError::new(path, Fault::Cycle(names.join(" needs "))));
                }
            }
        }
    }
    let mut steps: Vec<Option<Step>> = nodes.into_iter().map(|node| Some(node.step)).collect();
    Ok(order.into_iter().filter_map(|node| steps[node].take()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{Beyond, Key};

    fn control(name: &str, texts: &[&str]) -> Control {
        let numbers = texts.iter().map(|text| Value::Expression(Expression::new(text).unwrap())).collect();
        Control { name: name.into(), numbers }
    }

    #[test]
    fn controls_are_computed_after_those_that_they_need() {
        let keys = [Key::new(0.0, 0.0), Key::new(10.0, 600.0)];
        let seconds = Value::Curve(Curve::new(&keys, Beyond::Hold, Beyond::Hold).unwrap());
        let controls = [
            control("hours", &["minutes / 60"]),
            control("minutes", &["seconds / 60 + wind_y"]),
            Control { name: "seconds".into(), numbers: vec![seconds] },
            control("wind", &["t", "0", "noise(t, 2)"]),
        ];
        let controls = Controls::new(&controls, &[]).unwrap();
        let at = controls.at(5.0).unwrap();
        assert_eq!((at.get("seconds"), at.get("minutes")), (Some(300.0), Some(5.0)));
        assert_eq!((at.get("hours"), at.get("wind_x"), at.get("wind")), (Some(5.0 / 60.0), Some(5.0), None));
    }

    #[test]
    fn a_control_that_needs_itself_is_named_with_the_way_round() {
        let chain = [control("a", &["b + 1"]), control("b", &["2 * c"]), control("c", &["a"]), control("d", &["a"])];
        let error = Controls::new(&chain, &[]).unwrap_err();
        assert_eq!(error.to_string(), "controls.a: it needs itself: a needs b needs c needs a");
        let own = Controls::new(&[control("a", &["a"])], &[]).unwrap_err();
        assert!(own.to_string().ends_with("a needs a"), "{own}");
    }

    #[test]
    fn ten_thousand_controls_in_a_row_take_no_stack() {
        let mut controls: Vec<Control> =
            (1..10_000).map(|at| control(&format!("c{at}"), &[&format!("c{} + 1", at - 1)])).collect();
        controls.reverse();
        controls.push(control("c0", &["t"]));
        let controls = Controls::new(&controls, &[]).unwrap();
        assert_eq!(controls.at(0.5).unwrap().get("c9999"), Some(9999.5));
    }

    #[test]
    fn names_and_numbers_that_do_not_serve_are_told() {
        let says = |controls: &[Control]| Controls::new(controls, &[]).unwrap_err().to_string();
        assert!(says(&[control("sin", &["1"])]).contains("\"sin\""));
        assert!(says(&[control("a", &["gust"])]).contains("nothing is called \"gust\""));
        assert!(says(&[control("a", &["1", "2", "3"]), control("a_x", &["1"])]).contains("a_x"));
        let infinite = Controls::new(&[control("a", &["1 / t"])], &[]).unwrap();
        let error = infinite.at(0.0).unwrap_err().to_string();
        assert!(error.starts_with("controls.a") && error.contains("0 s"), "{error}");
    }
}
