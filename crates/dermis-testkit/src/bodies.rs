//! Bodies made of tapered capsules that pass through each other, whose joints are where capsules meet: planted truth for any
//! proportions and poses.

use dermis_rig::Mesh;
use dermis_rig::glam::{DQuat, DVec3};

/// A body and where its joints are, by their names in the built-in templates.
pub struct Planted {
    /// The capsules.
    pub mesh: Mesh,
    /// Names and places of joints.
    pub joints: Vec<(String, DVec3)>,
    /// The length that errors are divided by: the longest limb.
    pub limb: f64,
    /// Tips of fingers, by the names of the last bones; none of other bodies.
    pub tips: Vec<(String, DVec3)>,
}

/// Adds a capsule from `a` to `b`, closed.
fn capsule(mesh: &mut Mesh, a: DVec3, b: DVec3, ra: f64, rb: f64) {
    const AROUND: u32 = 14;
    let along = (b - a).normalize();
    let (u, v) = along.any_orthonormal_pair();
    // Rings: (middle, radius); the caps are half spheres of three rings.
    let mut rings: Vec<(DVec3, f64)> = Vec::new();
    for k in 1..=3 {
        let angle = std::f64::consts::FRAC_PI_2 * f64::from(k) / 3.0;
        rings.push((a - along * ra * angle.cos(), ra * angle.sin()));
    }
    for k in 1..8 {
        let t = f64::from(k) / 8.0;
        rings.push((a.lerp(b, t), ra + (rb - ra) * t));
    }
    for k in (1..=3).rev() {
        let angle = std::f64::consts::FRAC_PI_2 * f64::from(k) / 3.0;
        rings.push((b + along * rb * angle.cos(), rb * angle.sin()));
    }
    let first = mesh.positions.len() as u32;
    for (middle, radius) in &rings {
        for k in 0..AROUND {
            let turn = std::f64::consts::TAU * f64::from(k) / f64::from(AROUND);
            mesh.positions.push(*middle + (u * turn.cos() + v * turn.sin()) * *radius);
        }
    }
    let count = rings.len() as u32;
    for r in 0..count - 1 {
        for k in 0..AROUND {
            let [p, q] = [k, (k + 1) % AROUND].map(|k| first + r * AROUND + k);
            mesh.triangles.push([p, q, q + AROUND]);
            mesh.triangles.push([p, q + AROUND, p + AROUND]);
        }
    }
    let (low, high) = (mesh.positions.len() as u32, mesh.positions.len() as u32 + 1);
    mesh.positions.push(a - along * ra);
    mesh.positions.push(b + along * rb);
    for k in 0..AROUND {
        let next = (k + 1) % AROUND;
        mesh.triangles.push([low, first + next, first + k]);
        let top = first + (count - 1) * AROUND;
        mesh.triangles.push([high, top + k, top + next]);
    }
}

