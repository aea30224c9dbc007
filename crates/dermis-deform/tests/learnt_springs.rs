//! Springs that are learnt, tied along the edges of a skin: the equation by fine Runge–Kutta steps, and what holds for any parameters.

use dermis_deform::secondary::{
    FASTEST, SLOWEST, STIFFEST, STRONGEST, Secondary, SecondaryError, Spring, Springs, VertexSpring,
};
use dermis_rig::Mesh;
use dermis_rig::glam::DVec3;
use dermis_testkit::{Random, some_motion};

/// A strip of triangles, `2 · length` vertices a decimetre apart.
fn strip(length: u32) -> Mesh {
    let positions = (0..length).flat_map(|i| [0.0, 0.1].map(|y| DVec3::new(0.1 * f64::from(i), y, 0.0))).collect();
    let pair = |i: u32| [[2 * i, 2 * i + 2, 2 * i + 1], [2 * i + 1, 2 * i + 2, 2 * i + 3]];
    Mesh { positions, triangles: (0..length - 1).flat_map(pair).collect(), ..Mesh::default() }
}

fn springs(mesh: &Mesh, coupling: f64, seed: u64) -> Springs {
    let mut random = Random::new(seed);
    let vertex = |_| VertexSpring {
        spring: Spring::new(random.between(2.0, 6.0), random.between(0.05, 0.3)).unwrap(),
        stiffening: random.between(0.0, 4e4),
        limit: 0.3,
    };
    Springs::new(mesh.positions.iter().map(vertex).collect(), coupling).unwrap()
}

/// A skin that goes to and fro, turns a little and bends, at 60 frames a second.
fn dance(mesh: &Mesh, frames: usize, seed: u64) -> Vec<Vec<DVec3>> {
    let mut random = Random::new(seed);
    let waves: Vec<(DVec3, f64, f64)> =
        (0..4).map(|_| (random.direction() * 0.04, random.between(3.0, 20.0), random.between(0.0, 6.0))).collect();
    let at = |n: usize| {
        let t = n as f64 / 60.0;
        let turned = some_motion(0.4 * (3.0 * t).sin(), DVec3::ZERO);
        let place = |p: &DVec3| {
            waves
                .iter()
                .fold(turned.transform_point3(*p), |p, (way, rate, phase)| p + *way * (rate * t + phase + p.x).sin())
        };
        mesh.positions.iter().map(place).collect()
    };
    (0..frames).map(at).collect()
}

fn run(springs: &Springs, mesh: &Mesh, dt: f64, base: &[Vec<DVec3>]) -> Vec<Vec<DVec3>> {
    let mut motion = Secondary::learnt([springs], mesh).unwrap();
    let frame = |frame: &Vec<DVec3>| {
        let mut frame = frame.clone();
        motion.apply(dt, &mut frame).unwrap();
        frame
    };
    base.iter().map(frame).collect()
}

fn apart(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    a.iter().zip(b).map(|(a, b)| dermis_testkit::largest_distance(a, b)).fold(0.0, f64::max)
}

/// Neighbours along the edges of triangles.
fn neighbours(mesh: &Mesh) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); mesh.positions.len()];
    for t in &mesh.triangles {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            rows[a as usize].push(b as usize);
            rows[b as usize].push(a as usize);
        }
    }
    rows.iter_mut().for_each(|row| {
        row.sort_unstable();
        row.dedup();
    });
    rows
}

/// The equation by fine Runge–Kutta steps, the skin as it is at the end of each frame.
fn by_runge_kutta(springs: &Springs, mesh: &Mesh, dt: f64, base: &[Vec<DVec3>], steps: usize) -> Vec<Vec<DVec3>> {
    type State = Vec<[DVec3; 2]>;
    let rows = neighbours(mesh);
    let slope = |x: &State, skin: &[DVec3]| -> State {
        let of = |(v, [o, speed]): (usize, &[DVec3; 2])| {
            let tie = &springs.vertices()[v];
            let omega = tie.spring.omega();
            let edges: DVec3 = rows[v]
                .iter()
                .map(|&j| {
                    let e = (skin[v] - skin[j]).normalize();
                    e * e.dot(*o - x[j][0])
                })
                .sum();
            let pull = *o * (omega * omega + tie.stiffening * o.length_squared().min(tie.limit * tie.limit));
            [*speed, -pull - *speed * (2.0 * tie.spring.damping() * omega) - edges * springs.coupling()]
        };
        x.iter().enumerate().map(of).collect()
    };
    let along = |x: &State, k: &State, h: f64| -> State {
        x.iter().zip(k).map(|(x, k)| [x[0] + k[0] * h, x[1] + k[1] * h]).collect()
    };
    let mut x: State = vec![[DVec3::ZERO; 2]; mesh.positions.len()];
    let mut out = vec![base[0].clone()];
    let h = dt / steps as f64;
    for n in 1..base.len() {
        if n > 1 {
            for v in 0..x.len() {
                let kick = (base[n][v] - base[n - 1][v]) / dt - (base[n - 1][v] - base[n - 2][v]) / dt;
                x[v][1] -= kick;
            }
        }
        for _ in 0..steps {
            let k1 = slope(&x, &base[n]);
            let k2 = slope(&along(&x, &k1, 0.5 * h), &base[n]);
            let k3 = slope(&along(&x, &k2, 0.5 * h), &base[n]);
            let k4 = slope(&along(&x, &k3, h), &base[n]);
            for v in 0..x.len() {
                x[v] = [0, 1].map(|i| x[v][i] + (k1[v][i] + (k2[v][i] + k3[v][i]) * 2.0 + k4[v][i]) * (h / 6.0));
            }
        }
        out.push(base[n].iter().zip(&x).map(|(b, x)| *b + x[0]).collect());
    }
    out
}

