//! The scenes of assets/scenes, played as `dermis animate` plays them, against closed forms.

use dermis_files::load::{Source, load_motion, load_rig, read_contents};
use dermis_io::{Contents, Space};
use dermis_rig::glam::{DMat3, DQuat, DVec3};
use dermis_rig::{Frame, Motion};
use dermis_workflow::load::ReadOptions;
use dermis_workflow::recipe::{AnimateOutcome, AnimateRecipe, Existing, Silent};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn asset(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets").join(name)
}

fn play(scene: &str, out: &Path) -> AnimateOutcome {
    let scene = asset(&format!("scenes/{scene}.json"));
    let recipe =
        AnimateRecipe { scene: scene.into(), read: ReadOptions::default(), out: out.into(), existing: Existing::Keep };
    recipe.run(&Silent).unwrap_or_else(|error| panic!("{error}"))
}

/// The motion of a scene and what it says of itself, through a bundle.
fn played(scene: &str, rig: &str) -> (Motion, AnimateOutcome) {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("motion.npz");
    let outcome = play(scene, &out);
    let loaded = load_rig(&asset(rig)).unwrap();
    let (motion, _) = load_motion(&loaded.rig, &loaded.space, &Source::from(out), &ReadOptions::default()).unwrap();
    (motion, outcome)
}

/// The contents of a scene's GLB.
fn shown(scene: &str) -> Contents {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("motion.glb");
    play(scene, &out);
    read_contents(&out, &Space::default()).unwrap().0
}

fn bone(rig: &str, name: &str) -> dermis_rig::BoneIndex {
    let rig = load_rig(&asset(rig)).unwrap().rig;
    rig.skeleton().find(name).unwrap()
}

/// At ten past ten and at noon the hands stand where they stand on any clock; angles by hand, from twelve, clockwise.
#[test]
fn one_control_drives_the_hands_of_a_clock() {
    let (motion, _) = played("clock", "scenes/clock.glb");
    let hands = ["hour", "minute", "second"].map(|name| bone("scenes/clock.glb", name));
    for (frame, seconds) in [(0, 36_610.0), (48, 36_612.0), (192, 43_200.0)] {
        let angles = [seconds / 120.0, seconds / 10.0, 6.0 * seconds];
        for (hand, degrees) in hands.into_iter().zip(angles) {
            let found = motion.frames[frame].pose.bones[hand].matrix3;
            let expected = DMat3::from_rotation_z(-f64::to_radians(degrees));
            assert!(found.abs_diff_eq(expected, 1e-6), "frame {frame}: {degrees}°");
        }
    }
}

#[test]
fn grass_bends_each_blade_its_own_way_and_twice_the_same() {
    let (motion, outcome) = played("grass", "scenes/grass.glb");
    assert_eq!((outcome.converted.counts.bones, outcome.converted.counts.frames), (501, 97));
    let lean = |frame: &Frame, bone: usize| {
        let up = frame.pose.bones.as_slice()[bone].matrix3.y_axis;
        assert!((up.length() - 1.0).abs() < 1e-6 && up.y > -0.2, "a blade neither grows nor goes into the ground");
        up
    };
    let (first, last) = (&motion.frames[0], &motion.frames[40]);
    let moved = (1..501).filter(|&bone| lean(first, bone).distance(lean(last, bone)) > 0.02).count();
    assert!(moved > 450, "{moved} of 500 blades move");
    let down_wind = (1..501).map(|bone| lean(last, bone).x).sum::<f64>() / 500.0;
    assert!(down_wind > 0.1, "the wind blows along x: {down_wind}");
    let folder = TempDir::new().unwrap();
    let bytes = ["a.glb", "b.glb"].map(|name| {
        play("grass", &folder.path().join(name));
        std::fs::read(folder.path().join(name)).unwrap()
    });
    assert!(bytes[0] == bytes[1], "the same scene gives the same bytes");
}

#[test]
fn a_ball_keeps_its_volume_where_it_is_squashed() {
    let (motion, _) = played("ball", "scenes/ball.glb");
    let ball = bone("scenes/ball.glb", "ball");
    let (mut lowest, mut highest, mut flattest) = (f64::MAX, f64::MIN, f64::MAX);
    for frame in &motion.frames {
        let world = frame.pose.bones[ball];
        // Stored in 32 bits: three factors, each right to 6e-8.
        assert!((world.matrix3.determinant() - 1.0).abs() < 1e-6, "{}", frame.label);
        lowest = lowest.min(world.translation.y);
        highest = highest.max(world.translation.y);
        flattest = flattest.min(world.matrix3.y_axis.length());
    }
    assert!(lowest.abs() < 1e-6 && highest > 1.0, "it touches the ground and leaves it: {lowest} {highest}");
    assert!(flattest < 0.6, "{flattest}");
}