/// A biped: `arms` is how far the arms are lowered from a T, degrees; `legs` the length of legs, `head` the size of the head, and `girth` how
/// thick it is, each 1 for a grown body.
pub fn biped(arms: f64, legs: f64, head: f64, girth: f64) -> Planted {
    let mut mesh = Mesh::default();
    let mut joints = Vec::new();
    let hip = 0.93 * legs;
    let chest = hip + 0.47;
    let put = |mesh: &mut Mesh, a: DVec3, b: DVec3, ra: f64, rb: f64| capsule(mesh, a, b, ra * girth, rb * girth);
    put(&mut mesh, DVec3::new(-0.05, hip + 0.05, 0.0), DVec3::new(0.05, hip + 0.05, 0.0), 0.15, 0.15);
    put(&mut mesh, DVec3::new(0.0, hip + 0.05, 0.0), DVec3::new(0.0, chest - 0.08, 0.0), 0.15, 0.16);
    let neck = DVec3::new(0.0, chest + 0.08, 0.0);
    put(&mut mesh, DVec3::new(0.0, chest - 0.1, 0.0), neck + DVec3::Y * 0.1, 0.06, 0.055);
    capsule(
        &mut mesh,
        neck + DVec3::Y * (0.06 + 0.1 * head),
        neck + DVec3::Y * (0.06 + 0.16 * head),
        0.1 * head,
        0.09 * head,
    );
    joints.push(("head".into(), neck + DVec3::Y * 0.08));
    for (letter, sign) in [("l", 1.0), ("r", -1.0)] {
        let side = |p: DVec3| DVec3::new(sign * p.x, p.y, p.z);
        let shoulder = DVec3::new(0.05 + 0.12 * girth.max(0.8), chest - 0.03, 0.0);
        let down = DQuat::from_rotation_z(-arms.to_radians());
        let (elbow, wrist) = (shoulder + down * DVec3::X * 0.28, shoulder + down * DVec3::X * 0.54);
        let tip = shoulder + down * DVec3::X * 0.70;
        put(&mut mesh, side(DVec3::new(0.02, chest - 0.04, 0.0)), side(shoulder), 0.07, 0.065);
        put(&mut mesh, side(shoulder), side(elbow), 0.06, 0.045);
        put(&mut mesh, side(elbow), side(wrist), 0.045, 0.03);
        put(&mut mesh, side(wrist), side(tip), 0.035, 0.03);
        let thigh = DVec3::new(0.1 * girth.max(0.8), hip, 0.0);
        let (knee, ankle) = (thigh + DVec3::new(0.01, -0.43 * legs, 0.01), thigh + DVec3::new(0.02, -0.86 * legs, 0.0));
        let ball = ankle + DVec3::new(0.005, -0.05, 0.13);
        put(&mut mesh, side(thigh), side(knee), 0.09, 0.06);
        put(&mut mesh, side(knee), side(ankle), 0.055, 0.04);
        put(&mut mesh, side(ankle), side(ball), 0.045, 0.035);
        put(&mut mesh, side(ball), side(ball + DVec3::Z * 0.06), 0.03, 0.025);
        let named = [
            ("upperarm", shoulder),
            ("lowerarm", elbow),
            ("hand", wrist),
            ("thigh", thigh),
            ("calf", knee),
            ("foot", ankle),
        ];
        joints.extend(named.map(|(name, p)| (format!("{name}_{letter}"), side(p))));
    }
    Planted { mesh, joints, limb: 0.86 * legs, tips: Vec::new() }
}

/// A quadruped: `legs` is the length of legs, `neck` how far the neck is raised above level, degrees, `tail` whether it has a tail.
pub fn quadruped(legs: f64, neck: f64, tail: bool) -> Planted {
    let mut mesh = Mesh::default();
    let mut joints = Vec::new();
    let height = 0.55 * legs;
    let (rump, chest) = (DVec3::new(0.0, height + 0.04, -0.36), DVec3::new(0.0, height + 0.03, 0.30));
    capsule(&mut mesh, rump, chest, 0.12, 0.14);
    let up = DQuat::from_rotation_x(-neck.to_radians());
    let neck_from = chest + DVec3::new(0.0, 0.06, 0.06);
    let head = neck_from + up * DVec3::Z * 0.30;
    capsule(&mut mesh, neck_from, head, 0.085, 0.065);
    capsule(&mut mesh, head, head + DVec3::new(0.0, -0.04, 0.20), 0.085, 0.05);
    joints.push(("head".into(), head));
    if tail {
        capsule(&mut mesh, rump + DVec3::new(0.0, 0.05, -0.08), rump + DVec3::new(0.0, -0.06, -0.50), 0.035, 0.02);
    }
    for (letter, sign) in [("l", 1.0), ("r", -1.0)] {
        let side = |p: DVec3| DVec3::new(sign * p.x, p.y, p.z);
        let shoulder = DVec3::new(0.085, height - 0.02, 0.30);
        let (elbow, wrist) =
            (shoulder + DVec3::new(0.0, -0.22 * legs, -0.04), shoulder + DVec3::new(0.0, -0.43 * legs, -0.01));
        let toe = DVec3::new(0.085, 0.025, wrist.z + 0.06);
        capsule(&mut mesh, side(shoulder), side(elbow), 0.07, 0.05);
        capsule(&mut mesh, side(elbow), side(wrist), 0.045, 0.03);
        capsule(&mut mesh, side(wrist), side(toe), 0.032, 0.025);
        let hip = DVec3::new(0.085, height, -0.36);
        let knee = hip + DVec3::new(0.0, -0.20 * legs, 0.06);
        let hock = hip + DVec3::new(0.0, -0.38 * legs, -0.08);
        let paw = DVec3::new(0.085, 0.025, hock.z + 0.08);
        capsule(&mut mesh, side(hip), side(knee), 0.085, 0.055);
        capsule(&mut mesh, side(knee), side(hock), 0.05, 0.03);
        capsule(&mut mesh, side(hock), side(paw), 0.03, 0.025);
        let named = [
            ("front_upper_leg", shoulder),
            ("front_lower_leg", elbow),
            ("front_foot", wrist),
            ("hind_upper_leg", hip),
            ("hind_lower_leg", knee),
            ("hind_foot", hock),
        ];
        joints.extend(named.map(|(name, p)| (format!("{name}_{letter}"), side(p))));
    }
    Planted { mesh, joints, limb: 0.55 * legs, tips: Vec::new() }
}

