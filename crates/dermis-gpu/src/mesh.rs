//! The mesh as the shaders of normals read it.

use crate::GpuError;
use crate::list::{Places, append};
use bytemuck::{Pod, Zeroable};
use dermis_rig::MeshError;

/// `Mesh` of the shaders, the uniform buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct MeshHeader {
    pub(crate) vertices: u32,
    pub(crate) poses: u32,
    pub(crate) faces: u32,
    pub(crate) row: u32,
    pub(crate) row_of_faces: u32,
    starts: u32,
    counts: u32,
    indices: u32,
}

pub(crate) struct MeshArrays {
    pub(crate) header: MeshHeader,
    /// Three vertices a face, then the list of faces at every vertex, in ascending order.
    pub(crate) words: Vec<u32>,
}

impl MeshArrays {
    pub(crate) fn new(triangles: &[[u32; 3]], vertices: usize) -> Result<Self, GpuError> {
        crate::buffers::fits("triangles", triangles.len() as u64, u64::from(u32::MAX) / 3)?;
        let mut offsets = vec![0u32; vertices + 1];
        for (face, corners) in triangles.iter().enumerate() {
            for &corner in corners {
                let vertex = corner as usize;
                if vertex >= vertices {
                    return Err(MeshError::IndexOutOfRange { face, vertex, vertices }.into());
                }
                offsets[vertex + 1] += 1;
            }
        }
        (0..vertices).for_each(|v| offsets[v + 1] += offsets[v]);
        let (mut next, mut faces) = (offsets.clone(), vec![0u32; 3 * triangles.len()]);
        for (face, &corner) in
            triangles.iter().enumerate().flat_map(|(face, corners)| corners.iter().map(move |c| (face, c)))
        {
            let place = &mut next[corner as usize];
            faces[*place as usize] = face as u32;
            *place += 1;
        }
        let places = Places::new(&offsets)?;
        let mut words = triangles.as_flattened().to_vec();
        let (starts, counts) = places.tables(&mut words);
        let indices = append(&mut words, &places.plane(|t| faces[t]));
        crate::buffers::fits("words of the mesh", words.len() as u64, u32::MAX.into())?;
        let (vertices, faces) = (vertices as u32, triangles.len() as u32);
        Ok(Self { header: MeshHeader { vertices, faces, starts, counts, indices, ..MeshHeader::default() }, words })
    }
}
