use super::*;
use dermis_rig::glam::DQuat;

/// Numbers in 0..1, the same for every run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The triangles of one polygon over its corners, and the warnings.
fn split_one(outline: &[DVec3]) -> (Vec<[u32; 3]>, Vec<Warning>) {
    let count = outline.len() as u32;
    let polygons = Polygons { counts: vec![count], indices: (0..count).collect() };
    let (made, mut warnings) = (Split::new(&polygons, outline), Vec::new());
    made.warn(&mut warnings);
    (made.over(&polygons.indices), warnings)
}

fn flat(points: &[[f64; 2]]) -> Vec<DVec3> {
    points.iter().map(|[x, y]| DVec3::new(*x, *y, 0.0)).collect()
}

/// The area of a polygon in a plane of z, by the shoelace formula.
fn area(outline: &[DVec3]) -> f64 {
    let next = outline.iter().cycle().skip(1);
    outline.iter().zip(next).map(|(a, b)| a.x * b.y - a.y * b.x).sum::<f64>() / 2.0
}

/// Whether a point lies inside an outline: it does if a ray to the right crosses it an odd number of times.
fn is_inside(outline: &[DVec3], [x, y]: [f64; 2]) -> bool {
    let next = outline.iter().cycle().skip(1);
    let crosses = |(a, b): &(&DVec3, &DVec3)| (a.y > y) != (b.y > y) && x < a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x);
    outline.iter().zip(next).filter(crosses).count() % 2 == 1
}

/// Every triangle of a polygon in a plane of z turns as the polygon, all together have its area, and points that are drawn lie in one
/// of them if they lie inside, and else in none.
fn expect_covered(outline: &[DVec3], what: &str) {
    let (triangles, warnings) = split_one(outline);
    assert_eq!((triangles.len(), warnings.len()), (outline.len() - 2, 0), "{what}");
    let of = |corners: &[u32; 3]| corners.map(|corner| outline[corner as usize]);
    let areas: Vec<f64> = triangles.iter().map(|corners| area(&of(corners))).collect();
    let whole = area(outline);
    assert!(areas.iter().all(|part| part * whole.signum() >= 0.0), "{what}: a triangle is folded, {areas:?}");
    assert!((areas.iter().sum::<f64>() - whole).abs() < 1e-9 * whole.abs(), "{what}");
    for corner in 0..outline.len() as u32 {
        assert!(triangles.as_flattened().contains(&corner), "{what}: corner {corner} is lost");
    }
    let mut draw = Draw(7);
    let (low, high) = outline.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)));
    for _ in 0..200 {
        let at = [low.x + (high.x - low.x) * draw.next(), low.y + (high.y - low.y) * draw.next()];
        let covered = triangles.iter().filter(|corners| is_inside(&of(corners), at)).count();
        assert_eq!(covered, usize::from(is_inside(outline, at)), "{what}: {at:?}");
    }
}

/// An outline from every corner on, both ways round.
fn expect_covered_from_anywhere(outline: &[DVec3], what: &str) {
    let mut outline = outline.to_vec();
    for _ in 0..2 {
        for start in 0..outline.len() {
            outline.rotate_left(1);
            expect_covered(&outline, &format!("{what} from corner {start}"));
        }
        outline.reverse();
    }
}

#[test]
fn convex_polygons_are_fans() {
    let regular = |count: u32| -> Vec<DVec3> {
        (0..count).map(|at| DVec2::from_angle(f64::from(at) * 2.0 * PI / f64::from(count)).extend(0.3)).collect()
    };
    for count in 3..12 {
        for turned in [DQuat::IDENTITY, DQuat::from_rotation_x(2.2), DQuat::from_rotation_y(-1.0)] {
            let outline: Vec<DVec3> = regular(count).iter().map(|p| turned * *p).collect();
            let fan: Vec<[u32; 3]> = (2..count).map(|at| [0, at - 1, at]).collect();
            assert_eq!(split_one(&outline), (fan, vec![]), "{count}");
        }
    }
    // A quad that is no plane is one as long as it looks convex.
    let saddle = [DVec3::ZERO, DVec3::X, DVec3::new(1.0, 1.0, 0.4), DVec3::Y];
    assert_eq!(split_one(&saddle).0, [[0, 1, 2], [0, 2, 3]]);
}

