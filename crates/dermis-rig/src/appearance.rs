//! What a file shows beside shape and motion, carried from the file that is read to the file that is written.

use std::fmt;

/// Materials, textures, cameras, lights and further nodes of a file.
///
/// No crate but `dermis-io` reads it: to every other crate it is sealed luggage of a [`RenderMesh`](crate::RenderMesh).
#[derive(Clone, Default, PartialEq)]
pub struct Appearance {
    /// A JSON object in the words of glTF 2.0, to which readers of other formats translate. `dermis-io` documents its keys,
    /// and checks them whenever it reads or writes them.
    pub description: String,
    /// The images that the description's textures name by number.
    pub images: Vec<Image>,
}

/// A picture file, as it is stored.
#[derive(Clone, PartialEq)]
pub struct Image {
    /// The media type, such as "image/png".
    pub media_type: String,
    /// The bytes of the file, compressed as they came.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Appearance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appearance").field("description", &self.description).field("images", &self.images).finish()
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}
