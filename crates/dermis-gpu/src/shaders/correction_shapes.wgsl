// Shapes: displacements with weights of the pose, carried into the posed world.
// choice: 0 by the linear map of the base, 1 by a bone per vertex, 2 not at all.
fn correction(v: u32, pose: u32, posed: Posed) -> vec3f {
    let at = first(model.correction, v);
    let terms = count(model.correction, v);
    var d = vec3f();
    for (var k = 0u; k < terms; k++) {
        // The number of the shape is the last entry.
        let u = coefficients[model.correction.values + at + 32u * k];
        let shape = u32(u.w);
        d += u.xyz * poses[pose + model.features + shape / 4u][shape % 4u];
    }
    if (model.choice == 0u) {
        return vec3f(dot(posed.x, d), dot(posed.y, d), dot(posed.z, d));
    }
    if (model.choice == 1u) {
        return applied(pose + model.turns + 3u * words[model.anchors + v], vec4f(d, 0.0));
    }
    return d;
}
