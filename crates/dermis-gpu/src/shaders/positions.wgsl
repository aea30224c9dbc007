// The guard's ball: radial projection; what is not finite becomes zero. A negative radius is no ball.
fn held(delta: vec3f, radius: f32) -> vec3f {
    if (radius < 0.0) {
        return delta;
    }
    let size = length(delta);
    if (!finite(size)) {
        return vec3f();
    }
    if (size > radius) {
        return delta * (radius / size);
    }
    return delta;
}

// sign(det A) cof(A) n, not normalised, of the rows of A; |A|^2 in w.
fn turned(x: vec3f, y: vec3f, z: vec3f, n: vec3f) -> vec4f {
    let a = cross(y, z);
    let flip = select(1.0, -1.0, dot(x, a) < 0.0);
    let size = dot(x, x) + dot(y, y) + dot(z, z);
    return vec4f(flip * vec3f(dot(a, n), dot(cross(z, x), n), dot(cross(x, y), n)), size);
}

// The rest normal n, of length one or zero, turned by the blended map; by the heaviest bone where that leaves none.
fn skinned_normal(posed: Posed, n: vec3f) -> vec3f {
    if (dot(n, n) == 0.0) {
        return vec3f(0.0, 1.0, 0.0);
    }
    var made = turned(posed.x, posed.y, posed.z, n);
    // Of cofactors this much smaller than their products only rounding is left.
    if (posed.heaviest != NONE && !(length(made.xyz) > 1e-6 * made.w)) {
        let m = posed.heaviest;
        made = turned(poses[m].xyz, poses[m + 1u].xyz, poses[m + 2u].xyz, n);
    }
    let size = length(made.xyz);
    if (size > 1e-6 * made.w && finite(size)) {
        return made.xyz / size;
    }
    return n;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    // Poses of one block of vertices come one after the other, so that they find its coefficients in the cache.
    let task = group.y * model.row + group.x;
    let p = task % model.poses;
    let v = task / model.poses * 64u + lane;
    if (v >= model.vertices) {
        return;
    }
    let pose = p * model.stride;
    let place = 3u * (p * model.vertices + v);
    var posed = base(v, pose);
    if ((model.flags & 16u) != 0u) {
        posed.position = vec3f(positions[place], positions[place + 1u], positions[place + 2u]);
    }
    var moved = posed.position + held(correction(v, pose, posed), rest[v].w);
    if ((model.flags & 32u) == 0u) {
        moved += poses[pose].xyz;
    }
    positions[place] = moved.x;
    positions[place + 1u] = moved.y;
    positions[place + 2u] = moved.z;
    if ((model.flags & 1u) != 0u) {
        let n = skinned_normal(posed, rest[model.vertices + v].xyz);
        normals[place] = n.x;
        normals[place + 1u] = n.y;
        normals[place + 2u] = n.z;
    }
}
