// What the two shaders of mesh normals share. A shader is this file and `faces.wgsl` or `normals.wgsl`.
struct Mesh {
    vertices: u32,
    poses: u32,
    faces: u32,
    row: u32, // workgroups per row of the dispatch
    row_of_faces: u32,
    starts: u32, // in words, of the faces at every vertex: see the list of the shaders of positions
    counts: u32,
    indices: u32,
}

@group(0) @binding(0) var<uniform> mesh: Mesh;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read> words: array<u32>; // three vertices a face, then the list
@group(0) @binding(3) var<storage, read_write> faces: array<f32>;
@group(0) @binding(4) var<storage, read_write> normals: array<f32>;
