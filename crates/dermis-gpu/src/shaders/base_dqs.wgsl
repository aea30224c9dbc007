// Dual quaternion skinning in two phases: the blended stretch of the rest pose, then the blended rigid motion.
// A bone takes eight vec4: real part, dual part, three rows of its stretch, three rows of its whole map.
fn base(v: u32, pose: u32) -> Posed {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    if (terms == 0u) {
        let still = rest[v].xyz - poses[pose].xyz;
        return Posed(still, vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0), vec3f(0.0, 0.0, 1.0), NONE);
    }
    var dominant = NONE;
    var most = 0.0;
    for (var k = 0u; k < terms; k++) {
        let w = bitcast<f32>(words[model.base.values + at + 32u * k]);
        let bone = words[model.base.indices + at + 32u * k];
        if (dominant == NONE || w > most || (w == most && bone < dominant)) {
            dominant = bone;
            most = w;
        }
    }
    let bones = pose + model.quaternions;
    let reference = poses[bones + 8u * dominant];
    var real = vec4f();
    var dual = vec4f();
    var x = vec4f();
    var y = vec4f();
    var z = vec4f();
    for (var k = 0u; k < terms; k++) {
        let w = bitcast<f32>(words[model.base.values + at + 32u * k]);
        let bone = bones + 8u * words[model.base.indices + at + 32u * k];
        let q = poses[bone];
        let signed_weight = select(-w, w, dot(q, reference) >= 0.0);
        real += signed_weight * q;
        dual += signed_weight * poses[bone + 1u];
        x += w * poses[bone + 2u];
        y += w * poses[bone + 3u];
        z += w * poses[bone + 4u];
    }
    let p = vec4f(rest[v].xyz, 1.0);
    let whole = bones + 8u * dominant + 5u;
    let size = length(real);
    if (size < 1e-9) {
        return Posed(applied(whole, p), poses[whole].xyz, poses[whole + 1u].xyz, poses[whole + 2u].xyz, whole);
    }
    let b = real / size;
    let e = dual / size;
    // The vector part of 2 e b*.
    let shift = 2.0 * (b.w * e.xyz - e.w * b.xyz - cross(e.xyz, b.xyz));
    // Rows of the rotation of b.
    let r0 = vec3f(1.0 - 2.0 * (b.y * b.y + b.z * b.z), 2.0 * (b.x * b.y - b.z * b.w), 2.0 * (b.x * b.z + b.y * b.w));
    let r1 = vec3f(2.0 * (b.x * b.y + b.z * b.w), 1.0 - 2.0 * (b.x * b.x + b.z * b.z), 2.0 * (b.y * b.z - b.x * b.w));
    let r2 = vec3f(2.0 * (b.x * b.z - b.y * b.w), 2.0 * (b.y * b.z + b.x * b.w), 1.0 - 2.0 * (b.x * b.x + b.y * b.y));
    let stretched = vec3f(dot(x, p), dot(y, p), dot(z, p));
    let position = vec3f(dot(r0, stretched), dot(r1, stretched), dot(r2, stretched)) + shift;
    return Posed(
        position,
        r0.x * x.xyz + r0.y * y.xyz + r0.z * z.xyz,
        r1.x * x.xyz + r1.y * y.xyz + r1.z * z.xyz,
        r2.x * x.xyz + r2.y * y.xyz + r2.z * z.xyz,
        whole,
    );
}
