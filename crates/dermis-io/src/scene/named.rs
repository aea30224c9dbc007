//! Entries by name, in the order of the file; a name that occurs twice is an error.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// Entries by name.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("entries by name in { }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Named<T>, A::Error> {
                let (mut list, mut known) = (Vec::new(), HashSet::new());
                while let Some(name) = entries.next_key::<String>()? {
                    if !known.insert(name.clone()) {
                        return Err(A::Error::custom(format!("\"{name:.80}\" occurs twice")));
                    }
                    list.push((name, entries.next_value()?));
                }
                Ok(Named(list))
            }
        }
        from.deserialize_map(Entries(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
    }
}
