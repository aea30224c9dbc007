// The joint model: what the joints' rotations add in the frame of the vertex, and the part its axes share.
// choice: the frame, 0 of the anchor, 1 of the linear blend, 2 of the quaternion blend.
const HALF_ROOT: f32 = 0.70710677;

// The free part within the reach of the vertex's shapes, and the shapes.
fn with_layer(v: u32, pose: u32, free: vec3f) -> vec3f {
    let terms = count(model.layer, v);
    if (terms == 0u) {
        return free;
    }
    let at = model.layer.values + first(model.layer, v);
    var beyond = 1.0;
    var d = vec3f();
    var sum = 0.0;
    for (var k = 0u; k < terms; k++) {
        // The number of the shape is the last entry.
        let e = coefficients[at + 32u * k];
        let shape = poses[pose + model.shapes + u32(e.w)];
        beyond *= 1.0 - shape.y;
        d += e.xyz * shape.x;
        sum += shape.x;
    }
    return free * (1.0 - beyond) + d / max(sum, 1.0);
}

fn correction(v: u32, pose: u32, posed: Posed) -> vec3f {
    let anchor = words[model.anchors + v];
    if (anchor == NONE) {
        return vec3f();
    }
    let p = vec4f(rest[v].xyz, 1.0);
    // The blend of the welded bones.
    let first_weight = first(model.weights, v);
    let bones = count(model.weights, v);
    var x = vec4f();
    var y = vec4f();
    var z = vec4f();
    var q = vec4f();
    var reference = vec4f(0.0, 0.0, 0.0, 1.0);
    if (model.choice == 2u) {
        reference = poses[pose + model.frames + anchor];
    }
    for (var k = 0u; k < bones; k++) {
        let w = bitcast<f32>(words[model.weights.values + first_weight + 32u * k]);
        let bone = words[model.weights.indices + first_weight + 32u * k];
        let m = pose + model.bones + 3u * bone;
        x += w * poses[m];
        y += w * poses[m + 1u];
        z += w * poses[m + 2u];
        if (model.choice == 2u) {
            let turn = poses[pose + model.frames + bone];
            q += select(w, -w, dot(turn, reference) < 0.0) * turn;
        }
    }
    let blend = vec3f(dot(x, p), dot(y, p), dot(z, p));
    // Rows of the frame.
    var fx = x.xyz;
    var fy = y.xyz;
    var fz = z.xyz;
    if (model.choice == 0u) {
        let m = pose + model.bones + 3u * anchor;
        fx = poses[m].xyz;
        fy = poses[m + 1u].xyz;
        fz = poses[m + 2u].xyz;
    } else if (model.choice == 2u) {
        var b = reference;
        let size = length(q);
        if (size >= 1e-6) {
            b = q / size;
        }
        fx = vec3f(1.0 - 2.0 * (b.y * b.y + b.z * b.z), 2.0 * (b.x * b.y - b.z * b.w), 2.0 * (b.x * b.z + b.y * b.w));
        fy = vec3f(2.0 * (b.x * b.y + b.z * b.w), 1.0 - 2.0 * (b.x * b.x + b.z * b.z), 2.0 * (b.y * b.z - b.x * b.w));
        fz = vec3f(2.0 * (b.x * b.z - b.y * b.w), 2.0 * (b.y * b.z + b.x * b.w), 1.0 - 2.0 * (b.x * b.x + b.y * b.y));
    }
    // The joints' part: four coordinates and three times four coefficients a term.
    var sx = vec4f();
    var sy = vec4f();
    var sz = vec4f();
    let first_term = first(model.correction, v);
    let terms = count(model.correction, v);
    for (var k = 0u; k < terms; k++) {
        let coordinates = poses[pose + model.features + words[model.correction.indices + first_term + 32u * k]];
        let u = model.correction.values + block(model.correction, v, k, 3u);
        sx += coefficients[u] * coordinates;
        sy += coefficients[u + 32u] * coordinates;
        sz += coefficients[u + 64u] * coordinates;
    }
    var free = vec3f(dot(sx, vec4f(1.0)), dot(sy, vec4f(1.0)), dot(sz, vec4f(1.0)));
    if ((model.flags & 8u) != 0u) {
        free = with_layer(v, pose, free);
    }
    // The shared part.
    var together = vec3f();
    var squares = 0.0;
    let first_shared = first(model.shared_part, v);
    let shared_terms = count(model.shared_part, v);
    for (var k = 0u; k < shared_terms; k++) {
        let place = first_shared + 32u * k;
        let m = pose + model.bones + 3u * words[model.shared_part.indices + place];
        let relevance = bitcast<f32>(words[model.relevance + place]);
        let term = extras[model.shared_part.values + place]; // offset, weight
        let tx = (poses[m].xyz - fx) * HALF_ROOT;
        let ty = (poses[m + 1u].xyz - fy) * HALF_ROOT;
        let tz = (poses[m + 2u].xyz - fz) * HALF_ROOT;
        let shift = (applied(m, p) - blend) * model.per_length;
        together += (vec3f(dot(tx, term.xyz), dot(ty, term.xyz), dot(tz, term.xyz)) + shift * term.w) * relevance;
        squares += relevance * relevance * (dot(tx, tx) + dot(ty, ty) + dot(tz, tz) + dot(shift, shift));
    }
    let limit = rest[model.vertices + v].w;
    if (limit >= 0.0 && squares > limit * limit) {
        together *= limit / sqrt(squares);
    }
    let delta = vec3f(dot(fx, free), dot(fy, free), dot(fz, free)) + together;
    if ((model.flags & 2u) != 0u) {
        return applied(pose + model.turns + 3u * anchor, vec4f(delta, 0.0));
    }
    return delta;
}
