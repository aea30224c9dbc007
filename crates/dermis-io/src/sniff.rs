//! Which format a file has.

use crate::Format;

/// The format of a file, by its first bytes, else by the ending of its name; `None` if neither is known.
///
/// The bytes go first: a renamed bundle is still a bundle. OBJ, MDD, C3D and textual glTF have no telling first bytes.
pub fn sniff(bytes: &[u8], file_name: &str) -> Option<Format> {
    const BEGINNINGS: [(&[u8], Format); 11] = [
        (b"glTF", Format::Gltf),
        (b"PK\x03\x04", Format::Npz),
        (b"PK\x05\x06", Format::Npz), // an archive without members
        (b"POINTCACHE2\0", Format::Pc2),
        (b"Kaydara FBX Binary", Format::Fbx),
        (b"Ogawa", Format::Alembic),
        (b"PXR-USDC", Format::Usd),
        (b"#usda", Format::Usd),
        (b"HIERARCHY", Format::Bvh),
        (b"PathFileType", Format::Markers),
        (b"\x89HDF\r\n\x1a\n", Format::Alembic), // the older container, which the reader refuses by name
    ];
    if is_package(bytes) {
        return Some(Format::Usd);
    }
    let known = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
    known.map(|(_, format)| *format).or_else(|| {
        let (_, ending) = file_name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "glb" | "gltf" | "vrm" => Some(Format::Gltf),
            "npz" => Some(Format::Npz),
            "obj" => Some(Format::Obj),
            "pc2" => Some(Format::Pc2),
            "mdd" => Some(Format::Mdd),
            "fbx" => Some(Format::Fbx),
            "abc" => Some(Format::Alembic),
            "usd" | "usda" | "usdc" | "usdz" => Some(Format::Usd),
            "bvh" => Some(Format::Bvh),
            "c3d" | "trc" => Some(Format::Markers),
            "dermis" => Some(Format::Model),
            _ => None,
        }
    })
}

/// Whether an archive is a package of USD: its first member is a layer, not an array.
fn is_package(bytes: &[u8]) -> bool {
    /// Of the header before the first member's name.
    const HEADER: usize = 30;
    let Some((header, rest)) = bytes.split_at_checked(HEADER).filter(|_| bytes.starts_with(b"PK\x03\x04")) else {
        return false;
    };
    let length = usize::from(u16::from_le_bytes([header[26], header[27]]));
    let name = rest.get(..length).unwrap_or_default();
    [&b".usda"[..], b".usdc", b".usd"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_before_endings() {
        assert_eq!(sniff(b"PK\x03\x04...", "arm.glb"), Some(Format::Npz));
        assert_eq!(sniff(b"glTF\x02", "arm"), Some(Format::Gltf));
        assert_eq!(sniff(b"v 0 0 0", "Arm.0001.OBJ"), Some(Format::Obj));
        assert_eq!(sniff(b"\0\0\0\x01", "walk.mdd"), Some(Format::Mdd));
        assert_eq!(sniff(b"", "walk.pc2"), Some(Format::Pc2));
        assert_eq!(sniff(b"; FBX 7.4.0 project file", "walk.fbx"), Some(Format::Fbx));
        assert_eq!(sniff(b"Ogawa\xff", "walk"), Some(Format::Alembic));
        assert_eq!(sniff(b"HIERARCHY\nROOT hips", "walk"), Some(Format::Bvh));
        assert_eq!(sniff(b"\xef\xbb\xbfHIERARCHY", "walk.bvh"), Some(Format::Bvh));
        assert_eq!(sniff(b"PathFileType\t4", "walk"), Some(Format::Markers));
        assert_eq!(sniff(b"\x02\x50", "walk.C3D"), Some(Format::Markers));
        assert_eq!(sniff(b"{", "a.gltf"), Some(Format::Gltf));
        assert_eq!(sniff(b"#usda 1.0", "walk"), Some(Format::Usd));
        assert_eq!(sniff(b"PXR-USDC\0", "walk.usd"), Some(Format::Usd));
        let member = |name: &[u8]| [b"PK\x03\x04", &[0; 22][..], &[name.len() as u8, 0, 0, 0], name].concat();
        assert_eq!(sniff(&member(b"walk.usdc"), "walk"), Some(Format::Usd));
        assert_eq!(sniff(&member(b"vertices.npy"), "walk.usdz"), Some(Format::Npz));
        assert_eq!(sniff(b"", "readme.txt"), None);
        assert_eq!(sniff(b"", ""), None);
    }
}
