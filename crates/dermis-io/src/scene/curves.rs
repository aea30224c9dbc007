//! Keys and curves as they are written.

use dermis_motion::curve::KeyFault;
use dermis_motion::scene::{Fault, SceneError};
use dermis_motion::{Beyond, Curve, Ease, Key, KeyPath, Tangent};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A number or a vector over time, by keys
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CurveFile {
    /// The keys, in the order of their times
    keys: Vec<KeyFile>,
    /// How the curve goes from key to key where a key does not say it
    #[serde(default)]
    ease: EaseName,
    /// What the curve does before the first key
    #[serde(default)]
    before: BeyondName,
    /// What it does after the last key
    #[serde(default)]
    after: BeyondName,
}

/// A key: [time, value], [time, x, y, z], or with more said of it
#[derive(Clone, Debug)]
struct KeyFile(KeyFields);

/// A key
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KeyFields {
    /// Its time, seconds
    t: f64,
    /// Its value, or those of a vector
    v: Numbers,
    /// How the curve goes to the next key
    #[serde(default)]
    ease: Option<EaseName>,
    /// The slope at the key where it is not given
    #[serde(default)]
    tangent: Option<TangentName>,
    /// The slope at the key, per second; or where the curve arrives and where it leaves
    #[serde(default)]
    slope: Option<Numbers>,
    /// The Bézier handle before the key, as Blender writes it: [time, value], [time, x, y, z] of a vector
    #[serde(default)]
    left: Option<Vec<f64>>,
    /// The Bézier handle after the key
    #[serde(default)]
    right: Option<Vec<f64>>,
    /// The tangent that arrives, as Maya writes it: three times the way from the handle to the key, [seconds, value]
    #[serde(default, rename = "in")]
    arrive: Option<Vec<f64>>,
    /// The tangent that leaves, as Maya writes it: three times the way from the key to the handle
    #[serde(default, rename = "out")]
    leave: Option<Vec<f64>>,
    /// Tension, continuity and bias at the key
    #[serde(default)]
    tcb: Option<[f64; 3]>,
}

/// A number, or several
#[derive(Clone, Debug)]
pub struct Numbers(pub Vec<f64>);

/// How a curve goes from a key to the next
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum EaseName {
    Step,
    #[default]
    Linear,
    Bezier,
    Hermite,
    CatmullRom,
    Tcb,
}

/// The slope at a key
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum TangentName {
    Auto,
    Flat,
    Clamped,
}

/// What goes on beyond the keys, or beyond the cut of a clip
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondName {
    /// The last value
    #[default]
    Hold,
    /// The last slope
    Linear,
    /// The same again
    Cycle,
    /// The same again, from where it ended
    CycleOffset,
    /// Back and forth
    Mirror,
}

impl BeyondName {
    /// As the library has it.
    pub fn beyond(self) -> Beyond {
        match self {
            Self::Hold => Beyond::Hold,
            Self::Linear => Beyond::Linear,
            Self::Cycle => Beyond::Cycle,
            Self::CycleOffset => Beyond::CycleOffset,
            Self::Mirror => Beyond::Mirror,
        }
    }
}

impl CurveFile {
    /// How many numbers a key has.
    pub fn width(&self) -> usize {
        self.keys.first().map_or(1, |key| key.0.v.0.len())
    }

    /// A curve for each number of the keys, which are `width`.
    pub fn curves(&self, width: usize, path: &KeyPath) -> Result<Vec<Curve>, SceneError> {
        for (at, key) in self.keys.iter().enumerate() {
            let found = key.0.v.0.len();
            if found != width {
                let what = format!("the key has {found} numbers; {width} are expected");
                return Err(SceneError::new(path.key("keys").at(at), Fault::Unfit(what)));
            }
        }
        (0..width).map(|number| self.curve(number, width, path)).collect()
    }

    fn curve(&self, number: usize, width: usize, path: &KeyPath) -> Result<Curve, SceneError> {
        let list = path.key("keys");
        let key = |(at, key): (usize, &KeyFile)| key.0.key(self.ease, number, width, &list.at(at));
        let keys = self.keys.iter().enumerate().map(key).collect::<Result<Vec<_>, _>>()?;
        Curve::new(&keys, self.before.beyond(), self.after.beyond()).map_err(|fault| at_key(fault, &list))
    }
}

/// A fault of keys where it is.
pub fn at_key(fault: KeyFault, list: &KeyPath) -> SceneError {
    let path = fault.key().map_or(list.clone(), |at| list.at(at));
    SceneError::new(path, Fault::Keys(fault))
}