#[test]
fn the_step_solves_the_equation_to_second_order() {
    let mesh = strip(6);
    let springs = springs(&mesh, 300.0, 1);
    let base = dance(&mesh, 90, 2);
    let fine = by_runge_kutta(&springs, &mesh, 1.0 / 60.0, &base, 60);
    let swing = apart(&fine, &base);
    let found = apart(&run(&springs, &mesh, 1.0 / 60.0, &base), &fine);
    assert!(swing > 0.02 && found < 0.01 * swing, "{found} of {swing}");
    // Without edges the same springs do something else: the test sees them.
    let alone = Springs::new(springs.vertices().to_vec(), 0.0).unwrap();
    assert!(apart(&run(&alone, &mesh, 1.0 / 60.0, &base), &fine) > 0.1 * swing);
    let linear = springs.vertices().iter().map(|v| VertexSpring { stiffening: 0.0, ..*v }).collect();
    let linear = Springs::new(linear, 300.0).unwrap();
    assert!(apart(&run(&linear, &mesh, 1.0 / 60.0, &base), &fine) > 0.03 * swing);
}

/// A frame cut in two on a straight stretch gives what the frame gives, but for the splitting.
#[test]
fn the_rate_of_frames_changes_little() {
    let mesh = strip(5);
    let springs = springs(&mesh, 200.0, 3);
    let base = dance(&mesh, 60, 4);
    let between = |two: &[Vec<DVec3>]| -> [Vec<DVec3>; 2] {
        [0.5, 1.0].map(|t| two[0].iter().zip(&two[1]).map(|(a, b)| a.lerp(*b, t)).collect())
    };
    let twice: Vec<_> = [base[0].clone()].into_iter().chain(base.windows(2).flat_map(between)).collect();
    let whole = run(&springs, &mesh, 1.0 / 60.0, &base);
    let fine: Vec<_> = run(&springs, &mesh, 1.0 / 120.0, &twice).into_iter().step_by(2).collect();
    assert!(apart(&fine, &whole) < 0.02 * apart(&whole, &base));
}

#[test]
fn a_skin_that_rests_or_drifts_does_not_swing() {
    let mesh = strip(4);
    let springs = springs(&mesh, 500.0, 5);
    let drift = |n: i32| DVec3::new(0.02, 0.01, -0.03) * f64::from(n);
    let base: Vec<Vec<DVec3>> = (0..50).map(|n| mesh.positions.iter().map(|p| *p + drift(n)).collect()).collect();
    assert!(apart(&run(&springs, &mesh, 1.0 / 30.0, &base), &base) < 1e-12);
}

#[test]
fn a_motion_of_the_whole_character_carries_the_result_along() {
    let mesh = strip(5);
    let springs = springs(&mesh, 300.0, 6);
    let (base, g) = (dance(&mesh, 40, 7), some_motion(1.1, DVec3::new(4.0, 1.0, -3.0)));
    let moved = |frames: &[Vec<DVec3>]| -> Vec<Vec<DVec3>> {
        frames.iter().map(|f| f.iter().map(|p| g.transform_point3(*p)).collect()).collect()
    };
    let then = moved(&run(&springs, &mesh, 1.0 / 60.0, &base));
    assert!(apart(&run(&springs, &mesh, 1.0 / 60.0, &moved(&base)), &then) < 1e-11);
}

#[test]
fn threads_change_no_bit_and_seams_stay_closed() {
    // More vertices than one thread takes, the last pair on top of the first.
    let mut mesh = strip(600);
    let (last, first) = (mesh.positions.len() - 2, 0);
    for side in 0..2 {
        mesh.positions[last + side] = mesh.positions[first + side];
    }
    let mut vertices = springs(&mesh, 0.0, 8).vertices().to_vec();
    for side in 0..2 {
        vertices[last + side] = vertices[first + side];
    }
    let springs = Springs::new(vertices, 300.0).unwrap();
    let base: Vec<_> = dance(&mesh, 12, 9);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&springs, &mesh, 1.0 / 60.0, &base))
    };
    let one = with(1);
    assert_eq!(one, with(4));
    for frame in &one {
        assert_eq!(frame[last..], frame[..2]);
    }
}

