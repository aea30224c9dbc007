//! Numbers, vectors and rotations as they are written, and controls and maps made of them.

use super::curves::{BeyondName, CurveFile, at_key};
use dermis_motion::map::{Between, Example};
use dermis_motion::scene::{Fault, SceneError, Turn};
use dermis_motion::{Control, EulerOrder, Expression, KeyPath, Map, TurnCurve, TurnEase, TurnKey, Value};
use dermis_rig::glam::{DQuat, DVec3};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A number over time: a number, an expression in quotes, or keys
#[derive(Clone, Debug)]
pub enum ValueFile {
    Number(f64),
    Text(String),
    Curve(Box<CurveFile>),
}

/// A number, a list of them, or keys of either
#[derive(Clone, Debug)]
pub enum ControlFile {
    Value(ValueFile),
    List(Vec<ValueFile>),
}

/// A vector over time: three numbers over time, keys with three numbers, or the name of a control
#[derive(Clone, Debug)]
pub struct VectorFile(ControlFile);

/// A rotation over time: three angles in degrees about x, y and z, or more said of it
#[derive(Clone, Debug)]
pub enum TurnFile {
    Angles(VectorFile),
    Fields(Box<TurnFields>),
}

/// A rotation over time: euler, or axis and degrees, or quaternions
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TurnFields {
    /// Angles in degrees about x, y and z
    #[serde(default)]
    euler: Option<VectorFile>,
    /// The order of euler: the first letter turns first, about fixed axes, as in Blender and Maya
    #[serde(default)]
    order: Option<String>,
    /// A direction to turn about
    #[serde(default)]
    axis: Option<[f64; 3]>,
    /// The angle about axis
    #[serde(default)]
    degrees: Option<ValueFile>,
    /// Keys [time, x, y, z, w]
    #[serde(default)]
    quaternions: Option<Vec<[f64; 5]>>,
    /// How quaternions go from key to key
    #[serde(default)]
    ease: Option<TurnEaseName>,
    /// What quaternions do before the first key
    #[serde(default)]
    before: BeyondName,
    /// What they do after the last key
    #[serde(default)]
    after: BeyondName,
}

/// How a rotation goes from key to key
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum TurnEaseName {
    Step,
    /// The shorter arc at constant speed
    Slerp,
    /// Smoothly through all keys
    Squad,
}

/// A map from controls to others, by examples
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MapFile {
    /// The controls that it reads
    from: Vec<String>,
    /// The controls that it makes
    to: Vec<String>,
    /// What the controls give where
    examples: Vec<ExampleFile>,
    /// How it reads between the examples: straight lines for one control, gaussian for several
    #[serde(default)]
    between: Option<BetweenName>,
    /// The width of gaussian, in the unit of the controls; the mean distance of examples by default
    #[serde(default)]
    width: Option<f64>,
}

/// Values that controls have together
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ExampleFile {
    /// Those that are read
    at: Vec<f64>,
    /// Those that are made
    give: Vec<f64>,
}

/// How a map reads between its examples
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BetweenName {
    Linear,
    Gaussian,
}

impl ValueFile {
    /// As the library has it.
    pub fn value(&self, path: &KeyPath) -> Result<Value, SceneError> {
        match self {
            Self::Number(number) => Ok(Value::Number(*number)),
            Self::Text(text) => {
                let expression = Expression::new(text);
                expression.map(Value::Expression).map_err(|e| SceneError::new(path.clone(), Fault::Expression(e)))
            }
            Self::Curve(curve) => Ok(Value::Curve(curve.curves(1, path)?.remove(0))),
        }
    }
}

impl ControlFile {
    /// As the library has it.
    pub fn control(&self, name: &str, path: &KeyPath) -> Result<Control, SceneError> {
        let numbers = match self {
            Self::Value(ValueFile::Curve(curve)) => {
                curve.curves(curve.width(), path)?.into_iter().map(Value::Curve).collect()
            }
            Self::Value(value) => vec![value.value(path)?],
            Self::List(list) if list.is_empty() => {
                return Err(SceneError::new(path.clone(), Fault::Unfit("a vector has a number at least".into())));
            }
            Self::List(list) => {
                (list.iter().enumerate()).map(|(at, value)| value.value(&path.at(at))).collect::<Result<_, _>>()?
            }
        };
        Ok(Control { name: name.into(), numbers })
    }
}