impl KeyFields {
    fn key(&self, ease: EaseName, number: usize, width: usize, path: &KeyPath) -> Result<Key, SceneError> {
        let (time, value) = (self.t, self.v.0[number]);
        let point = |key: &str, point: &Option<Vec<f64>>| match point {
            None => Ok(None),
            Some(point) if point.len() == 1 + width => Ok(Some([point[0], point[1 + number]])),
            Some(point) => {
                let what = format!("{} numbers; a time and {width} are expected", point.len());
                Err(SceneError::new(path.key(key), Fault::Unfit(what)))
            }
        };
        // A third of Maya's tangent leads to the handle.
        let third = |sign: f64, tangent: [f64; 2]| [time + sign * tangent[0] / 3.0, value + sign * tangent[1] / 3.0];
        let arrive = point("in", &self.arrive)?.map(|tangent| third(-1.0, tangent));
        let leave = point("out", &self.leave)?.map(|tangent| third(1.0, tangent));
        let slope = match &self.slope {
            None => None,
            Some(Numbers(slopes)) => match slopes[..] {
                [slope] => Some(Tangent::Slopes { arrive: slope, leave: slope }),
                [arrive, leave] if width == 1 => Some(Tangent::Slopes { arrive, leave }),
                ref slopes if slopes.len() == width => {
                    Some(Tangent::Slopes { arrive: slopes[number], leave: slopes[number] })
                }
                _ => {
                    let what = format!("{} slopes; one, or one for each number of the key, is expected", slopes.len());
                    return Err(SceneError::new(path.key("slope"), Fault::Unfit(what)));
                }
            },
        };
        let tangent = slope.unwrap_or(match self.tangent {
            None | Some(TangentName::Auto) => Tangent::Automatic,
            Some(TangentName::Flat) => Tangent::Flat,
            Some(TangentName::Clamped) => Tangent::Clamped,
        });
        let [tension, continuity, bias] = self.tcb.unwrap_or_default();
        let ease = match self.ease.unwrap_or(ease) {
            EaseName::Step => Ease::Step,
            EaseName::Linear => Ease::Linear,
            EaseName::Bezier => Ease::Bezier,
            EaseName::Hermite => Ease::Hermite,
            EaseName::CatmullRom => Ease::CatmullRom,
            EaseName::Tcb => Ease::Tcb { tension, continuity, bias },
        };
        let (left, right) = (point("left", &self.left)?.or(arrive), point("right", &self.right)?.or(leave));
        Ok(Key { time, value, ease, tangent, left, right })
    }
}

impl<'de> Deserialize<'de> for KeyFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = KeyFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key, [time, value] or {\"t\": time, \"v\": value}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<KeyFile, A::Error> {
                let mut numbers = Vec::<f64>::deserialize(SeqAccessDeserializer::new(list))?;
                if numbers.len() < 2 {
                    return Err(serde::de::Error::invalid_length(numbers.len(), &"a time and a value"));
                }
                let t = numbers.remove(0);
                let none = || None;
                let fields = KeyFields {
                    t,
                    v: Numbers(numbers),
                    ease: None,
                    tangent: None,
                    slope: None,
                    left: none(),
                    right: none(),
                    arrive: none(),
                    leave: none(),
                    tcb: None,
                };
                Ok(KeyFile(fields))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<KeyFile, A::Error> {
                KeyFields::deserialize(MapAccessDeserializer::new(entries)).map(KeyFile)
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for KeyFile {
    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let fields = generator.subschema_for::<KeyFields>();
        json_schema!({
            "description": "A key: [time, value], [time, x, y, z], or with more said of it",
            "anyOf": [{ "type": "array", "items": { "type": "number" }, "minItems": 2 }, fields],
        })
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Numbers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a list of numbers")
            }
            fn visit_f64<E>(self, number: f64) -> Result<Numbers, E> {
                Ok(Numbers(vec![number]))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Numbers, E> {
                Ok(Numbers(vec![number as f64]))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Numbers, E> {
                Ok(Numbers(vec![number as f64]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Numbers, A::Error> {
                let numbers = Vec::<f64>::deserialize(SeqAccessDeserializer::new(list))?;
                match numbers.is_empty() {
                    true => Err(serde::de::Error::invalid_length(0, &"a number at least")),
                    false => Ok(Numbers(numbers)),
                }
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Numbers {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Numbers".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number" }, { "type": "array", "items": { "type": "number" }, "minItems": 1 }] })
    }
}