/// Energy of offsets about a skin that rests: of speeds, springs and edges.
#[test]
fn energy_falls_when_the_skin_rests() {
    let mesh = strip(6);
    let springs = springs(&mesh, 300.0, 10);
    let rows = neighbours(&mesh);
    let mut motion = Secondary::<1>::learnt([&springs], &mesh).unwrap();
    let mut random = Random::new(11);
    let start: Vec<[DVec3; 2]> =
        mesh.positions.iter().map(|_| [random.direction() * 0.05, random.direction()]).collect();
    motion.begin(&mesh.positions, start.clone().into_iter());
    let energy = |o: &[DVec3], speed: &[DVec3]| -> f64 {
        let of = |v: usize| {
            let tie = &springs.vertices()[v];
            let square = o[v].length_squared();
            let edges: f64 = rows[v]
                .iter()
                .map(|&j| (mesh.positions[v] - mesh.positions[j]).normalize().dot(o[v] - o[j]).powi(2))
                .sum();
            0.5 * speed[v].length_squared()
                + 0.5 * tie.spring.stiffness() * square
                + 0.25 * tie.stiffening * square * square
                + 0.25 * springs.coupling() * edges
        };
        (0..o.len()).map(of).sum()
    };
    let mut last =
        energy(&start.iter().map(|s| s[0]).collect::<Vec<_>>(), &start.iter().map(|s| s[1]).collect::<Vec<_>>());
    let first = last;
    for _ in 0..20 {
        let mut moved = Vec::new();
        for _ in 0..6 {
            let mut skin = mesh.positions.clone();
            motion.apply(1.0 / 60.0, &mut skin).unwrap();
            moved = skin;
        }
        let now = energy(
            &moved.iter().zip(&mesh.positions).map(|(a, b)| *a - *b).collect::<Vec<_>>(),
            &motion.speeds().collect::<Vec<_>>(),
        );
        assert!(now < last, "{now} after {last}");
        last = now;
    }
    assert!(last < 1e-2 * first, "{last} of {first}");
}

/// 10⁵ frames at each of four rates, with parameters at random within all that is allowed.
#[test]
fn any_parameters_are_stable() {
    let mesh = strip(3);
    let mut random = Random::new(12);
    for (rate, seed) in [(30.0, 1), (60.0, 2), (120.0, 3), (240.0, 4)] {
        let vertex = |_| {
            let power = |low: f64, high: f64, x: f64| low * (high / low).powf(x);
            let limit = power(1e-3, 1.0, random.unit());
            VertexSpring {
                spring: Spring::new(power(SLOWEST, FASTEST, random.unit()), power(1e-3, 3.0, random.unit())).unwrap(),
                stiffening: power(1e-2, STIFFEST, random.unit()) / (limit * limit),
                limit,
            }
        };
        let vertices: Vec<VertexSpring> = mesh.positions.iter().map(vertex).collect();
        let coupling = 1.0 * (STRONGEST / 1.0_f64).powf(random.unit());
        let springs = Springs::new(vertices, coupling).unwrap();
        let mut motion = Secondary::<1>::learnt([&springs], &mesh).unwrap();
        let mut jolts = Random::new(seed);
        let mut skin = mesh.positions.clone();
        for frame in 0..100_000 {
            // Jolts of all of it for the first half, then rest.
            let jolt = if frame < 50_000 && frame % 50 == 0 { jolts.direction() * 0.1 } else { DVec3::ZERO };
            skin.iter_mut().for_each(|p| *p += jolt);
            let mut shown = skin.clone();
            motion.apply(1.0 / rate, &mut shown).unwrap();
            for ((p, b), tie) in shown.iter().zip(&skin).zip(springs.vertices()) {
                assert!((*p - *b).length() <= tie.limit * (1.0 + 1e-9), "{rate} frames a second, frame {frame}");
            }
        }
        assert!(motion.largest() < 1e-3, "{rate} frames a second: {} m after a rest", motion.largest());
    }
}

#[test]
fn what_a_step_does_not_bear_is_refused() {
    let good = VertexSpring { spring: Spring::new(3.0, 0.1).unwrap(), stiffening: 10.0, limit: 0.1 };
    let fast = VertexSpring { spring: Spring::new(2.0 * FASTEST, 0.1).unwrap(), ..good };
    let refused = |vertices: Vec<VertexSpring>, coupling| match Springs::new(vertices, coupling) {
        Err(SecondaryError::Learnt { vertex, what, .. }) => (vertex, what),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(vec![good, fast], 0.0), (1, "frequency"));
    assert_eq!(refused(vec![VertexSpring { limit: f64::NAN, ..good }], 0.0), (0, "limit"));
    assert_eq!(refused(vec![VertexSpring { stiffening: -1.0, ..good }], 0.0), (0, "stiffening"));
    assert_eq!(refused(vec![VertexSpring { stiffening: 2.0 * STIFFEST, limit: 1.0, ..good }], 0.0), (0, "stiffening"));
    assert_eq!(refused(vec![good], 2.0 * STRONGEST).1, "coupling");
    let few = Springs::new(vec![good], 1.0).unwrap();
    assert!(matches!(
        Secondary::<1>::learnt([&few], &strip(2)),
        Err(SecondaryError::Vertices { found: 4, expected: 1 })
    ));
}
