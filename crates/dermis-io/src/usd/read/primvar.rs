//! Values over a surface: one for all, or for each face, vertex or corner.

use super::stage::Stage;
use crate::contents::{Flaw, ReadError};
use crate::flaws::Flaws;

/// What a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    All,
    Face,
    Vertex,
    Corner,
}

/// Values with what they belong to.
pub(super) struct Primvar {
    values: Vec<f64>,
    width: usize,
    places: Option<Vec<f64>>,
    of: Of,
}

impl Primvar {
    /// The values of an attribute of a mesh; `None` if it has none, or they do not fit, which is said.
    ///
    /// - `sizes`: one, and the numbers of faces, vertices and corners
    pub fn read(
        stage: &Stage<'_, '_>,
        prim: usize,
        name: &str,
        width: usize,
        sizes: [usize; 4],
        flaws: &mut Flaws,
    ) -> Result<Option<Self>, ReadError> {
        let numbers = stage.numbers(prim, name)?;
        if numbers.values.is_empty() {
            return Ok(None);
        }
        let places = stage.attribute(prim, &format!("{name}:indices")).map(|own| own.rest()).transpose()?;
        let places = places.map(|own| own.values).filter(|own| !own.is_empty());
        let said = stage.said(prim, name, |spec| spec.interpolation.clone());
        let count = places.as_ref().map_or(numbers.values.len() / width, Vec::len);
        let of = match said.as_deref() {
            Some("constant") => Of::All,
            Some("uniform") => Of::Face,
            Some("varying" | "vertex") => Of::Vertex,
            Some("faceVarying") => Of::Corner,
            // Normals are of vertices where nothing is said, primvars of all.
            _ if name == "normals" => Of::Vertex,
            _ => Of::All,
        };
        if numbers.width != width || count < sizes[of as usize] {
            let path = stage.path(prim);
            let needed = sizes[of as usize];
            flaws.add(Flaw::CountMismatch, || format!("{count} {name:.60} of <{path}> where {needed} are needed"));
            return Ok(None);
        }
        Ok(Some(Self { values: numbers.values, width, places, of }))
    }

    /// The value of a corner; `None` where an index leads nowhere.
    pub fn at(&self, face: usize, vertex: usize, corner: usize) -> Option<&[f64]> {
        let at = match self.of {
            Of::All => 0,
            Of::Face => face,
            Of::Vertex => vertex,
            Of::Corner => corner,
        };
        let at = match &self.places {
            Some(places) => *places.get(at)?,
            None => at as f64,
        };
        let from = (at >= 0.0).then_some(at as usize)?.checked_mul(self.width)?;
        self.values.get(from..from.checked_add(self.width)?)
    }

    pub fn is_constant(&self) -> bool {
        self.of == Of::All
    }
}
