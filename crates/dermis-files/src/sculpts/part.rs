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
        let sizes = Size::of_objects(rig);
        let objects = || rig.object_ranges().zip(&sizes);
        let fitting: Vec<_> = objects().filter(|(_, size)| size.fits(mesh, count)).map(|(object, _)| object).collect();
        let cut = |(object, range): &(&MeshObject, Range<usize>)| Ok(Some(Self::cut(rig, object, range.clone())));
        if let Some([MeshObject { name, .. }]) = mesh.map(|mesh| &mesh.objects[..]) {
            let mut named = objects().filter(|((object, _), _)| object.name == *name);
            let fitting: Vec<_> = fitting.iter().filter(|(object, _)| object.name == *name).collect();
            match (&fitting[..], named.next()) {
                ([only], _) => return cut(only),
                ([], Some((_, size))) => {
                    let (found, has) = size.beside(mesh, count);
                    let what = format!("it has {found}, but the object \"{name:.100}\" of the rig has {has}");
                    let hint =
                        "sculpt the mesh that the rig has, or give the sculpt the name of the object that it covers";
                    return Err(FileError::lacks(path, what, hint));
                }
                _ => {}
            }
        }
        match &fitting[..] {
            [(first, _), (second, _), ..] => {
                let (a, b) = (&first.name, &second.name);
                let what = format!(
                    "its {count} vertices could be those of the object \"{a:.100}\" or \"{b:.100}\", which have as many"
                );
                let hint = "name the mesh in the file as the object that it covers (in an OBJ file by a line \"o NAME\"); \
                            `dermis inspect` lists the objects of a rig";
                Err(FileError::lacks(path, what, hint))
            }
            [only] => cut(only),
            [] => Ok(None),
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

/// How large an object is.
struct Size {
    vertices: usize,
    /// Vertices that its file draws, if it lists any.
    drawn: Option<usize>,
    triangles: usize,
    polygons: Option<usize>,
}

impl Size {
    fn of_objects(rig: &Mesh) -> Vec<Self> {
        let drawn = rig.render.as_ref().filter(|render| !render.by_corner);
        let size = |object: &MeshObject| Self {
            vertices: object.vertices as usize,
            drawn: drawn.map(|_| 0),
            triangles: 0,
            polygons: rig.polygons.as_ref().map(|_| 0),
        };
        let mut sizes: Vec<Self> = rig.objects.iter().map(size).collect();
        let numbers = rig.object_numbers();
        let of = |vertex: u32| numbers[vertex as usize] as usize;
        rig.triangles.iter().for_each(|corners| sizes[of(corners[0])].triangles += 1);
        for &vertex in drawn.iter().flat_map(|render| &render.source) {
            sizes[of(vertex)].drawn.iter_mut().for_each(|count| *count += 1);
        }
        for vertex in rig.polygons.iter().flat_map(|polygons| polygons.iter()).filter_map(|corners| corners.first()) {
            sizes[of(*vertex)].polygons.iter_mut().for_each(|count| *count += 1);
        }
        sizes
    }

    /// Whether shapes of `count` vertices, with the faces of `other` if they have any, could be of this object.
    fn fits(&self, other: Option<&Mesh>, count: usize) -> bool {
        let same_faces = |other: &Mesh| match (self.polygons, polygons(other)) {
            _ if other.triangles.is_empty() => true,
            (Some(own), Some(others)) if own != others => false,
            _ => self.triangles == other.triangles.len(),
        };
        (count == self.vertices || self.drawn == Some(count)) && other.is_none_or(same_faces)
    }

    /// What a file of `count` vertices has, and what the object has, in words: polygons if both have some, else triangles.
    fn beside(&self, other: Option<&Mesh>, count: usize) -> (String, String) {
        let own = self.vertices;
        match (other, self.polygons, other.and_then(polygons)) {
            (_, Some(has), Some(found)) => {
                (format!("{count} vertices and {found} polygons"), format!("{own} and {has}"))
            }
            (Some(other), _, _) => {
                let (found, has) = (other.triangles.len(), self.triangles);
                (format!("{count} vertices and {found} triangles"), format!("{own} and {has}"))
            }
            (None, _, _) => (format!("{count} vertices"), own.to_string()),
        }
    }
}

fn polygons(mesh: &Mesh) -> Option<usize> {
    mesh.polygons.as_ref().map(|polygons| polygons.counts.len())
}