impl VectorFile {
    /// As the library has it.
    pub fn vector(&self, path: &KeyPath) -> Result<[Value; 3], SceneError> {
        let wrong = |found: usize| {
            let what = format!("{found} numbers; three are expected");
            SceneError::new(path.clone(), Fault::Unfit(what))
        };
        let numbers: Vec<Value> = match &self.0 {
            ControlFile::Value(ValueFile::Text(name)) => ["x", "y", "z"]
                .iter()
                .map(|axis| ValueFile::Text(format!("{}_{axis}", name.trim())).value(path))
                .collect::<Result<_, _>>()?,
            ControlFile::Value(ValueFile::Number(_)) => return Err(wrong(1)),
            ControlFile::Value(ValueFile::Curve(curve)) => {
                curve.curves(3, path)?.into_iter().map(Value::Curve).collect()
            }
            ControlFile::List(list) => {
                (list.iter().enumerate()).map(|(at, value)| value.value(&path.at(at))).collect::<Result<_, _>>()?
            }
        };
        let found = numbers.len();
        numbers.try_into().map_err(|_| wrong(found))
    }
}

impl TurnFile {
    /// As the library has it.
    pub fn turn(&self, path: &KeyPath) -> Result<Turn, SceneError> {
        let fields = match self {
            Self::Angles(angles) => return Ok(Turn::Euler(angles.vector(path)?, EulerOrder::XYZ)),
            Self::Fields(fields) => fields,
        };
        let unfit = |path: KeyPath, what: &str| Err(SceneError::new(path, Fault::Unfit(what.into())));
        if fields.order.is_some() && fields.euler.is_none() {
            return unfit(path.key("order"), "an order serves \"euler\"");
        }
        if fields.ease.is_some() && fields.quaternions.is_none() {
            return unfit(path.key("ease"), "an ease here serves \"quaternions\"; keys of angles have their own");
        }
        match (&fields.euler, fields.axis, &fields.degrees, &fields.quaternions) {
            (Some(angles), None, None, None) => {
                let order = fields.order.as_deref().unwrap_or("XYZ").parse::<EulerOrder>();
                let order = order.map_err(|what| SceneError::new(path.key("order"), Fault::Unfit(what)))?;
                Ok(Turn::Euler(angles.vector(&path.key("euler"))?, order))
            }
            (None, Some(axis), Some(degrees), None) => match DVec3::from(axis).try_normalize() {
                Some(axis) => Ok(Turn::About(axis, degrees.value(&path.key("degrees"))?)),
                None => unfit(path.key("axis"), "it has no direction"),
            },
            (None, None, None, Some(keys)) => {
                let key = |&[time, x, y, z, w]: &[f64; 5]| TurnKey { time, turn: DQuat::from_xyzw(x, y, z, w) };
                let keys: Vec<TurnKey> = keys.iter().map(key).collect();
                let ease = match fields.ease {
                    None | Some(TurnEaseName::Slerp) => TurnEase::Slerp,
                    Some(TurnEaseName::Step) => TurnEase::Step,
                    Some(TurnEaseName::Squad) => TurnEase::Squad,
                };
                let curve = TurnCurve::new(&keys, ease, fields.before.beyond(), fields.after.beyond());
                curve.map(Turn::Keys).map_err(|fault| at_key(fault, &path.key("quaternions")))
            }
            _ => unfit(path.clone(), "\"euler\", or \"axis\" and \"degrees\", or \"quaternions\" are expected"),
        }
    }
}

impl MapFile {
    /// As the library has it.
    pub fn map(&self, path: &KeyPath) -> Result<Map, SceneError> {
        let example = |example: &ExampleFile| Example { at: example.at.clone(), give: example.give.clone() };
        let between = match (self.between, self.from.len()) {
            (Some(BetweenName::Linear), _) | (None, 0..=1) => Between::Linear,
            (Some(BetweenName::Gaussian), _) | (None, _) => Between::Gaussian { width: self.width },
        };
        if self.width.is_some() && between == Between::Linear {
            return Err(SceneError::new(path.key("width"), Fault::Unfit("a width serves \"gaussian\"".into())));
        }
        Map::new(self.from.clone(), self.to.clone(), self.examples.iter().map(example).collect(), between, path)
    }
}

impl<'de> Deserialize<'de> for ControlFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any("a number, an expression in quotes, {\"keys\": [...]}, or a list of such"))
    }
}

