// Multi-weight enveloping: a correction in the anchor's frame, linear in bones seen from the anchor.
// Every axis reads all twelve numbers of a feature: nine vec4 a term, axis by axis.
fn correction(v: u32, pose: u32, posed: Posed) -> vec3f {
    let at = first(model.correction, v);
    let terms = count(model.correction, v);
    var x = vec4f();
    var y = vec4f();
    var z = vec4f();
    for (var k = 0u; k < terms; k++) {
        let f = pose + model.features + 3u * words[model.correction.indices + at + 32u * k];
        let u = model.correction.values + block(model.correction, v, k, 9u);
        let f0 = poses[f];
        let f1 = poses[f + 1u];
        let f2 = poses[f + 2u];
        x += coefficients[u] * f0 + coefficients[u + 32u] * f1 + coefficients[u + 64u] * f2;
        y += coefficients[u + 96u] * f0 + coefficients[u + 128u] * f1 + coefficients[u + 160u] * f2;
        z += coefficients[u + 192u] * f0 + coefficients[u + 224u] * f1 + coefficients[u + 256u] * f2;
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
