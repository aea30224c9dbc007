// Corrective smoothing: p' = q + A (p - q at rest). q = sum of M_k c_k is the smoothed surface, which every vertex computes for itself and
// for the neighbours that its corners read. A is the mean of the turns of its corners, by their angles.
fn base(v: u32, pose: u32) -> Posed {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    let centre = extras[model.centres + v].xyz;
    let q = smoothed(v, pose);
    var made = Posed(q, vec3f(), vec3f(), vec3f(), NONE);
    var most = 0.0;
    // The map of a vertex without frames.
    for (var k = 0u; k < terms; k++) {
        let m = pose + model.rows + 3u * words[model.base.indices + at + 32u * k];
        let w = extras[model.base.values + at + 32u * k].w;
        made.x += w * poses[m].xyz;
        made.y += w * poses[m + 1u].xyz;
        made.z += w * poses[m + 2u].xyz;
        if (made.heaviest == NONE || w > most) {
            made.heaviest = m;
            most = w;
        }
    }
    var turn = mat3x3f();
    var angles = 0.0;
    for (var c = words[model.corners + v]; c < words[model.corners + v + 1u]; c += 2u) {
        let before = words[c];
        let after = words[c + 1u];
        let posed = frame(q, smoothed(before, pose), smoothed(after, pose));
        if (posed.angle > 0.0) {
            let still = frame(centre, extras[model.centres + before].xyz, extras[model.centres + after].xyz);
            turn += posed.angle * (posed.axes * transpose(still.axes));
            angles += posed.angle;
        }
    }
    if (angles > 0.0) {
        let rows = transpose(turn * (1.0 / angles));
        let offset = rest[v].xyz - centre;
        made.x = rows[0];
        made.y = rows[1];
        made.z = rows[2];
        made.position += vec3f(dot(rows[0], offset), dot(rows[1], offset), dot(rows[2], offset));
    }
    return made;
}

// q less the character's shift.
fn smoothed(v: u32, pose: u32) -> vec3f {
    let at = first(model.base, v);
    let terms = count(model.base, v);
    var q = vec3f();
    for (var k = 0u; k < terms; k++) {
        let m = pose + model.rows + 3u * words[model.base.indices + at + 32u * k];
        q += applied(m, extras[model.base.values + at + 32u * k]);
    }
    if (terms == 0u) {
        q = extras[model.centres + v].xyz - poses[pose].xyz;
    }
    return q;
}

struct Frame {
    axes: mat3x3f,
    // Zero where the corner has no frame.
    angle: f32,
}

// A direction, or zero where there is none.
fn direction(d: vec3f) -> vec3f {
    let square = dot(d, d);
    return d * select(0.0, inverseSqrt(square), square > 1.2e-38);
}

// The tangent frame of a corner, and its angle.
fn frame(q: vec3f, before: vec3f, after: vec3f) -> Frame {
    let a = direction(before - q);
    let b = direction(q - after);
    let across = cross(a, b);
    let sine = length(across);
    if (!(sine > 1e-6)) {
        return Frame(mat3x3f(), 0.0);
    }
    let sum = length(a + b);
    let apart = length(b - a);
    return Frame(mat3x3f((a + b) / sum, (b - a) / apart, across / sine), angle(sum, apart));
}

// The angle between unit vectors of which the length of the sum and of the difference are known: 2 asin(x/2) = x Q(x^2), x below sqrt 2.
fn angle(sum: f32, apart: f32) -> f32 {
    let x = min(sum, apart);
    let s = x * x;
    var q = 2.487434e-5;
    q = q * s - 5.5150427e-5;
    q = q * s + 2.4120846e-4;
    q = q * s + 6.0312437e-4;
    q = q * s + 4.721135e-3;
    q = q * s + 4.166225e-2;
    q = q * s + 1.0000001;
    return select(3.14159265 - x * q, x * q, apart < sum);
}
