//! Shapes that a blend channel passes through: texts of the testkit with further shapes, against the piecewise linear form by hand.

use dermis_io::{Contents, Flaw, fbx};
use dermis_rig::glam::DVec3;
use dermis_testkit::fbx::{CHANNEL, changed};

fn read(text: &str) -> Contents {
    let alone = |_: &str, _: u64| Err(std::io::ErrorKind::NotFound.into());
    fbx::read(text.as_bytes(), "strip.fbx", &alone).unwrap_or_else(|e| panic!("{e}"))
}

/// Shapes of vertices 8 and 9 by their numbers, further ones on the channel of the strip, and what the channel says of itself.
fn with(shapes: &[(i32, DVec3)], channel: &str) -> String {
    let shape = |(id, d): &(i32, DVec3)| {
        format!(
            "Geometry: {id}, \"Geometry::more{id}\", \"Shape\" {{ Version: 100\n Indexes: *1 {{ a: 8 }}\n Vertices: *3 {{ a: {},{},{} }}\n Normals: *3 {{ a: 0,0,0 }} }}\n",
            d.x, d.y, d.z
        )
    };
    let objects: String = shapes.iter().map(shape).collect();
    let links: String = shapes.iter().map(|(id, _)| format!("C: \"OO\",{id},44\n")).collect();
    changed(&[
        (CHANNEL, channel),
        ("Deformer: 40,", &format!("{objects}Deformer: 40,")),
        ("C: \"OO\",11,44\n", &format!("C: \"OO\",11,44\n{links}")),
    ])
}

/// What the morph targets displace of vertex 8 in clip `clip` at `time`.
fn displaced(contents: &Contents, clip: usize, time: f64) -> DVec3 {
    let weights = (contents.clips[clip].sample)(time).morph_weights;
    contents.morphs.iter().zip(weights).map(|(morph, weight)| morph.deltas[8] * weight).sum()
}

const WHOLE: DVec3 = DVec3::Z;
const QUARTER: DVec3 = DVec3::new(1.0, 0.0, 0.0);
const BACK: DVec3 = DVec3::new(0.0, 3.0, 0.0);

/// Straight lines through zero at 0, `QUARTER` at a quarter and `WHOLE` at one, on beyond it; and `BACK` at minus one half.
fn expected(w: f64) -> DVec3 {
    match w {
        w if w < 0.0 => BACK * (w / -0.5),
        w if w < 0.25 => QUARTER * (w / 0.25),
        w => QUARTER + (WHOLE - QUARTER) * ((w - 0.25) / 0.75),
    }
}

#[test]
fn shapes_in_between_are_targets_of_their_own() {
    let text = with(&[(12, QUARTER), (13, BACK)], "DeformPercent: 0\n FullWeights: *3 { a: 100,25,-50 }");
    // "slide" takes the channel from 0 to 100 percent in two frames; others begin below zero and go on beyond.
    for (keys, from, to) in [("a: 0,50,100 }", 0.0, 1.0), ("a: -80,30,140 }", -0.8, 1.4)] {
        let contents =
            read(&text.replacen("a: 0,50,100\n", &(keys.replace(" }", "\n")), 1).replacen("a: 0,50,100 }", keys, 1));
        let names: Vec<&str> = contents.morphs.iter().map(|morph| morph.name.as_str()).collect();
        assert_eq!(names, ["fuller_-50", "fuller_25", "fuller"]);
        let flaws: Vec<_> = contents.warnings.iter().map(|w| (w.flaw, w.count, w.first.as_deref())).collect();
        assert_eq!(flaws, [(Flaw::Between, 2, Some("\"fuller_-50\""))]);
        assert_eq!(contents.unread, [""; 0]);
        for step in 0..=64 {
            let part = f64::from(step) / 64.0;
            let (found, expected) = (displaced(&contents, 1, part * 2.0 / 24.0), expected(from + part * (to - from)));
            // Keys pass through 32 bits, and steep lines multiply what they lose: 2 · 2⁻²⁴ · 6.
            assert!(found.distance(expected) < 2e-6, "{part}: {found} is not {expected}");
        }
    }
}

/// The percentage without a take, and files in which one name is on two meshes.
#[test]
fn the_weights_at_rest_follow_the_same_lines() {
    for percent in [40.0, 10.0, -25.0, 120.0] {
        let channel = format!("DeformPercent: {percent}\n FullWeights: *3 {{ a: 100,25,-50 }}");
        let contents = read(&with(&[(12, QUARTER), (13, BACK)], &channel));
        let shown: DVec3 =
            contents.morphs.iter().zip(&contents.morph_weights).map(|(morph, weight)| morph.deltas[8] * *weight).sum();
        let expected = expected(percent / 100.0);
        assert!(shown.distance(expected) < 1e-12, "{percent}: {shown} is not {expected}");
        // "bend" has no keys of the channel.
        assert!(displaced(&contents, 0, 0.1).distance(expected) < 1e-12, "{percent}");
    }
}

/// Shapes whose percentages do not tell them apart are left out, all but one, and counted.
#[test]
fn percentages_that_are_no_knots_are_named() {
    for weights in ["*3 { a: 100,100,50 }", "*3 { a: 100,0,50 }", "*1 { a: 100 }"] {
        let contents = read(&with(&[(12, QUARTER), (13, BACK)], &format!("DeformPercent: 0\n FullWeights: {weights}")));
        assert_eq!(contents.morphs.len(), 1, "{weights}");
        let unsupported = contents.warnings.iter().find(|w| w.flaw == Flaw::Unsupported).unwrap();
        assert_eq!(unsupported.count, 2);
        assert!(unsupported.first.as_ref().unwrap().contains("\"fuller\", whose percentages"), "{unsupported}");
    }
}
