//! Images that a file names by paths, gathered while its materials are read.

use super::{Description, MOST_BESIDE, media_type, texture_extension};
use crate::contents::Resolve;
use crate::flaws::short;
use dermis_rig::{Appearance, Image};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// A texture repeats beyond its edges, in the numbers of OpenGL.
pub(crate) const REPEAT: u64 = 10497;
/// It stays as it is at its edge.
pub(crate) const CLAMP: u64 = 33071;
/// It is mirrored where it repeats.
pub(crate) const MIRROR: u64 = 33648;

/// Images in the order met; the same bytes are one.
#[derive(Default)]
pub(crate) struct Images {
    list: Vec<Image>,
    /// Number of each image by the SHA-256 of its bytes.
    by_hash: HashMap<[u8; 32], usize>,
}

impl Images {
    /// The number of an image. `shown` is its file, for the reason why it is none.
    pub fn add(&mut self, bytes: Vec<u8>, shown: &str) -> Result<usize, String> {
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some(&known) = self.by_hash.get(&hash) {
            return Ok(known);
        }
        let media_type =
            media_type(&bytes).ok_or_else(|| format!("\"{}\" is no PNG, JPEG, WebP, KTX2 or DDS", short(shown)))?;
        self.list.push(Image { media_type: media_type.into(), bytes });
        self.by_hash.insert(hash, self.list.len() - 1);
        Ok(self.list.len() - 1)
    }

    /// Adds a texture of an image to the description, which goes on beyond it as `wraps` say. Result: its number.
    pub fn texture(&self, image: usize, wraps: [u64; 2], made: &mut Description) -> usize {
        let sampler = json!({ "wrapS": wraps[0], "wrapT": wraps[1] });
        let sampler = made.samplers.iter().position(|known| *known == sampler).unwrap_or_else(|| {
            made.samplers.push(sampler);
            made.samplers.len() - 1
        });
        let mut texture = json!({ "sampler": sampler });
        match texture_extension(&self.list[image].media_type) {
            None => texture["source"] = json!(image),
            Some(extension) => texture["extensions"] = json!({ extension: { "source": image } }),
        }
        made.textures.push(texture);
        made.textures.len() - 1
    }

    /// The appearance of a description and the images.
    pub fn with(self, mut made: Description) -> Appearance {
        made.images = vec![json!({}); self.list.len()];
        Appearance { description: made.text(), images: self.list }
    }
}

/// Files beside the one that is read.
pub(crate) struct Beside<'a> {
    stem: &'a str,
    resolve: &'a Resolve<'a>,
    /// Bytes that may still be read.
    left: u64,
}

impl<'a> Beside<'a> {
    /// - `name`: the file that names the others
    pub fn new(name: &'a str, resolve: &'a Resolve<'a>) -> Self {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        Self { stem, resolve, left: MOST_BESIDE }
    }

    /// The bytes of the first file there is among `paths`, each looked for under itself, under its name alone, in `textures/`, in
    /// `STEM.fbm/` and in `STEM_fpc/`, never outside the folder.
    pub fn read(&mut self, paths: &[&str]) -> Result<Vec<u8>, String> {
        let mut tried = Vec::new();
        for path in paths {
            let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
            let Some(&last) = parts.last() else { continue };
            let safe = |parts: &[&str]| parts.iter().all(|part| *part != ".." && !part.contains([':', '\0']));
            let absolute = path.starts_with(['/', '\\']);
            let whole = Some(parts.join("/")).filter(|_| safe(&parts) && !absolute);
            let own = ["{}.fbm", "{}_fpc"].map(|folder| format!("{}/{last}", folder.replace("{}", self.stem)));
            let named = [last.to_owned(), format!("textures/{last}")].into_iter().chain(own);
            let named = named.filter(|_| safe(&[last]) && safe(&[self.stem]) && !self.stem.contains(['/', '\\']));
            for path in whole.into_iter().chain(named) {
                if tried.contains(&path) {
                    continue;
                }
                if let Ok(bytes) = (self.resolve)(&path, self.left + 1) {
                    let left = self.left.checked_sub(bytes.len() as u64);
                    self.left = left.ok_or("the files beside it are larger than a gigabyte")?;
                    return Ok(bytes);
                }
                tried.push(path);
            }
        }
        let shown = paths.iter().find(|path| !path.is_empty()).copied().unwrap_or_default();
        Err(format!("\"{}\" is neither in the file nor beside it", short(shown)))
    }
}
