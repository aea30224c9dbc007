// The normal of every face, twice its area long: (b - a) x (c - a).
fn corner(pose: u32, vertex: u32) -> vec3f {
    let at = 3u * (pose * mesh.vertices + vertex);
    return vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let task = group.y * mesh.row_of_faces + group.x;
    let p = task % mesh.poses;
    let f = task / mesh.poses * 64u + lane;
    if (f >= mesh.faces) {
        return;
    }
    let a = corner(p, words[3u * f]);
    let n = cross(corner(p, words[3u * f + 1u]) - a, corner(p, words[3u * f + 2u]) - a);
    let place = 3u * (p * mesh.faces + f);
    faces[place] = n.x;
    faces[place + 1u] = n.y;
    faces[place + 2u] = n.z;
}
