//! Meshes that are no body: they end with the reason, with work that does not grow with what they hold.

use dermis_autorig::{AutoRigError, AutoRigSettings, Template, autorig};
use dermis_rig::glam::DVec3;
use dermis_rig::{Mesh, silent};
use std::time::{Duration, Instant};

/// Numbers in -1..1, the same for every run.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from((state >> 33) as u32) / f64::from(1_u32 << 30) - 1.0
    }
}

/// Triangles between random points of a cube, each of as many points as there are.
fn soup(count: u32) -> Mesh {
    let mut next = numbers(7);
    let positions: Vec<DVec3> = (0..count).map(|_| DVec3::new(next(), next(), next())).collect();
    let mut corner = || (0.5 * (next() + 1.0) * f64::from(count)) as u32 % count;
    let triangles = (0..count).map(|_| [corner(), corner(), corner()]).collect();
    Mesh { positions, triangles, ..Mesh::default() }
}

/// Triangles as long as the mesh and a thousandth as wide, in all directions.
fn slivers(count: u32) -> Mesh {
    let mut next = numbers(11);
    let mut point = || DVec3::new(next(), next(), next());
    let slivers = (0..count).map(|_| [point(), point(), 1e-3 * point()]);
    let positions = slivers.flat_map(|[a, b, aside]| [a, b, 0.5 * (a + b) + aside]).collect();
    let triangles = (0..count).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    Mesh { positions, triangles, ..Mesh::default() }
}

/// Balls within one another.
fn shells(count: u32, rings: u32) -> Mesh {
    let (mut positions, mut triangles) = (Vec::new(), Vec::new());
    for shell in 1..=count {
        let radius = f64::from(shell) / f64::from(count);
        let first = positions.len() as u32;
        for i in 0..=rings {
            for j in 0..2 * rings {
                let step = std::f64::consts::PI / f64::from(rings);
                let (a, b) = (f64::from(i) * step, f64::from(j) * step);
                positions.push(radius * DVec3::new(a.sin() * b.cos(), a.cos(), a.sin() * b.sin()));
            }
        }
        for i in 0..rings {
            for j in 0..2 * rings {
                let at = |i: u32, j: u32| first + i * 2 * rings + j % (2 * rings);
                triangles.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
                triangles.push([at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]);
            }
        }
    }
    Mesh { positions, triangles, ..Mesh::default() }
}

fn refused(mesh: &Mesh) -> (AutoRigError, Duration) {
    let start = Instant::now();
    let template = Template::named("biped").unwrap();
    match autorig(mesh, &template, &AutoRigSettings::default(), &silent) {
        Ok(_) => panic!("this is no body"),
        Err(error) => (error, start.elapsed()),
    }
}

/// Without a bound the soup takes minutes of a core, and work grows with the square of its triangles.
#[test]
fn a_soup_of_triangles_ends_with_the_reason() {
    for (name, mesh) in [("soup", soup(3000)), ("more soup", soup(20_000)), ("slivers", slivers(6000))] {
        let (error, took) = refused(&mesh);
        assert!(matches!(error, AutoRigError::Tangled { near } if near > 500), "{name}: {error}");
        assert!(took < Duration::from_secs(120), "{name}: {took:?}");
    }
}

/// Balls within one another are one ball, which a biped does not fit; of so many that thousands of triangles are near every point, that is the reason.
#[test]
fn shells_within_shells_end_as_what_they_are() {
    for (count, is_tangled) in [(10, false), (200, true)] {
        let (error, took) = refused(&shells(count, 12));
        assert_eq!(matches!(error, AutoRigError::Tangled { .. }), is_tangled, "{count}: {error}");
        assert!(took < Duration::from_secs(120), "{count}: {took:?}");
    }
}