/// A left hand of a grown person in metres, with a palm and five fingers of three bones: fingers point up (+Y), the palm faces forward (+Z), the
/// thumb is at +X. `fingers` is how long fingers are, 1 for a grown hand; `curl` how far each joint bends towards the palm, and `fan` how far fingers
/// spread, degrees.
pub fn hand(fingers: f64, curl: f64, fan: f64) -> Planted {
    let mut mesh = Mesh::default();
    let (elbow, wrist) = (DVec3::new(0.0, -0.07, 0.0), DVec3::ZERO);
    capsule(&mut mesh, elbow, wrist, 0.027, 0.024);
    let mut joints = vec![("lowerarm".to_owned(), elbow), ("hand".to_owned(), wrist)];
    let mut tips = Vec::new();
    // Name, knuckle, angle from straight on over the fan, lengths of bones, radius at the knuckle.
    let rows = [
        ("index", DVec3::new(0.030, 0.090, 0.0), 1.0, [0.045, 0.026, 0.020], 0.0090),
        ("middle", DVec3::new(0.009, 0.095, 0.0), 0.2, [0.050, 0.030, 0.021], 0.0092),
        ("ring", DVec3::new(-0.012, 0.090, 0.0), -0.6, [0.046, 0.028, 0.021], 0.0088),
        ("pinky", DVec3::new(-0.033, 0.080, 0.0), -1.6, [0.036, 0.021, 0.018], 0.0080),
    ];
    let mut finger =
        |mesh: &mut Mesh, name: &str, from: DVec3, directions: [DVec3; 3], lengths: [f64; 3], radius: f64| {
            let mut at = from;
            for k in 0..3 {
                let to = at + directions[k].normalize() * lengths[k] * fingers;
                let thin = |k: usize| radius * (1.0 - 0.1 * k as f64);
                capsule(mesh, at, to, thin(k), thin(k + 1));
                joints.push((format!("{name}_0{}", k + 1), at));
                at = to;
            }
            tips.push((format!("{name}_03"), at));
        };
    for (name, knuckle, share, lengths, radius) in rows {
        capsule(&mut mesh, DVec3::new(0.35 * knuckle.x, 0.01, 0.0), knuckle, 0.016, 0.013);
        let aside = DQuat::from_rotation_z(-(share * fan).to_radians());
        let bent = |k: f64| aside * DQuat::from_rotation_x((k * curl).to_radians()) * DVec3::Y;
        finger(&mut mesh, name, knuckle, [bent(1.0), bent(2.0), bent(3.0)], lengths, radius);
    }
    let thumb = [DVec3::new(0.75, 0.65, 0.15), DVec3::new(0.6, 0.8, 0.15), DVec3::new(0.5, 0.85, 0.15)];
    finger(&mut mesh, "thumb", DVec3::new(0.022, 0.026, 0.006), thumb, [0.044, 0.033, 0.027], 0.0125);
    Planted { mesh, joints, limb: 0.196, tips }
}