#[test]
fn concave_polygons_are_covered_once() {
    for (what, outline) in [
        ("a dart", flat(&[[0.0, 0.0], [2.0, -1.0], [0.5, 0.0], [2.0, 1.0]])),
        ("an L", flat(&[[3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0], [0.0, 0.0], [3.0, 0.0]])),
        ("a notch", flat(&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]])),
        (
            "a square with corners on its sides",
            flat(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0], [0.5, 2.0], [0.0, 2.0]]),
        ),
        ("a triangle with corners on one side", flat(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.0, 2.0]])),
    ] {
        expect_covered_from_anywhere(&outline, what);
    }
}

/// Stars of drawn radii, spirals and combs, at any place of a plane.
#[test]
fn drawn_polygons_are_covered_once() {
    for seed in 0..60 {
        let mut draw = Draw(seed);
        let count = 4 + (draw.next() * 40.0) as u32;
        let star = (0..count).map(|at| {
            let angle = (f64::from(at) + 0.9 * draw.next()) / f64::from(count) * 2.0 * PI;
            (DVec2::from_angle(angle) * (0.1 + draw.next())).extend(0.0) + DVec3::new(3.0, -2.0, 5.0)
        });
        expect_covered(&star.collect::<Vec<_>>(), &format!("a star, seed {seed}"));
    }
    for turns in 1..5u32 {
        let arm = |at: u32, away: f64| {
            let angle = f64::from(at) * 0.4;
            (DVec2::from_angle(angle) * (0.2 + 0.15 * angle + away)).extend(0.0)
        };
        let out = (0..16 * turns).map(|at| arm(at, 0.0));
        let spiral: Vec<DVec3> = out.chain((0..16 * turns).rev().map(|at| arm(at, 0.3))).collect();
        expect_covered(&spiral, &format!("a spiral of {turns} turns"));
    }
    let comb: Vec<[f64; 2]> = (0..20).map(|at| [f64::from(at), if at % 2 == 0 { 0.0 } else { 5.0 }]).collect();
    expect_covered_from_anywhere(&flat(&[&comb[..], &[[19.0, -1.0], [0.0, -1.0]]].concat()), "a comb");
}

/// A hole is a slit's end: the outline goes in along the slit, around the hole and back.
#[test]
fn slits_that_lead_to_holes_are_covered_once() {
    let square = [[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0]];
    let hole = [[1.0, 1.0], [1.0, 3.0], [3.0, 3.0], [3.0, 1.0], [1.0, 1.0]];
    let outline = flat(&[&square[..], &hole[..]].concat());
    let (triangles, warnings) = split_one(&outline);
    assert_eq!((triangles.len(), warnings.len()), (8, 0));
    let of = |corners: &[u32; 3]| corners.map(|corner| outline[corner as usize]);
    let areas: Vec<f64> = triangles.iter().map(|corners| area(&of(corners))).collect();
    assert!(areas.iter().all(|part| *part > 0.0) && (areas.iter().sum::<f64>() - 12.0).abs() < 1e-12, "{areas:?}");
}

/// What a turn in space makes of a polygon, and a bump of a hundredth of its size, changes nothing.
#[test]
fn polygons_are_split_along_their_own_normal() {
    let plane = flat(&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]]);
    let bumped: Vec<DVec3> =
        plane.iter().enumerate().map(|(at, p)| *p + DVec3::Z * 0.02 * f64::from(at as u32 % 3)).collect();
    let expected = split_one(&plane).0;
    assert!(area(&expected[0].map(|corner| plane[corner as usize])) > 0.0);
    for axis in [DVec3::X, DVec3::Y, DVec3::new(0.6, 0.0, 0.8)] {
        for angle in [0.5, 1.6, 3.0, 4.4] {
            let turned = |points: &[DVec3]| -> Vec<DVec3> {
                points.iter().map(|p| DQuat::from_axis_angle(axis, angle) * *p * 1e-4 + DVec3::splat(80.0)).collect()
            };
            assert_eq!(split_one(&turned(&plane)).0, expected, "{axis} {angle}");
            assert_eq!(split_one(&turned(&bumped)).0, expected, "{axis} {angle}");
        }
    }
}

