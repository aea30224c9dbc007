//! Sculpts that cover some objects of the rig: an artist sends the shirt alone.

use crate::error::FileError;
use crate::load::ReadOptions;
use dermis_io::Contents;
use dermis_rig::examples::TOUCHED;
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, LocalSculpt, Mesh, MeshObject, Polygons, RenderMesh, Rig};
use std::ops::Range;
use std::path::Path;

/// The objects that a sculpt covers.
pub(super) struct Part {
    names: Vec<String>,
    /// Their vertices in the rig, in the order of the sculpt's file.
    pub vertices: Vec<u32>,
    /// The objects as a mesh of their own.
    pub mesh: Mesh,
}

/// Objects of the rig that objects of a file may be.
struct Objects<'a> {
    rig: &'a Mesh,
    sizes: Vec<Size>,
    ranges: Vec<Range<usize>>,
    path: &'a Path,
}

impl Part {
    /// Returns the objects that the shapes of a file cover, of `count` vertices each; `None` if they cover the rig, or no object either.
    ///
    /// A file of one mesh covers the object of its name, else the one that has as many vertices and faces. A file of several covers as
    /// many objects.
    ///
    /// # Errors
    /// [`FileError::Lacks`] if several objects have as many, or the one of that name has not, or one of several meshes is no object.
    pub fn of(rig: &Mesh, contents: &Contents, count: usize, path: &Path) -> Result<Option<Self>, FileError> {
        let drawn = rig.render.as_ref().filter(|render| !render.by_corner).map(|render| render.source.len());
        if !rig.has_several_objects() || count == rig.positions.len() || drawn == Some(count) {
            return Ok(None);
        }
        let ranges = rig.object_ranges().map(|(_, range)| range).collect();
        let objects = Objects { rig, sizes: Size::of_objects(rig), ranges, path };
        let mesh = contents.mesh.as_ref().filter(|mesh| mesh.positions.len() == count);
        let name = mesh.and_then(|mesh| if let [only] = &mesh.objects[..] { Some(&*only.name) } else { None });
        if let Some(object) = objects.find(name, &Size::of(mesh, count))? {
            return Ok(Some(objects.cut(&[object])));
        }
        let Some(mesh) = mesh.filter(|mesh| mesh.has_several_objects()) else { return Ok(None) };
        let mut found: Vec<usize> = Vec::new();
        for (own, size) in mesh.objects.iter().zip(Size::of_objects(mesh)) {
            let (name, vertices) = (&own.name, size.vertices);
            let what = match objects.find(Some(name), &size)? {
                None => format!(
                    "no object of the rig has the {vertices} vertices and the faces of its object \"{name:.100}\""
                ),
                Some(object) if found.contains(&object) => {
                    format!("two of its objects are \"{:.100}\" of the rig", rig.objects[object].name)
                }
                Some(object) => {
                    found.push(object);
                    continue;
                }
            };
            return Err(FileError::lacks(path, what, KEEP_NAMES));
        }
        Ok(Some(objects.cut(&found)))
    }

    /// The objects by their names.
    pub fn names(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("\"{name:.100}\"")).collect();
        match &names[..] {
            [only] => format!("object {only}"),
            _ => format!("objects {}", names.join(", ")),
        }
    }

    /// How the objects' vertices are matched: as far apart as those of the rig may be.
    pub fn options(&self, rig: &Mesh, options: &ReadOptions) -> ReadOptions {
        let grows = rig.diagonal() / self.mesh.diagonal();
        let match_tolerance = options.match_tolerance * if grows.is_finite() { grows } else { 1.0 };
        ReadOptions { match_tolerance, ..options.clone() }
    }

    /// The whole skin: the objects at `own`, the rest at `elsewhere`.
    pub fn within(&self, own: &[DVec3], mut elsewhere: Vec<DVec3>) -> Vec<DVec3> {
        self.vertices.iter().zip(own).for_each(|(&v, p)| elsewhere[v as usize] = *p);
        elsewhere
    }

    /// What a sculpt of the objects says of the whole skin: that it was touched nowhere else.
    pub fn local(&self, own: Option<&LocalSculpt>, elsewhere: &[DVec3]) -> LocalSculpt {
        let shown = own.and_then(|local| local.shown.as_ref());
        let mut mask = vec![false; elsewhere.len()];
        let touched = own.and_then(|local| local.mask.as_ref());
        for (at, &v) in self.vertices.iter().enumerate() {
            mask[v as usize] = touched.is_none_or(|mask| mask[at]);
        }
        // A mask that is to be found comes from what was shown, where all else is untouched.
        let is_found = touched.is_none() && shown.is_some();
        LocalSculpt {
            mask: (!is_found).then_some(mask),
            shown: shown.map(|shown| self.within(shown, elsewhere.to_vec())),
        }
    }
}

const KEEP_NAMES: &str = "name the mesh in the file as the object that it covers (in an OBJ file by a line \"o NAME\"); `dermis inspect` lists the \
                          objects of a rig";

