// Direct delta mush: p' = q + R (p - centre), R the rotation of C = R S. With I1 = tr S and I2 the second invariant of S,
// R d = (I1 cof(C) d + (I1^2 - I2) C d - C C^T C d) / (I1 I2 - det C), by Cayley and Hamilton.
fn base(v: u32, pose: u32) -> Posed {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    let centre = extras[model.neighbourhoods + v];
    let offset = extras[model.neighbourhoods + model.vertices + v].xyz;
    if (terms == 0u) {
        let still = centre.xyz + offset - poses[pose].xyz;
        return Posed(still, vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0), vec3f(0.0, 0.0, 1.0), NONE);
    }
    var heaviest = NONE;
    var most = 0.0;
    var origin = vec3f();
    var along = vec3f();
    var shift = vec3f();
    var c = mat3x3f();
    for (var k = 0u; k < terms; k++) {
        let m = pose + model.rows + 3u * words[model.base.indices + at + 32u * k];
        let value = model.base.values + block(model.base, v, k, 3u);
        let a = coefficients[value];
        let b = coefficients[value + 32u];
        let d = coefficients[value + 64u];
        let carried = applied(m, vec4f(centre.xyz, 1.0));
        if (k == 0u) {
            // Translations count relative to the first bone's.
            origin = carried;
        }
        if (heaviest == NONE || a.x > most) {
            heaviest = m;
            most = a.x;
        }
        let apart = carried - origin;
        let linear = transpose(mat3x3f(poses[m].xyz, poses[m + 1u].xyz, poses[m + 2u].xyz));
        along += a.x * apart;
        shift += linear * a.yzw;
        c[0] += linear * b.xyz + a.y * apart;
        c[1] += linear * vec3f(b.y, b.w, d.x) + a.z * apart;
        c[2] += linear * vec3f(b.z, d.x, d.y) + a.w * apart;
    }
    // Rows to columns.
    let heavy = transpose(mat3x3f(poses[heaviest].xyz, poses[heaviest + 1u].xyz, poses[heaviest + 2u].xyz));
    let r = rotation(c, heavy);
    let rows = transpose(r);
    let position = origin + along + centre.w * shift + r * offset;
    return Posed(position, rows[0], rows[1], rows[2], heaviest);
}

fn orthonormal(r: mat3x3f) -> mat3x3f {
    let x = normalize(r[0]);
    let y = normalize(r[1] - dot(x, r[1]) * x);
    return mat3x3f(x, y, cross(x, y));
}

// A Newton step from a rotation near R: the turn w after which R^T C is symmetric, (tr S - S) w = axis of R^T C.
fn nearer(r: mat3x3f, c: mat3x3f) -> mat3x3f {
    let a = transpose(r) * c;
    let s = 0.5 * (a + transpose(a));
    let trace = s[0].x + s[1].y + s[2].z;
    let k = mat3x3f(
        vec3f(trace - s[0].x, -s[0].y, -s[0].z),
        vec3f(-s[1].x, trace - s[1].y, -s[1].z),
        vec3f(-s[2].x, -s[2].y, trace - s[2].z),
    );
    let b = vec3f(a[1].z - a[2].y, a[2].x - a[0].z, a[0].y - a[1].x);
    let across = cross(k[1], k[2]);
    let det = dot(k[0], across);
    if (!(abs(det) > 1e-9 * trace * trace * trace)) {
        return r;
    }
    // Half of w, as the vector part of a quaternion.
    let h = (0.5 / det) * (across * b.x + cross(k[2], k[0]) * b.y + cross(k[0], k[1]) * b.z);
    let n = 1.0 / (1.0 + dot(h, h));
    let turn = mat3x3f(
        vec3f(1.0 + h.x * h.x - h.y * h.y - h.z * h.z, 2.0 * (h.x * h.y + h.z), 2.0 * (h.x * h.z - h.y)) * n,
        vec3f(2.0 * (h.x * h.y - h.z), 1.0 - h.x * h.x + h.y * h.y - h.z * h.z, 2.0 * (h.y * h.z + h.x)) * n,
        vec3f(2.0 * (h.x * h.z + h.y), 2.0 * (h.y * h.z - h.x), 1.0 - h.x * h.x - h.y * h.y + h.z * h.z) * n,
    );
    return orthonormal(r * turn);
}

// R of C = R S. Where it is not defined within rounding, of C with a little of the heaviest bone.
fn rotation(map: mat3x3f, heavy: mat3x3f) -> mat3x3f {
    var c = map;
    for (var attempt = 0u; attempt < 4u; attempt++) {
        let area = mat3x3f(cross(c[1], c[2]), cross(c[2], c[0]), cross(c[0], c[1]));
        let size = dot(c[0], c[0]) + dot(c[1], c[1]) + dot(c[2], c[2]);
        let areas = dot(area[0], area[0]) + dot(area[1], area[1]) + dot(area[2], area[2]);
        let det = dot(c[0], area[0]);
        var second = sqrt(areas + 2.0 * max(det, 0.0) * sqrt(size + 2.0 * sqrt(areas)));
        for (var k = 0u; k < 6u; k++) {
            let trace = sqrt(max(size + 2.0 * second, 1e-30));
            let slope = 2.0 * (second - det / trace);
            second -= (second * second - areas - 2.0 * det * trace) / max(slope, 1e-30);
        }
        let trace = sqrt(max(size + 2.0 * second, 1e-30));
        let denominator = trace * second - det;
        if (denominator > 1e-4 * trace * trace * trace) {
            let r = (trace * area + (trace * trace - second) * c - c * (transpose(c) * c)) * (1.0 / denominator);
            return nearer(nearer(orthonormal(r), c), c);
        }
        c = c + (1e-3 * sqrt(max(size, 1e-30))) * heavy;
    }
    return heavy;
}