#[test]
fn polygons_that_cross_themselves_are_counted_and_lose_nothing() {
    let on_circle = |at: u32| DVec2::from_angle(f64::from(at) * 2.0 * PI / 5.0).extend(0.0);
    let pentagram: Vec<DVec3> = [0, 2, 4, 1, 3].map(on_circle).to_vec();
    let mut draw = Draw(3);
    let tangle: Vec<DVec3> = (0..2000).map(|_| DVec3::new(draw.next(), draw.next(), draw.next())).collect();
    for (what, outline) in [
        ("a bow tie", flat(&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])),
        ("a pentagram", pentagram),
        ("a tangle", tangle),
    ] {
        let (triangles, warnings) = split_one(&outline);
        assert_eq!(triangles.len(), outline.len() - 2, "{what}");
        assert!((0..outline.len() as u32).all(|corner| triangles.as_flattened().contains(&corner)), "{what}");
        assert_eq!(
            warnings.iter().map(|w| (w.flaw, w.count)).collect::<Vec<_>>(),
            [(Flaw::CrossedPolygon, 1)],
            "{what}"
        );
        assert_eq!(split_one(&outline).0, triangles, "{what}: the same again");
    }
}

#[test]
fn polygons_without_area_are_fans() {
    let line: Vec<DVec3> = (0..6).map(|at| DVec3::new(f64::from(at), 1.0, 2.0)).collect();
    for outline in [line, vec![DVec3::ONE; 5], vec![DVec3::ZERO, DVec3::X, DVec3::ZERO, DVec3::X]] {
        let fan: Vec<[u32; 3]> = (2..outline.len() as u32).map(|at| [0, at - 1, at]).collect();
        assert_eq!(split_one(&outline), (fan, vec![]));
    }
    // A quad that names a corner twice is a triangle, and one without area.
    let repeated = flat(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]);
    assert_eq!(split_one(&repeated), (vec![[0, 1, 2], [0, 2, 3]], vec![]));
}

#[test]
fn lists_that_end_early_and_numbers_that_are_none_are_passed_over() {
    let polygons = Polygons { counts: vec![5, 3], indices: vec![4, 0, 1, 2, 3, 7, 8, 9] };
    let made = Split::new(&polygons, &[]);
    assert_eq!(made.over(&polygons.indices), [[4, 0, 1], [4, 1, 2], [4, 2, 3], [7, 8, 9]]);
    let short = Polygons { counts: vec![u32::MAX, 3], indices: vec![1, 2] };
    assert_eq!(Split::new(&short, &[DVec3::ONE; 3]).over(&short.indices), [[0u32; 3]; 0]);
    for wrong in [f64::NAN, f64::INFINITY, f64::MAX] {
        let outline: Vec<DVec3> = (0..5).map(|at| DVec3::new(f64::from(at), wrong, -wrong)).collect();
        assert_eq!(split_one(&outline).0.len(), 3);
    }
}

/// As many corners as no polygon has: concave in half of them, all on a line but three, and crossing everywhere.
#[test]
fn large_polygons_end() {
    let comb: Vec<DVec3> = (0..4000)
        .map(|at| DVec3::new(f64::from(at), f64::from(at % 2) * 9.0, 0.0))
        .chain([DVec3::new(2e3, -1e7, 0.0)])
        .collect();
    let (triangles, warnings) = split_one(&comb);
    assert_eq!((triangles.len(), warnings.len()), (3999, 0));
    let parts = triangles.iter().map(|corners| area(&corners.map(|corner| comb[corner as usize])).abs());
    assert!((parts.sum::<f64>() / area(&comb).abs() - 1.0).abs() < 1e-9);
    let mut draw = Draw(1);
    let tangle: Vec<DVec3> = (0..200_000).map(|_| DVec3::new(draw.next(), draw.next(), 0.0)).collect();
    assert_eq!(split_one(&tangle).0.len(), 199_998);
}
