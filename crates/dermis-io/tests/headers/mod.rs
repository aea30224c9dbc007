//! Model files with changed headers.

use serde_json::{Value, json};

/// A safetensors file as parts: its JSON header and its bytes.
pub fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

/// The file of a header and bytes.
pub fn assemble(header: &Value, data: &[u8]) -> Vec<u8> {
    let mut text = header.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    [&(text.len() as u64).to_le_bytes(), text.as_slice(), data].concat()
}

/// A file with another header.
pub fn changed(file: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    let (mut header, data) = parts(file);
    let mut own: Value = serde_json::from_str(header["__metadata__"]["dermis"].as_str().unwrap()).unwrap();
    change(&mut own);
    header["__metadata__"]["dermis"] = json!(own.to_string());
    assemble(&header, &data)
}
