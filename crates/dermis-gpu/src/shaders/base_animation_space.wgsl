// Animation space: p' = sum of M_k a_k; the rest position is inside the coefficients a.
fn base(v: u32, pose: u32) -> Posed {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    var made = Posed(vec3f(), vec3f(), vec3f(), vec3f(), NONE);
    var most = 0.0;
    for (var k = 0u; k < terms; k++) {
        let m = pose + model.rows + 3u * words[model.base.indices + at + 32u * k];
        let a = extras[model.base.values + at + 32u * k];
        made.position += applied(m, a);
        made.x += a.w * poses[m].xyz;
        made.y += a.w * poses[m + 1u].xyz;
        made.z += a.w * poses[m + 2u].xyz;
        if (made.heaviest == NONE || a.w > most) {
            made.heaviest = m;
            most = a.w;
        }
    }
    if (terms == 0u) {
        made.position = -poses[pose].xyz;
    }
    return made;
}
