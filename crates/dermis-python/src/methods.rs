//! Methods with their settings, as JSON: the classes of `dermis._methods` are made of these.
//!
//! Python has the fields of a stored method as keywords, without the group that some of them are stored in.

use crate::errors::{error, hinted};
use dermis::Method;
use dermis::internals::fitting::method::{MethodError, Setting, preset, presets as all_presets};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

/// Every method: name, class, what it is, and its keywords as JSON, a list of name, default and documentation of each.
#[pyfunction]
#[pyo3(name = "_methods")]
pub fn methods() -> PyResult<Vec<(&'static str, &'static str, &'static str, String)>> {
    let one = |method: Method| {
        let keywords: Vec<Value> = flat(&method)?
            .iter()
            .map(|(keyword, default)| json!([keyword, default, documentation(&method, keyword)]))
            .collect();
        Ok((method.name(), method.class(), method.about(), Value::from(keywords).to_string()))
    };
    Method::all().into_iter().map(one).collect()
}

/// The stored form of the method of a name with keywords, and all its keywords; unknown values are refused by name.
#[pyfunction]
#[pyo3(name = "_checked_method")]
pub fn checked_method(name: &str, keywords: &str) -> PyResult<(String, String)> {
    let keywords: Map<String, Value> = serde_json::from_str(keywords).map_err(|e| error(e.to_string()))?;
    let named = Method::all().into_iter().find(|method| method.name() == name);
    let plain = named.ok_or_else(|| error(format!("there is no method {name:?}")))?;
    let method = match stored(&plain, &keywords) {
        Ok(method) => method,
        Err(found) => {
            let alone = |(key, value): (&String, &Value)| {
                let found = stored(&plain, &Map::from_iter([(key.clone(), value.clone())])).err()?;
                Some(format!("{key}={value}: {found}"))
            };
            return Err(error(keywords.iter().find_map(alone).unwrap_or_else(|| found.to_string())));
        }
    };
    checked(&method)?;
    Ok((to_json(&method)?, Value::from(flat(&method)?).to_string()))
}

/// The presets: (name, what it is) of each.
#[pyfunction]
#[pyo3(name = "_presets")]
pub fn presets() -> Vec<(&'static str, &'static str)> {
    all_presets().iter().map(|preset| (preset.name, preset.about)).collect()
}

/// A preset by name: its method, and all its keywords as JSON.
#[pyfunction]
#[pyo3(name = "_preset_method")]
pub fn preset_method(name: &str) -> PyResult<(&'static str, String)> {
    let names = || all_presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let found =
        preset(name).ok_or_else(|| hinted(format!("there is no method {name:?}"), &format!("one of: {}", names())))?;
    Ok((found.method.name(), Value::from(flat(&found.method)?).to_string()))
}

/// A method from JSON.
///
/// # Errors
/// `dermis.Error`, naming the setting.
pub fn method_of(text: &str) -> PyResult<Method> {
    let method = serde_json::from_str(text).map_err(|e| error(e.to_string()))?;
    checked(&method)?;
    Ok(method)
}

/// Checks the settings; an error names the keyword.
fn checked(method: &Method) -> PyResult<()> {
    let keyword_of = |name: &str| {
        let settings = method.settings();
        settings.iter().find(|setting| setting.name == name).map_or_else(|| name.to_owned(), keyword)
    };
    method.check().map_err(|found| {
        error(match &found {
            MethodError::Setting { setting, value, rule } => format!("{}={value}: {rule}", keyword_of(setting)),
            MethodError::Unused { setting, with } => format!("{} has no effect {with}", keyword_of(setting)),
            _ => found.to_string(),
        })
    })
}

fn to_json(method: &Method) -> PyResult<String> {
    serde_json::to_string(method).map_err(|e| error(e.to_string()))
}

/// The keyword of a setting: the field that holds it.
fn keyword(setting: &Setting) -> String {
    setting.field.replace('-', "_")
}

/// The settings of a keyword, a line for each.
fn documentation(method: &Method, of: &str) -> String {
    let settings = method.settings();
    let lines = settings.iter().filter(|setting| keyword(setting) == of).map(|setting| {
        let named = if setting.name.replace('-', "_") == of { String::new() } else { format!("{}: ", setting.name) };
        format!("{named}{}.", setting.help)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The values of a stored method by keyword.
fn flat(method: &Method) -> PyResult<Map<String, Value>> {
    let value = serde_json::to_value(method).map_err(|e| error(e.to_string()))?;
    let own = &value[method.name()];
    let place = |setting: &Setting| match setting.group {
        "" => own[setting.field].clone(),
        group => own[group][setting.field].clone(),
    };
    Ok(method.settings().iter().map(|setting| (keyword(setting), place(setting))).collect())
}

/// The method of keywords.
fn stored(method: &Method, keywords: &Map<String, Value>) -> Result<Method, serde_json::Error> {
    let settings = method.settings();
    if settings.is_empty() {
        return Ok(method.clone());
    }
    let mut own = Map::new();
    for (key, value) in keywords {
        let setting = settings.iter().find(|setting| keyword(setting) == *key);
        let (group, field) = setting.map_or(("", key.as_str()), |setting| (setting.group, setting.field));
        match group {
            "" => drop(own.insert(field.to_owned(), value.clone())),
            _ => {
                let inner = own.entry(group).or_insert_with(|| json!({}));
                inner[field] = value.clone();
            }
        }
    }
    serde_json::from_value(json!({ method.name(): own }))
}
