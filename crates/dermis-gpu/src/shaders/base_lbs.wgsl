// Linear blend skinning: p' = sum of w_k M_k p.
fn base(v: u32, pose: u32) -> Posed {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    var x = vec4f();
    var y = vec4f();
    var z = vec4f();
    var heaviest = NONE;
    var most = 0.0;
    for (var k = 0u; k < terms; k++) {
        let w = bitcast<f32>(words[model.base.values + at + 32u * k]);
        let m = pose + model.rows + 3u * words[model.base.indices + at + 32u * k];
        x += w * poses[m];
        y += w * poses[m + 1u];
        z += w * poses[m + 2u];
        if (heaviest == NONE || w > most) {
            heaviest = m;
            most = w;
        }
    }
    let p = vec4f(rest[v].xyz, 1.0);
    var position = vec3f(dot(x, p), dot(y, p), dot(z, p));
    if (terms == 0u) {
        // The sum of nothing is the world's origin.
        position = -poses[pose].xyz;
    }
    return Posed(position, x.xyz, y.xyz, z.xyz, heaviest);
}
