// Multi-weight enveloping: a correction in the anchor's frame, linear in bones seen from the anchor.
// Every axis reads its own row of a feature: three vec4 a term.
fn correction(v: u32, pose: u32, posed: Posed) -> vec3f {
    let at = first(model.correction, v);
    let terms = count(model.correction, v);
    var x = vec4f();
    var y = vec4f();
    var z = vec4f();
    for (var k = 0u; k < terms; k++) {
        let f = pose + model.features + 3u * words[model.correction.indices + at + 32u * k];
        let u = model.correction.values + block(model.correction, v, k, 3u);
        x += coefficients[u] * poses[f];
        y += coefficients[u + 32u] * poses[f + 1u];
        z += coefficients[u + 64u] * poses[f + 2u];
    }
    return anchored(v, pose, vec3f(dot(x, vec4f(1.0)), dot(y, vec4f(1.0)), dot(z, vec4f(1.0))));
}

// With the correction at the bind pose, turned by the anchor.
fn anchored(v: u32, pose: u32, sum: vec3f) -> vec3f {
    let delta = sum + rest[model.vertices + v].xyz;
    let anchor = words[model.anchors + v];
    if (anchor == NONE) {
        return delta;
    }
    return applied(pose + model.turns + 3u * anchor, vec4f(delta, 0.0));
}