impl Objects<'_> {
    /// The object of that name, if it is as large, else the only one that is; `None` if none is.
    fn find(&self, name: Option<&str>, size: &Size) -> Result<Option<usize>, FileError> {
        let own = |at: &usize| &*self.rig.objects[*at].name;
        let fitting: Vec<usize> = (0..self.sizes.len()).filter(|&at| self.sizes[at].fits(size)).collect();
        if let Some(name) = name {
            let named: Vec<usize> = fitting.iter().copied().filter(|at| own(at) == name).collect();
            let other = (0..self.sizes.len()).find(|at| own(at) == name);
            match (&named[..], other) {
                ([only], _) => return Ok(Some(*only)),
                ([], Some(other)) => {
                    let (found, has) = self.sizes[other].beside(size);
                    let what = format!("it has {found}, but the object \"{name:.100}\" of the rig has {has}");
                    let hint =
                        "sculpt the mesh that the rig has, or give the sculpt the name of the object that it covers";
                    return Err(FileError::lacks(self.path, what, hint));
                }
                _ => {}
            }
        }
        match &fitting[..] {
            [first, second, ..] => {
                let (a, b, count) = (own(first), own(second), size.vertices);
                let what = format!(
                    "its {count} vertices could be those of the object \"{a:.100}\" or \"{b:.100}\", which have as many"
                );
                Err(FileError::lacks(self.path, what, KEEP_NAMES))
            }
            [only] => Ok(Some(*only)),
            [] => Ok(None),
        }
    }

    /// Some objects as a mesh of their own, in the order in which they are named.
    fn cut(&self, objects: &[usize]) -> Part {
        let rig = self.rig;
        let ranges = || objects.iter().map(|&object| self.ranges[object].clone());
        let mut place: Vec<Option<u32>> = vec![None; rig.positions.len()];
        let vertices: Vec<u32> = ranges().flatten().map(|v| v as u32).collect();
        (0u32..).zip(&vertices).for_each(|(at, &v)| place[v as usize] = Some(at));
        let own = |vertex: u32| place[vertex as usize];
        let mut polygons = rig.polygons.as_ref().map(|_| Polygons::default());
        if let (Some(made), Some(all)) = (&mut polygons, &rig.polygons) {
            for corners in all.iter() {
                let Some(moved) = corners.iter().map(|&v| own(v)).collect::<Option<Vec<u32>>>() else { continue };
                made.counts.push(moved.len() as u32);
                made.indices.extend(moved);
            }
        }
        let render = rig.render.as_ref().map(|render| RenderMesh {
            source: ranges()
                .flat_map(|range| render.source.iter().filter(move |vertex| range.contains(&(**vertex as usize))))
                .filter_map(|vertex| own(*vertex))
                .collect(),
            by_corner: render.by_corner,
            ..RenderMesh::default()
        });
        let moved = |corners: &[u32; 3]| Some([own(corners[0])?, own(corners[1])?, own(corners[2])?]);
        let mesh = Mesh {
            positions: vertices.iter().map(|&v| rig.positions[v as usize]).collect(),
            triangles: rig.triangles.iter().filter_map(moved).collect(),
            polygons,
            render,
            ..Mesh::default()
        };
        Part { names: objects.iter().map(|&at| rig.objects[at].name.clone()).collect(), vertices, mesh }
    }
}

/// The vertices of some objects that differ from what was shown as those that were touched; `None` if none does.
pub(super) fn found(rig: &Rig, sculpt: &Example, objects: &[u32], shown: &[DVec3]) -> Option<LocalSculpt> {
    let least = TOUCHED * rig.mesh().extent();
    let mut mask = vec![false; shown.len()];
    for v in objects.iter().map(|&v| v as usize) {
        mask[v] = sculpt.positions[v].distance(shown[v]) > least;
    }
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

    /// Of shapes of `count` vertices, and of their faces if there are any.
    fn of(mesh: Option<&Mesh>, count: usize) -> Self {
        let polygons = mesh.and_then(|mesh| mesh.polygons.as_ref()).map(|polygons| polygons.counts.len());
        Self { vertices: count, drawn: None, triangles: mesh.map_or(0, |mesh| mesh.triangles.len()), polygons }
    }

    /// Whether shapes of another size could be of this object.
    fn fits(&self, other: &Self) -> bool {
        let same_faces = match (self.polygons, other.polygons) {
            _ if other.triangles == 0 => true,
            (Some(own), Some(others)) if own != others => false,
            _ => self.triangles == other.triangles,
        };
        (other.vertices == self.vertices || self.drawn == Some(other.vertices)) && same_faces
    }

    /// What a file of another size has, and what the object has, in words: polygons if both have some, else triangles.
    fn beside(&self, other: &Self) -> (String, String) {
        let (count, own) = (other.vertices, self.vertices);
        match (self.polygons, other.polygons) {
            (Some(has), Some(found)) => (format!("{count} vertices and {found} polygons"), format!("{own} and {has}")),
            _ if other.triangles > 0 => {
                (format!("{count} vertices and {} triangles", other.triangles), format!("{own} and {}", self.triangles))
            }
            _ => (format!("{count} vertices"), own.to_string()),
        }
    }
}
