//! Kinds of pictures, by the bytes they begin with.

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