impl<'de> Deserialize<'de> for ValueFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "a number, an expression in quotes, or {\"keys\": [...]}";
        match from.deserialize_any(Any(expected))? {
            ControlFile::Value(value) => Ok(value),
            ControlFile::List(_) => Err(serde::de::Error::custom(format!("a list stands here, expected {expected}"))),
        }
    }
}

impl<'de> Deserialize<'de> for VectorFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let expected = "three values in [ ], {\"keys\": [...]} with three numbers, or the name of a control in quotes";
        from.deserialize_any(Any(expected)).map(Self)
    }
}

impl<'de> Deserialize<'de> for TurnFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = TurnFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("three angles in [ ], or {\"euler\": ...}, {\"axis\": ..., \"degrees\": ...}, {\"quaternions\": ...}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<TurnFile, A::Error> {
                let values = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                Ok(TurnFile::Angles(VectorFile(ControlFile::List(values))))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<TurnFile, A::Error> {
                let fields = TurnFields::deserialize(MapAccessDeserializer::new(entries))?;
                Ok(TurnFile::Fields(Box::new(fields)))
            }
        }
        from.deserialize_any(Either)
    }
}

/// Takes a number, a text, keys, or a list; what is expected in words.
struct Any(&'static str);

impl<'de> Visitor<'de> for Any {
    type Value = ControlFile;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_f64<E>(self, number: f64) -> Result<ControlFile, E> {
        Ok(ControlFile::Value(ValueFile::Number(number)))
    }
    fn visit_i64<E>(self, number: i64) -> Result<ControlFile, E> {
        Ok(ControlFile::Value(ValueFile::Number(number as f64)))
    }
    fn visit_u64<E>(self, number: u64) -> Result<ControlFile, E> {
        Ok(ControlFile::Value(ValueFile::Number(number as f64)))
    }
    fn visit_str<E>(self, text: &str) -> Result<ControlFile, E> {
        Ok(ControlFile::Value(ValueFile::Text(text.into())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<ControlFile, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ControlFile::List)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ControlFile, A::Error> {
        let curve = CurveFile::deserialize(MapAccessDeserializer::new(entries))?;
        Ok(ControlFile::Value(ValueFile::Curve(Box::new(curve))))
    }
}

impl JsonSchema for ValueFile {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let curve = generator.subschema_for::<CurveFile>();
        json_schema!({
            "description": "A number over time: a number, an expression in quotes, or keys",
            "anyOf": [{ "type": "number" }, { "type": "string" }, curve],
        })
    }
}

impl JsonSchema for ControlFile {
    fn schema_name() -> Cow<'static, str> {
        "Control".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<ValueFile>();
        json_schema!({
            "description": "A number or a vector over time",
            "anyOf": [value, { "type": "array", "items": value, "minItems": 1 }],
        })
    }
}

impl JsonSchema for VectorFile {
    fn schema_name() -> Cow<'static, str> {
        "Vector".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, curve) = (generator.subschema_for::<ValueFile>(), generator.subschema_for::<CurveFile>());
        json_schema!({
            "description": "A vector over time: three numbers over time, keys with three numbers, or the name of a control",
            "anyOf": [{ "type": "array", "items": value, "minItems": 3, "maxItems": 3 }, curve, { "type": "string" }],
        })
    }
}

impl JsonSchema for TurnFile {
    fn schema_name() -> Cow<'static, str> {
        "Turn".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, fields) = (generator.subschema_for::<ValueFile>(), generator.subschema_for::<TurnFields>());
        json_schema!({
            "description": "A rotation over time: three angles in degrees about x, y and z, or more said of it",
            "anyOf": [{ "type": "array", "items": value, "minItems": 3, "maxItems": 3 }, fields],
        })
    }
}

/// A value, or of a list or keys with three numbers a vector.
pub fn one_or_list<'de, D: Deserializer<'de>>(from: D) -> Result<Result<ValueFile, VectorFile>, D::Error> {
    let expected = "a factor, or three of them in [ ]";
    Ok(match from.deserialize_any(Any(expected))? {
        ControlFile::Value(ValueFile::Curve(curve)) if curve.width() == 3 => {
            Err(VectorFile(ControlFile::Value(ValueFile::Curve(curve))))
        }
        ControlFile::Value(value) => Ok(value),
        list @ ControlFile::List(_) => Err(VectorFile(list)),
    })
}