/// The feet are where the walk has them, to a hundredth of a millimetre, while the pelvis is centimetres elsewhere.
#[test]
fn a_body_reaches_for_a_point_while_its_feet_stay() {
    let (motion, outcome) = played("body", "body/body.glb");
    for goal in &outcome.goals {
        assert_eq!((goal.missed, goal.out_of_reach_frames), (0, 0), "{goal:?}");
    }
    let loaded = load_rig(&asset("body/body.glb")).unwrap();
    let rig = &loaded.rig;
    let walk = Source { path: asset("body/body.glb"), part: Some("walk".into()) };
    let rate = ReadOptions { fps: Some(30.0 / 0.28), ..ReadOptions::default() };
    let (walk, _) = load_motion(rig, &loaded.space, &walk, &rate).unwrap();
    let bones = ["foot_l", "foot_r", "pelvis", "hand_r"].map(|name| rig.skeleton().find(name).unwrap());
    let (mut lifted, mut missed) = (0f64, 0f64);
    for (frame, walked) in motion.frames.iter().zip(&walk.frames) {
        for foot in &bones[..2] {
            let (found, expected) = (frame.pose.bones[*foot], walked.pose.bones[*foot]);
            assert!(found.translation.distance(expected.translation) < 1e-5, "{}", frame.label);
            assert!(found.matrix3.abs_diff_eq(expected.matrix3, 2e-5), "{}", frame.label);
        }
        let pelvis = frame.pose.bones[bones[2]].translation.distance(walked.pose.bones[bones[2]].translation);
        lifted = lifted.max(pelvis);
        let time = frame.time.unwrap();
        if time > 0.81 {
            let x = -0.16 + 0.14 * (2.2 * time).sin();
            let y = 1.2 + 0.2 * (1.7 * time + 1.0).sin();
            let tip = frame.pose.bones[bones[3]].transform_point3(DVec3::new(0.0, 0.1, 0.0));
            missed = missed.max(tip.distance(DVec3::new(x, y, 0.31 * time + 0.42)));
        }
    }
    assert!(lifted > 0.05 && missed < 1e-5, "{lifted} {missed}");
    // No joint jumps between frames, a thirtieth of a second apart.
    for two in motion.frames.windows(2) {
        for bone in rig.skeleton().bones() {
            let turn = |frame: &Frame| DQuat::from_mat3(&frame.pose.bones[bone].matrix3);
            let angle = turn(&two[0]).angle_between(turn(&two[1])).to_degrees();
            assert!(angle < 12.0, "{}: {angle}° at \"{}\"", two[1].label, rig.skeleton().names()[bone]);
        }
    }
}

