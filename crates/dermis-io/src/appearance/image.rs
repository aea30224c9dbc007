//! Pictures: their kinds, by the bytes they begin with, and textures that show them.

use super::Description;
use crate::flaws::short;
use dermis_rig::Image;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Bytes of all images beside a file, at most.
pub(crate) const MOST_BESIDE: u64 = 1 << 30;

/// The media type of a picture that a glTF file can hold; `None` for any other.
pub(crate) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [0xAB, b'K', b'T', b'X', b' ', b'2', b'0', 0xBB, ..] => "image/ktx2",
        [b'D', b'D', b'S', b' ', ..] => "image/vnd-ms.dds",
        _ => return None,
    })
}

/// The extension through which a texture names a picture of this kind; `None` for the kinds that every reader knows.
pub(crate) fn texture_extension(media_type: &str) -> Option<&'static str> {
    match media_type {
        "image/webp" => Some("EXT_texture_webp"),
        "image/ktx2" => Some("KHR_texture_basisu"),
        "image/vnd-ms.dds" => Some("MSFT_texture_dds"),
        _ => None,
    }
}

/// What a texture shows beyond the edges of its picture, in the numbers of glTF.
#[cfg(feature = "formats")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wrap {
    Clamp = 33071,
    Mirror = 33648,
    Repeat = 10497,
}

/// Pictures in the order met; the same bytes are one.
#[cfg(feature = "formats")]
#[derive(Default)]
pub(crate) struct Pictures {
    pub images: Vec<Image>,
    by_hash: HashMap<[u8; 32], usize>,
}

#[cfg(feature = "formats")]
impl Pictures {
    /// The number of a picture.
    ///
    /// - `name`: of its file, for the error where it is of no known kind
    pub fn add(&mut self, bytes: Vec<u8>, name: &str) -> Result<usize, String> {
        let hash: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some(&known) = self.by_hash.get(&hash) {
            return Ok(known);
        }
        let shown = short(name);
        let media_type = media_type(&bytes).ok_or_else(|| format!("\"{shown}\" is no PNG, JPEG, WebP, KTX2 or DDS"))?;
        self.images.push(Image { media_type: media_type.into(), bytes });
        self.by_hash.insert(hash, self.images.len() - 1);
        Ok(self.images.len() - 1)
    }

    /// Adds a texture that shows a picture; its number in `description`.
    pub fn texture(&self, image: usize, [s, t]: [Wrap; 2], description: &mut Description) -> usize {
        let sampler = json!({ "wrapS": s as u32, "wrapT": t as u32 });
        let samplers = &mut description.samplers;
        let sampler = samplers.iter().position(|known| *known == sampler).unwrap_or_else(|| {
            samplers.push(sampler);
            samplers.len() - 1
        });
        let mut made = json!({ "sampler": sampler });
        match texture_extension(&self.images[image].media_type) {
            None => made["source"] = json!(image),
            Some(extension) => made["extensions"] = json!({ extension: { "source": image } }),
        }
        description.textures.push(made);
        description.textures.len() - 1
    }
}
