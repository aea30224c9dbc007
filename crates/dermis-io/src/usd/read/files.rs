//! Files beside the first one, and members of a package.

use super::damaged;
use crate::contents::{ReadError, Resolve};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::io::Cursor;
use zip::{CompressionMethod, ZipArchive};

/// Bytes of all files beside the first, at most.
const MOST_BESIDE: u64 = crate::appearance::MOST_BESIDE;

/// Where the names in a layer lead: the folder of the first file, or its package.
pub(super) struct Files<'a> {
    resolve: &'a Resolve<'a>,
    /// Members of the package by name.
    members: Option<HashMap<String, &'a [u8]>>,
    left: Cell<u64>,
}

impl<'a> Files<'a> {
    /// The files beside `bytes`; the first layer and its name in a package.
    pub fn open(bytes: &'a [u8], resolve: &'a Resolve<'a>) -> Result<(Self, &'a [u8], String), ReadError> {
        let mut made = Self { resolve, members: None, left: Cell::new(MOST_BESIDE) };
        if !bytes.starts_with(b"PK") {
            return Ok((made, bytes, String::new()));
        }
        let package = |error: zip::result::ZipError| damaged(format!("the package: {error}"));
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(package)?;
        let mut members = HashMap::new();
        let mut first: Option<(u64, &[u8], String)> = None;
        for at in 0..archive.len() {
            let member = archive.by_index_raw(at).map_err(package)?;
            let name = member.name().map_err(package)?.into_owned();
            if member.compression() != CompressionMethod::Stored {
                return Err(ReadError::Unsupported {
                    feature: format!("a packed file (\"{name:.100}\") in a package"),
                });
            }
            let from = member.data_start().and_then(|from| usize::try_from(from).ok());
            let range = from.and_then(|from| Some(from..from.checked_add(usize::try_from(member.size()).ok()?)?));
            let data = range.and_then(|range| bytes.get(range));
            let data = data.ok_or_else(|| damaged(format!("\"{name:.100}\" leaves the package")))?;
            let start = member.header_start();
            if first.as_ref().is_none_or(|(known, ..)| start < *known) {
                first = Some((start, data, name.clone()));
            }
            members.insert(name, data);
        }
        let (_, data, name) = first.ok_or_else(|| damaged("the package is empty"))?;
        if data.starts_with(b"PK") {
            return Err(ReadError::Unsupported { feature: "a package within a package".into() });
        }
        made.members = Some(members);
        Ok((made, data, name))
    }

    /// The bytes of a file by its path within the folder or the package.
    pub fn read(&self, path: &str) -> Result<Cow<'a, [u8]>, String> {
        if let Some(members) = &self.members {
            return match members.get(path) {
                Some(bytes) => Ok(Cow::Borrowed(bytes)),
                None => Err(format!("\"{path:.200}\" is not in the package")),
            };
        }
        let bytes = (self.resolve)(path, self.left.get() + 1).map_err(|error| format!("\"{path:.200}\": {error}"))?;
        let left = self.left.get().checked_sub(bytes.len() as u64);
        self.left.set(left.ok_or("the files beside it are larger than a gigabyte")?);
        Ok(Cow::Owned(bytes))
    }
}

/// The path of a file that a layer in `folder` names, within the folder of the first; `None` if it lies outside.
pub(super) fn within(folder: &str, asset: &str) -> Option<String> {
    let asset = asset.replace('\\', "/");
    if asset.is_empty() || asset.starts_with('/') || asset.contains([':', '\0', '[']) {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in asset.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The folder of a file, with its slash.
pub(super) fn folder(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..=slash])
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn names_lead_within_the_folder_only() {
        for (folder, asset, expected) in [
            ("", "./a/b.usda", Some("a/b.usda")),
            ("a/", "../c.png", Some("c.png")),
            ("a/", "textures\\skin.png", Some("a/textures/skin.png")),
            ("a/", "../../c.png", None),
            ("", "../c.png", None),
            ("", "/etc/passwd", None),
            ("", "http://host/a.usd", None),
            ("", "C:\\a.usd", None),
            ("", "a.usdz[b.usda]", None),
        ] {
            assert_eq!(within(folder, asset).as_deref(), expected, "{folder} {asset}");
        }
    }
}