/// At the times of its examples the map gives what they give: 2 s is a smile, 4.25 s a frown, 5.25 s both.
#[test]
fn a_smile_and_a_frown_drive_the_shapes_of_a_face() {
    let contents = shown("face");
    let names: Vec<&str> = contents.morphs.iter().map(|morph| morph.name.as_str()).collect();
    assert_eq!(names.len(), 8);
    let clip = &contents.clips[0];
    for (time, expected) in [
        (0.0, [0.0; 8]),
        (2.0, [1.0, 1.0, 0.0, 0.0, 0.5, 1.0, 0.6, 0.0]),
        (4.25, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
    ] {
        let found = (clip.sample)(time).morph_weights;
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{time} s: {found:?}");
    }
    let wry = (clip.sample)(5.25).morph_weights;
    assert!(wry[0] > 0.95 && wry[1] < 0.05 && wry[3] > 0.6, "{wry:?}");
}

/// The heights of the skin in every frame of a scene, by linear blend skinning, with those of every bone's head.
fn skins(motion: &Motion, rig: &str) -> (Vec<Vec<DVec3>>, dermis_rig::Rig) {
    let rig = load_rig(&asset(rig)).unwrap().rig;
    let weights = rig.weights().unwrap().clone();
    let skin = |frame: &Frame| {
        let moved = rig.skeleton().bone_transforms(&frame.pose);
        let vertex = |(v, p): (usize, &DVec3)| {
            weights.of(v).iter().map(|(bone, w)| moved[*bone].transform_point3(*p) * *w).sum::<DVec3>()
        };
        rig.mesh().positions.iter().enumerate().map(vertex).collect()
    };
    (motion.frames.iter().map(skin).collect(), rig.clone())
}

/// Out of its walk the body falls, and lies after four seconds: no skin is below the ground by more than three centimetres, where skinning
/// leaves the hulls of the bones, no bone's head by more than half a centimetre, and nothing moves by more than 0.3 m/s.
#[test]
fn a_ragdoll_comes_to_rest_on_the_ground() {
    let (motion, outcome) = played("ragdoll", "body/body.glb");
    let mass: f64 = outcome.bodies.iter().map(|body| body.mass).sum();
    println!("{} bodies, {mass} kg", outcome.bodies.len());
    assert!((50.0..110.0).contains(&mass) && outcome.bodies.len() > 15, "{mass}");
    let (skins, rig) = skins(&motion, "body/body.glb");
    let lowest = |skin: &Vec<DVec3>| skin.iter().map(|p| p.y).fold(f64::MAX, f64::min);
    let low = skins.iter().map(lowest).fold(f64::MAX, f64::min);
    let sunk = motion.frames.iter().flat_map(|frame| frame.pose.bones.iter().skip(1).map(|b| b.translation.y));
    let sunk = sunk.fold(f64::MAX, f64::min);
    println!("lowest skin {low} m, lowest bone {sunk} m");
    assert!(low > -0.03 && sunk > -0.005, "{low} {sunk}");
    let last = skins.len() - 1;
    let moved = skins[last].iter().zip(&skins[last - 1]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    println!("moves {moved} m in the last frame");
    assert!(moved * 30.0 < 0.3, "{moved}");
    let head = rig.skeleton().find("head").unwrap();
    assert!(motion.frames[last].pose.bones[head].translation.y < 0.4, "it lies");
}

/// The ball is a body: it keeps its volume, touches the ground, and rises to 0.64 of its height.
#[test]
fn a_thrown_ball_bounces_by_itself() {
    let (motion, outcome) = played("bounce", "scenes/ball.glb");
    let ball = bone("scenes/ball.glb", "ball");
    // The closed form of the sphere; its 240 triangles hold 4 % less.
    let sphere = 80.0 * 4.0 / 3.0 * std::f64::consts::PI * 0.25f64.powi(3);
    let mass = outcome.bodies[0].mass;
    assert!((0.94..1.0).contains(&(mass / sphere)), "{mass} {sphere}");
    let middles: Vec<f64> =
        motion.frames.iter().map(|frame| frame.pose.bones[ball].transform_point3(DVec3::Y * 0.25).y).collect();
    let tops: Vec<f64> = middles.windows(3).filter(|h| h[1] > h[0] && h[1] >= h[2]).map(|h| h[1] - 0.25).collect();
    println!("{tops:?}");
    assert!((tops[0] / 1.1 - 0.64).abs() < 0.05 && (tops[1] / tops[0] - 0.64).abs() < 0.08, "{tops:?}");
    let mut flattest = 1f64;
    for frame in &motion.frames {
        let world = frame.pose.bones[ball];
        assert!((world.matrix3.determinant() - 1.0).abs() < 1e-6, "{}", frame.label);
        flattest = flattest.min(world.matrix3.y_axis.length());
    }
    println!("{flattest}");
    let (skins, _) = skins(&motion, "scenes/ball.glb");
    let low = skins.iter().flatten().map(|p| p.y).fold(f64::MAX, f64::min);
    assert!(low > -0.0301, "the floor is 3 cm thick: {low}");
}

#[test]
fn a_tail_lags_behind_what_pulls_it() {
    let (motion, outcome) = played("tail", "scenes/tail.glb");
    assert_eq!(outcome.bodies.len(), 10);
    let tip = bone("scenes/tail.glb", "tail 9");
    let block = bone("scenes/tail.glb", "block");
    let behind = |frame: usize| {
        let pose = &motion.frames[frame].pose.bones;
        pose[block].translation.x - pose[tip].translation.x
    };
    // When the block has come to a stop at 1.1 s the tail swings on.
    let range = (25..45).map(behind).fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    println!("{range:?}");
    assert!(range.1 - range.0 > 0.05, "{range:?}");
    for two in motion.frames.windows(2) {
        let step = two[0].pose.bones[tip].translation.distance(two[1].pose.bones[tip].translation);
        assert!(step < 0.3, "{}: {step}", two[1].label);
    }
}
