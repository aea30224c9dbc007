//! Sculpts that cover one object of the rig: an artist sends the shirt alone.

use crate::error::FileError;
use crate::load::ReadOptions;
use dermis_io::Contents;
use dermis_rig::examples::TOUCHED;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, LocalSculpt, Mesh, MeshObject, Polygons, RenderMesh, Rig};
use std::ops::Range;
use std::path::Path;

/// The object that a sculpt covers.
pub(super) struct Part {
    pub name: String,
    /// Its vertices in the rig.
    pub range: Range<usize>,
    /// The object as a mesh of its own.
    pub mesh: Mesh,
}

impl Part {
    /// Returns the object that the shapes of a file cover, of `count` vertices each; `None` if they cover the rig, or no object either.
    ///
    /// The name of the file's only mesh decides, else the number of vertices and faces if one object has as many.
    ///
    /// # Errors
    /// [`FileError::Lacks`] if several objects have as many, or the one of that name has not.
    pub fn of(rig: &Mesh, contents: &Contents, count: usize, path: &Path) -> Result<Option<Self>, FileError> {
        let drawn = rig.render.as_ref().filter(|render| !render.by_corner).map(|render| render.source.len());
        if !rig.has_several_objects() || count == rig.positions.len() || drawn == Some(count) {
            return Ok(None);
        }
        let mesh = contents.mesh.as_ref().filter(|mesh| mesh.positions.len() == count);
        let parts = || rig.object_ranges().map(|(object, range)| (object, Self::cut(rig, object, range)));
        let fitting: Vec<Self> = parts().map(|(_, part)| part).filter(|part| part.fits(mesh, count)).collect();
        if let Some([MeshObject { name, .. }]) = mesh.map(|mesh| &mesh.objects[..]) {
            let mut named = rig.object_ranges().filter(|(object, _)| object.name == *name).peekable();
            if let (Some((_, range)), true) = (named.peek(), fitting.iter().all(|part| part.name != *name)) {
                let what = format!(
                    "it has {count} vertices{}, but the object \"{name:.100}\" of the rig has {}{}",
                    mesh.map(faces).unwrap_or_default(),
                    range.len(),
                    faces(&Self::cut(rig, &rig.objects[0], range.clone()).mesh)
                );
                let hint = "sculpt the mesh that the rig has, or give the sculpt the name of the object that it covers";
                return Err(FileError::lacks(path, what, hint));
            }
            if fitting.iter().filter(|part| part.name == *name).count() == 1 {
                return Ok(fitting.into_iter().find(|part| part.name == *name));
            }
        }
        match &fitting[..] {
            [first, second, ..] => {
                let (a, b) = (&first.name, &second.name);
                let what = format!(
                    "its {count} vertices could be those of the object \"{a:.100}\" or \"{b:.100}\", which have as many"
                );
                let hint = "name the mesh in the file as the object that it covers (an OBJ file says it by a line `o NAME`); `dermis inspect` lists \
                            the objects of a rig";
                Err(FileError::lacks(path, what, hint))
            }
            _ => Ok(fitting.into_iter().next()),
        }
    }

    /// An object as a mesh of its own.
    fn cut(rig: &Mesh, object: &MeshObject, range: Range<usize>) -> Self {
        let own = |vertex: u32| range.contains(&(vertex as usize));
        let moved = |vertex: u32| vertex - range.start as u32;
        let is_own = |corners: &&[u32; 3]| own(corners[0]);
        let mut polygons = rig.polygons.as_ref().map(|_| Polygons::default());
        if let (Some(made), Some(all)) = (&mut polygons, &rig.polygons) {
            for corners in all.iter().filter(|corners| corners.first().is_some_and(|corner| own(*corner))) {
                made.counts.push(corners.len() as u32);
                made.indices.extend(corners.iter().map(|corner| moved(*corner)));
            }
        }
        let render = rig.render.as_ref().map(|render| RenderMesh {
            source: render.source.iter().copied().filter(|vertex| own(*vertex)).map(moved).collect(),
            by_corner: render.by_corner,
            ..RenderMesh::default()
        });
        let mesh = Mesh {
            positions: rig.positions[range.clone()].to_vec(),
            triangles: rig.triangles.iter().filter(is_own).map(|corners| corners.map(moved)).collect(),
            polygons,
            render,
            ..Mesh::default()
        };
        Self { name: object.name.clone(), range, mesh }
    }

    /// Whether shapes of `count` vertices, with the faces of `other` if they have any, could be of this object.
    fn fits(&self, other: Option<&Mesh>, count: usize) -> bool {
        let own = &self.mesh;
        let drawn = own.render.as_ref().filter(|render| !render.by_corner).map(|render| render.source.len());
        let polygons = |mesh: &Mesh| mesh.polygons.as_ref().map(|polygons| polygons.counts.len());
        let same_faces = |other: &Mesh| match (polygons(own), polygons(other)) {
            _ if other.triangles.is_empty() => true,
            (Some(own), Some(others)) if own != others => false,
            _ => own.triangles.len() == other.triangles.len(),
        };
        (count == own.positions.len() || drawn == Some(count)) && other.is_none_or(same_faces)
    }

    /// How the object's vertices are matched: as far apart as those of the rig may be.
    pub fn options(&self, rig: &Mesh, options: &ReadOptions) -> ReadOptions {
        let grows = rig.diagonal() / self.mesh.diagonal();
        let match_tolerance = options.match_tolerance * if grows.is_finite() { grows } else { 1.0 };
        ReadOptions { match_tolerance, ..options.clone() }
    }

    /// The whole skin, of which the object is `own`; the rest is `elsewhere`.
    pub fn within(&self, own: &[DVec3], mut elsewhere: Vec<DVec3>) -> Vec<DVec3> {
        elsewhere[self.range.clone()].copy_from_slice(own);
        elsewhere
    }

    /// What a sculpt of the object says of the whole skin: that it was touched nowhere else.
    pub fn local(&self, own: Option<&LocalSculpt>, elsewhere: &[DVec3]) -> LocalSculpt {
        let shown = own.and_then(|local| local.shown.as_ref());
        let mut mask = vec![false; elsewhere.len()];
        let touched = own.and_then(|local| local.mask.as_ref());
        mask[self.range.clone()]
            .iter_mut()
            .enumerate()
            .for_each(|(at, bit)| *bit = touched.is_none_or(|mask| mask[at]));
        // A mask that is to be found comes from what was shown, where all else is untouched.
        let is_found = touched.is_none() && shown.is_some();
        LocalSculpt {
            mask: (!is_found).then_some(mask),
            shown: shown.map(|shown| self.within(shown, elsewhere.to_vec())),
        }
    }
}

/// The vertices of an object that differ from what was shown as those that were touched; `None` if none does.
pub(super) fn found(rig: &Rig, sculpt: &Example, object: &Range<usize>, shown: &[DVec3]) -> Option<LocalSculpt> {
    let least = TOUCHED * rig.mesh().extent();
    let differs = |v: usize| object.contains(&v) && sculpt.positions[v].distance(shown[v]) > least;
    let mask: Vec<bool> = (0..shown.len()).map(differs).collect();
    mask.contains(&true).then_some(LocalSculpt { mask: Some(mask), shown: None })
}

/// Triangles or polygons, in words that follow a number of vertices; nothing of a mesh without.
fn faces(mesh: &Mesh) -> String {
    match &mesh.polygons {
        Some(polygons) if !polygons.counts.is_empty() => format!(" and {} polygons", polygons.counts.len()),
        _ if mesh.triangles.is_empty() => String::new(),
        _ => format!(" and {} triangles", mesh.triangles.len()),
    }
}
