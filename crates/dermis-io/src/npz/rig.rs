//! Mesh, skeleton and weights of a bundle.

use super::archive::Bundle;
use super::{damaged, matrix};
use crate::npy::{Array, Shape};
use crate::polygons::Split;
use crate::surface;
use crate::{Contents, Flaw, Format, ReadError, Space, Warning};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Mesh, MeshObject, Polygons, Skeleton};
use std::io::{Read, Seek};

impl<R: Read + Seek> Bundle<R> {
    /// What a bundle holds beside records, and the bones' order: `order[new] = old`.
    pub(super) fn rig(&mut self, name: &str) -> Result<(Contents, Option<Vec<usize>>), ReadError> {
        let mut warnings = Vec::new();
        let space = self.space(&mut warnings)?;
        let mesh = self.mesh(&space, &mut warnings)?;
        let vertices = mesh.as_ref().map(|mesh| mesh.positions.len());
        let (skeleton, order) = self.skeleton(&space, &mut warnings)?.unzip();
        let order_of = order.as_deref();
        let weights = self.influences("lbs_weights", vertices, order_of)?;
        let weights = weights.map(|table| normalised(&table, &mut warnings));
        let influence_maps = self.influences("influence_maps", vertices, order_of)?;
        let frames_per_second = self.frames_per_second()?;
        let bone_names = match &skeleton {
            None if self.members.contains_key("pose_matrices") => self.texts("bone_names", None)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        let contents = Contents {
            name: name.to_owned(),
            format: Format::Npz,
            space,
            mesh,
            skeleton,
            bone_names,
            weights,
            influence_maps,
            frames_per_second,
            warnings,
            ..Contents::default()
        };
        Ok((contents, order))
    }

    fn mesh(&mut self, space: &Space, warnings: &mut Vec<Warning>) -> Result<Option<Mesh>, ReadError> {
        let Some((rest, [vertices, _])) = self.numbers("rest_vertices", [None, Some(3)])? else { return Ok(None) };
        let to_ours = space.to_ours();
        let positions =
            (0..vertices).map(|v| to_ours.transform_point3(DVec3::from([0, 1, 2].map(|c| rest.number([v, c])))));
        let mut mesh = Mesh { positions: positions.collect(), ..Mesh::default() };
        drop(rest);
        self.faces(&mut mesh, warnings)?;
        mesh.objects = self.objects()?;
        mesh.check()?;
        warnings.extend(surface::flaws(&mesh));
        Ok(Some(mesh))
    }

    /// Takes the objects of a mesh; whether they cover it, its check says.
    fn objects(&mut self) -> Result<Vec<MeshObject>, ReadError> {
        let counts = self.integers("object_counts", [None])?;
        let objects = counts.as_ref().map(|(_, [objects])| *objects);
        let (names, visible) = (self.texts("object_names", objects)?, self.numbers("object_visible", [objects])?);
        let Some((counts, [objects])) = counts else {
            return match names.is_some() || visible.is_some() {
                true => Err(damaged("there are names or visibilities of objects, but no \"object_counts\"".into())),
                false => Ok(Vec::new()),
            };
        };
        let mut names = names.ok_or_else(|| damaged("there is \"object_counts\", but no \"object_names\"".into()))?;
        let object = |(at, name): (usize, &mut String)| {
            let count = counts.integer([at]).unwrap_or(i64::MAX);
            let vertices = u32::try_from(count)
                .map_err(|_| damaged(format!("array \"object_counts\": object {at} has {count} vertices")))?;
            let visible = visible.as_ref().is_none_or(|(visible, _)| visible.number([at]) != 0.0);
            Ok(MeshObject { name: std::mem::take(name), vertices, visible })
        };
        (0..objects).zip(&mut names).map(object).collect()
    }

    /// Takes the polygons and triangles of a mesh.
    fn faces(&mut self, mesh: &mut Mesh, warnings: &mut Vec<Warning>) -> Result<(), ReadError> {
        let vertices = mesh.positions.len();
        let corner = |key: &str, face: usize, vertex: Option<i64>| {
            let vertex = vertex.unwrap_or(i64::MAX); // beyond 63 bits
            u32::try_from(vertex).ok().filter(|&v| (v as usize) < vertices).ok_or_else(|| {
                damaged(format!(
                    "array \"{key}\": entry {face} names vertex {vertex}, but there are {vertices} vertices"
                ))
            })
        };
        let (counts, indices) = (self.integers("face_counts", [None])?, self.integers("face_indices", [None])?);
        mesh.polygons = match (counts, indices) {
            (Some((counts, [faces])), Some((indices, [corners]))) => {
                let count = |face| {
                    let count = counts.integer([face]).unwrap_or(i64::MAX);
                    u32::try_from(count)
                        .ok()
                        .filter(|&c| c >= 3)
                        .ok_or_else(|| damaged(format!("array \"face_counts\": polygon {face} has {count} corners")))
                };
                Some(Polygons {
                    counts: (0..faces).map(count).collect::<Result<_, _>>()?,
                    indices: (0..corners)
                        .map(|at| corner("face_indices", at, indices.integer([at])))
                        .collect::<Result<_, _>>()?,
                })
            }
            (None, None) => None,
            (Some(_), None) => return Err(damaged("there is \"face_counts\", but no \"face_indices\"".into())),
            (None, Some(_)) => return Err(damaged("there is \"face_indices\", but no \"face_counts\"".into())),
        };
        let listed = self.integers("faces", [None, None])?;
        let of = |array: &Array, face: usize, column| corner("faces", face, array.integer([face, column]));
        match &listed {
            Some((array, [faces, 3])) => {
                mesh.triangles.reserve_exact(*faces);
                for face in 0..*faces {
                    mesh.triangles.push([of(array, face, 0)?, of(array, face, 1)?, of(array, face, 2)?]);
                }
            }
            Some((array, [faces, 4])) => {
                let mut quads = Polygons::default();
                for face in 0..*faces {
                    quads.indices.extend([of(array, face, 0)?, of(array, face, 1)?, of(array, face, 2)?]);
                    let is_triangle = array.integer_or_none([face, 3], vertices) == Some(-1)
                        || array.integer([face, 3]) == array.integer([face, 2]);
                    quads.counts.push(if is_triangle { 3 } else { 4 });
                    quads.indices.extend(if is_triangle { None } else { Some(of(array, face, 3)?) });
                }
                let named = mesh.polygons.get_or_insert_with(|| quads.clone());
                let differs = "the quads of \"faces\" are not the polygons of \"face_counts\"".to_owned();
                surface::count(warnings, Flaw::CountMismatch, (*named != quads).then_some(differs));
            }
            Some((array, _)) => {
                let shape = Shape(array.shape());
                return Err(damaged(format!(
                    "array \"faces\" has shape {shape}, but (any, 3) or (any, 4) is expected"
                )));
            }
            None => {}
        }
        let Some(polygons) = &mesh.polygons else { return Ok(()) };
        if mesh.triangles.is_empty() {
            let split = Split::new(polygons, &mesh.positions);
            split.warn(warnings);
            mesh.triangles = split.over(&polygons.indices);
        }
        // Corners that do not add up are reported by the check of the mesh.
        let expected = polygons.indices.len().saturating_sub(2 * polygons.counts.len());
        let found = mesh.triangles.len();
        let differs = format!("{found} triangles in \"faces\", {expected} by \"face_counts\"");
        surface::count(warnings, Flaw::CountMismatch, (found != expected).then_some(differs));
        Ok(())
    }

    /// The skeleton, parents first, and its order: `order[new] = old`.
    fn skeleton(
        &mut self,
        space: &Space,
        warnings: &mut Vec<Warning>,
    ) -> Result<Option<(Skeleton, Vec<usize>)>, ReadError> {
        let Some((matrices, [bones, ..])) = self.numbers("bind_matrices", [None, Some(4), Some(4)])? else {
            return Ok(None);
        };
        let missing = |key: &str| damaged(format!("there is \"bind_matrices\", but no \"{key}\""));
        let mut names = self.texts("bone_names", Some(bones))?.ok_or_else(|| missing("bone_names"))?;
        let (parents, _) = self.integers("bone_parents", [Some(bones)])?.ok_or_else(|| missing("bone_parents"))?;
        let renamed = dermis_rig::make_unique(&mut names, ".").into_iter().map(|(_, name)| name);
        surface::count(warnings, Flaw::DuplicateName, renamed);
        let parents: Vec<i64> = (0..bones).map(|b| parents.integer_or_none([b], bones).unwrap_or(i64::MAX)).collect();
        if let Some(bone) = parents.iter().position(|p| *p < -1) {
            let (name, parent) = (&names[bone], parents[bone]);
            return Err(damaged(format!("array \"bone_parents\": bone \"{name}\" has parent {parent}; a root has -1")));
        }
        let mut bind = Vec::with_capacity(bones);
        for bone in 0..bones {
            let matrix = matrix(|row, column| matrices.number([bone, row, column]))
                .map_err(|reason| damaged(format!("array \"bind_matrices\", bone \"{}\": {reason}", names[bone])))?;
            bind.push(space.joint_to_ours(matrix));
        }
        let (skeleton, order) = Skeleton::sorted(names, &parents, &bind)?;
        let moved = skeleton.names().iter().zip(&order).enumerate().filter(|(new, (_, old))| new != *old);
        surface::count(warnings, Flaw::BonesReordered, moved.map(|(_, (name, _))| name.clone()));
        Ok(Some((skeleton, order)))
    }

    /// Takes a (vertices, bones) table, its columns brought into the skeleton's order.
    fn influences(
        &mut self,
        key: &str,
        vertices: Option<usize>,
        order: Option<&[usize]>,
    ) -> Result<Option<Influences>, ReadError> {
        let Some((table, [vertices, bones])) = self.numbers(key, [vertices, order.map(<[_]>::len)])? else {
            return Ok(None);
        };
        let column = |bone: usize| order.map_or(bone, |order| order[bone]);
        let rows = (0..vertices).map(|v| {
            let values = (0..bones).map(|b| (BoneIndex::new(b), table.number([v, column(b)])));
            values.filter(|(_, value)| *value != 0.0).collect()
        });
        Influences::from_rows(rows).map(Some).map_err(|e| damaged(format!("array \"{key}\": {e}")))
    }

    fn frames_per_second(&mut self) -> Result<Option<f64>, ReadError> {
        let Some(array) = self.take("fps")? else { return Ok(None) };
        let rate = match array.shape() {
            [] => array.number([]),
            [1] => array.number([0]),
            shape => return Err(damaged(format!("array \"fps\" has shape {}; one number is expected", Shape(shape)))),
        };
        if !rate.is_finite() || rate <= 0.0 {
            return Err(damaged(format!("\"fps\" is {rate}; it must be positive")));
        }
        Ok(Some(rate))
    }
}

/// Weights that sum to one, with a warning for each kind of flaw mended.
fn normalised(table: &Influences, warnings: &mut Vec<Warning>) -> Influences {
    let (weights, mended) = table.normalised();
    let sum = |row: &[(BoneIndex, f64)]| row.iter().fold(0.0, |sum, (_, w)| sum + w.max(0.0));
    let mut warn = |flaw, count: usize, is_flawed: &dyn Fn(&[(BoneIndex, f64)]) -> bool| {
        if count > 0 {
            let first = table.rows().enumerate().find(|(_, row)| is_flawed(row));
            let first = first.map(|(vertex, row)| format!("vertex {vertex}, sum {}", sum(row)));
            warnings.push(Warning { flaw, count, first });
        }
    };
    warn(Flaw::WeightSum, mended.rescaled, &|row| sum(row) > 0.0 && (sum(row) - 1.0).abs() > 1e-6);
    warn(Flaw::NegativeWeight, mended.negative, &|row| row.iter().any(|(_, w)| *w < 0.0));
    warn(Flaw::Unbound, mended.unbound, &|row| sum(row) <= 0.0 || !sum(row).is_finite());
    weights
}
