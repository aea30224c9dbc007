//! The drawn mesh as the meshes of a file: one for every object, or one for all.

use super::mesh::runs;
use super::vertices::Vertices;
use dermis_rig::glam::{DVec2, DVec3, Vec4};
use dermis_rig::mesh::RenderPart;
use dermis_rig::{Mesh, MorphTarget, RenderMesh};
use std::borrow::Cow;

/// What is drawn of one object.
#[derive(Default)]
pub(super) struct DrawnObject<'a> {
    /// Its written vertices among all, in their order.
    pub(super) rows: Vec<u32>,
    /// Its triangles: their part, the first, and the one after the last.
    pub(super) runs: Vec<(Option<&'a RenderPart>, usize, usize)>,
    /// Whether it has morph targets.
    pub(super) has_targets: bool,
}

/// What is drawn of every object; of a mesh that is not several, all as one.
pub(super) struct DrawnObjects<'a> {
    pub(super) list: Vec<DrawnObject<'a>>,
    /// The place of every written vertex among those of its object.
    pub(super) place: Vec<u32>,
}

impl<'a> DrawnObjects<'a> {
    /// - `drawn`: the written vertices of `render`
    /// - `morphs`: with one displacement per vertex; an object that none of them moves has none, unless none moves anything
    pub(super) fn new(mesh: &Mesh, render: &'a RenderMesh, drawn: &Vertices, morphs: &[MorphTarget]) -> Self {
        let count = drawn.source.len() as u32;
        if !mesh.has_several_objects() {
            let only = DrawnObject { rows: (0..count).collect(), runs: runs(render), has_targets: !morphs.is_empty() };
            return Self { list: vec![only], place: (0..count).collect() };
        }
        let numbers = mesh.object_numbers();
        let moves = |range: std::ops::Range<usize>| {
            morphs.iter().any(|morph| morph.deltas[range.clone()].iter().any(|delta| *delta != DVec3::ZERO))
        };
        let object = |(_, range)| DrawnObject { has_targets: moves(range), ..DrawnObject::default() };
        let mut list: Vec<DrawnObject<'a>> = mesh.object_ranges().map(object).collect();
        if list.iter().all(|object| !object.has_targets) {
            list.iter_mut().for_each(|object| object.has_targets = !morphs.is_empty());
        }
        let mut place = Vec::with_capacity(drawn.source.len());
        for (row, &vertex) in (0..count).zip(&drawn.source) {
            let rows = &mut list[numbers[vertex as usize] as usize].rows;
            place.push(rows.len() as u32);
            rows.push(row);
        }
        for (part, from, to) in runs(render) {
            let number =
                |triangle: usize| numbers[render.source[render.triangles[triangle][0] as usize] as usize] as usize;
            let mut start = from;
            while start < to {
                let own = number(start);
                let end = (start + 1..to).find(|&at| number(at) != own).unwrap_or(to);
                list[own].runs.push((part, start, end));
                start = end;
            }
        }
        Self { list, place }
    }
}

/// The drawn mesh, in which every object has drawn vertices: where nothing is drawn of one, its vertices as they are.
pub(super) fn with_every_object<'a>(render: &'a RenderMesh, mesh: &Mesh) -> Cow<'a, RenderMesh> {
    if !mesh.has_several_objects() {
        return Cow::Borrowed(render);
    }
    let numbers = mesh.object_numbers();
    let mut is_drawn = vec![false; mesh.objects.len()];
    render.source.iter().for_each(|&vertex| is_drawn[numbers[vertex as usize] as usize] = true);
    let hidden = mesh.object_ranges().zip(&is_drawn).filter(|(_, is_drawn)| !**is_drawn);
    let added: Vec<u32> = hidden.flat_map(|((_, range), _)| range).map(|vertex| vertex as u32).collect();
    if added.is_empty() {
        return Cow::Borrowed(render);
    }
    let mut made = render.clone();
    made.source.extend(&added);
    let count = made.source.len();
    let pad = |set: &mut Vec<DVec2>| set.resize(if set.is_empty() { 0 } else { count }, DVec2::ZERO);
    pad(&mut made.uvs);
    made.more_uvs.iter_mut().for_each(pad);
    if !made.normals.is_empty() {
        made.normals.resize(count, DVec3::ZERO); // none of their own
    }
    if !made.colors.is_empty() {
        let own = |&vertex: &u32| mesh.colors.as_ref().map_or(Vec4::ONE, |colors| colors[vertex as usize]);
        made.colors.extend(added.iter().map(own));
    }
    Cow::Owned(made)
}
