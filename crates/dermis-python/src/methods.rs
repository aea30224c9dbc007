//! Methods with their settings, as JSON: the classes of `dermis._methods` are made of these.

use crate::errors::{error, hinted};
use dermis::Method;
use dermis::internals::fitting::method::{PRESETS, preset};
use pyo3::prelude::*;
use serde_json::Value;

/// Every method with its defaults: a JSON list of `{"joint": {...}}`, or of a name where a method has no settings.
#[pyfunction]
#[pyo3(name = "_method_defaults")]
pub fn method_defaults() -> PyResult<String> {
    serde_json::to_string(&Method::all()).map_err(|e| error(e.to_string()))
}

/// A method as `_method_defaults` has them, checked: unknown settings and values are refused by name.
#[pyfunction]
#[pyo3(name = "_checked_method")]
pub fn checked_method(text: &str) -> PyResult<String> {
    serde_json::to_string(&method_of(text)?).map_err(|e| error(e.to_string()))
}

/// The presets: (name, what it is) of each.
#[pyfunction]
#[pyo3(name = "_presets")]
pub fn presets() -> Vec<(&'static str, &'static str)> {
    PRESETS.iter().map(|preset| (preset.name, preset.about)).collect()
}

/// A preset by name, as JSON.
#[pyfunction]
#[pyo3(name = "_preset_method")]
pub fn preset_method(name: &str) -> PyResult<String> {
    let names = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    let found =
        preset(name).ok_or_else(|| hinted(format!("there is no method {name:?}"), &format!("one of: {}", names())))?;
    serde_json::to_string(&found.method()).map_err(|e| error(e.to_string()))
}

/// A method from JSON.
///
/// # Errors
/// `dermis.Error`, naming the setting.
pub fn method_of(text: &str) -> PyResult<Method> {
    let value: Value = serde_json::from_str(text).map_err(|e| error(e.to_string()))?;
    let method = match serde_json::from_value::<Method>(value.clone()) {
        Ok(method) => method,
        Err(found) => return Err(error(setting_at_fault(&value).unwrap_or_else(|| found.to_string()))),
    };
    method
        .check()
        .map_err(|found| error(found.to_string().replace("eig-tol", "eig_tol").replace("svd-tol", "svd_tol")))?;
    Ok(method)
}

/// The first setting that alone makes a method unreadable, with the reason.
fn setting_at_fault(value: &Value) -> Option<String> {
    let (name, settings) = value.as_object()?.iter().next()?;
    let refused = |settings: Value| serde_json::from_value::<Method>(serde_json::json!({ name: settings })).err();
    settings.as_object()?.iter().find_map(|(key, setting)| {
        let found = refused(serde_json::json!({ key: setting }))?;
        // A group of settings, which Python does not know.
        let group = setting.as_object().filter(|_| key == "pose-space");
        let within = group.into_iter().flatten().find_map(|(inner, setting)| {
            let found = refused(serde_json::json!({ key: { inner: setting } }))?;
            Some(told(inner, setting, &found))
        });
        Some(within.unwrap_or_else(|| told(key, setting, &found)))
    })
}

fn told(key: &str, setting: &Value, found: &serde_json::Error) -> String {
    format!("{}={setting}: {found}", key.replace('-', "_"))
}
