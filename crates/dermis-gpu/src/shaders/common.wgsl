// What all shaders of positions share. A shader is this file, one file `base_*.wgsl`, one file `correction_*.wgsl` and
// `positions.wgsl`, one after the other. Bindings and layouts: docs/gpu.md.

// A list of terms per vertex, stored for 32 neighbours at once: term k of vertex v is at place
// words[starts + v / 32] + 32 k + v % 32 of each of the list's arrays, so that neighbours read neighbouring words.
struct List {
    starts: u32,  // in words: the first place of every 32 vertices
    counts: u32,  // in words: the number of terms of every vertex
    indices: u32, // in words: what each term refers to
    values: u32,  // where the terms' numbers begin: in words, coefficients or extras
}

struct Model {
    vertices: u32,
    poses: u32,
    stride: u32, // vec4 per pose
    row: u32,    // workgroups per row of the dispatch
    base: List,
    correction: List,
    weights: List,
    shared_part: List,
    // In words, unless said otherwise.
    anchors: u32,
    relevance: u32,
    // 1: write normals, 2: the pose is welded, 8: a joint model has a layer, 16: correct what the pass before wrote, 32: another pass
    // follows, so that positions stay without the shift
    flags: u32,
    choice: u32, // the frame of a joint model, the carrier of shapes
    // Sections of a pose, in vec4 from its beginning.
    rows: u32,
    quaternions: u32,
    turns: u32,
    bones: u32,
    frames: u32,
    features: u32,
    per_length: f32, // 10 / L
    neighbourhoods: u32, // in extras: two vec4 per vertex of direct delta mush, plane after plane
    layer: List,         // the shapes of a joint model
    shapes: u32,         // section of a pose: weight and reach of every shape of the layer
    corners: u32,        // in words: where the corners of every vertex of corrective smoothing begin, two words each, and the last end
    centres: u32,        // in extras: where the smoothed surface of corrective smoothing is at rest
    unused: u32,
}

// How the base moves a vertex: its position less the character's shift, and the rows of its linear map.
struct Posed {
    position: vec3f,
    x: vec3f,
    y: vec3f,
    z: vec3f,
    // What turns a normal where the map above has rank one: the pose's rows of the heaviest bone.
    heaviest: u32,
}

@group(0) @binding(0) var<uniform> model: Model;
@group(0) @binding(1) var<storage, read> poses: array<vec4f>;
@group(0) @binding(2) var<storage, read> rest: array<vec4f>;
@group(0) @binding(3) var<storage, read> words: array<u32>;
@group(0) @binding(4) var<storage, read> coefficients: array<vec4f>;
@group(0) @binding(5) var<storage, read> extras: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> positions: array<f32>;
@group(0) @binding(7) var<storage, read_write> normals: array<f32>;

const NONE: u32 = 0xffffffffu;

// The place of the first term of vertex v; the others follow 32 apart.
fn first(list: List, v: u32) -> u32 {
    return words[list.starts + v / 32u] + v % 32u;
}

fn count(list: List, v: u32) -> u32 {
    return words[list.counts + v];
}

// Of numbers that come `size` vec4 a term: the place of the first of term k of vertex v; the others follow 32 apart.
fn block(list: List, v: u32, k: u32, size: u32) -> u32 {
    return words[list.starts + v / 32u] * size + 32u * size * k + v % 32u;
}

// M x, of the three rows of M at a place in the poses.
fn applied(at: u32, x: vec4f) -> vec3f {
    return vec3f(dot(poses[at], x), dot(poses[at + 1u], x), dot(poses[at + 2u], x));
}

fn finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}
