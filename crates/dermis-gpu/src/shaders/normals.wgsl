// The unit normal of every vertex: the sum over its faces, in ascending order, normalised. Up where there is none.
fn finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let task = group.y * mesh.row + group.x;
    let p = task % mesh.poses;
    let v = task / mesh.poses * 64u + lane;
    if (v >= mesh.vertices) {
        return;
    }
    let at = words[mesh.starts + v / 32u] + v % 32u;
    let terms = words[mesh.counts + v];
    var sum = vec3f();
    for (var k = 0u; k < terms; k++) {
        let face = 3u * (p * mesh.faces + words[mesh.indices + at + 32u * k]);
        sum += vec3f(faces[face], faces[face + 1u], faces[face + 2u]);
    }
    // Divided first by its largest entry, so that the squares of small areas do not vanish.
    let largest = max(max(abs(sum.x), abs(sum.y)), abs(sum.z));
    var n = vec3f(0.0, 1.0, 0.0);
    if (largest > 0.0 && finite(sum.x) && finite(sum.y) && finite(sum.z)) {
        n = normalize(sum / largest);
    }
    let place = 3u * (p * mesh.vertices + v);
    normals[place] = n.x;
    normals[place + 1u] = n.y;
    normals[place + 2u] = n.z;
}
