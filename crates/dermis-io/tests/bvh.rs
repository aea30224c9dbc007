//! BVH: read against products of matrices written by hand, every truncation, hostile numbers, and round trips.
#![cfg(feature = "formats")]

use dermis_io::bvh::{self, BvhMotion};
use dermis_io::{Contents, Flaw, Space, UpAxis, to_bytes};
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::{BoneIndex, Skeleton, WorldPose};

const WALK: &str = "HIERARCHY
ROOT hips
{
  OFFSET 0 90 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT left thigh {
    OFFSET 10.0 -5 0
    CHANNELS 3 Yrotation Xrotation Zrotation
    JOINT shin
    {
      OFFSET 0 -40 1
      CHANNELS 4 Xrotation Yposition Zrotation Yrotation
      End Site
      {
        OFFSET 0 -38 0
      }
    }
  }
  JOINT spine
  {
    OFFSET 0 12 0
    CHANNELS 1 Zrotation
    End Site { OFFSET 0 0 0 }
  }
}
ROOT prop
{
  OFFSET 100 0 0
  CHANNELS 3 Xposition Yposition Zposition
}
MOTION
Frames: 3
Frame Time: 0.04
1 91 2 10 20 30  -15 25 35  50 -41 60 70  12 100 1 0
2 92 3 11 21 31  -16 26 36  51 -42 61 71  13 101 2 0
3 93 4 12 22 32  -17 27 37  52 -43 62 72  14 102 3 0
";

fn read(text: &str) -> Contents {
    bvh::read(text.as_bytes(), "walk.bvh", &Space::default()).unwrap()
}

fn why(text: &str) -> String {
    bvh::read(text.as_bytes(), "walk.bvh", &Space::default()).unwrap_err().to_string()
}

fn count(contents: &Contents, flaw: Flaw) -> usize {
    contents.warnings.iter().find(|warning| warning.flaw == flaw).map_or(0, |warning| warning.count)
}

fn turn(axis: char, degrees: f64) -> DMat3 {
    let angle = degrees.to_radians();
    let (s, c) = angle.sin_cos();
    match axis {
        'X' => DMat3::from_cols(DVec3::X, DVec3::new(0.0, c, s), DVec3::new(0.0, -s, c)),
        'Y' => DMat3::from_cols(DVec3::new(c, 0.0, -s), DVec3::Y, DVec3::new(s, 0.0, c)),
        _ => DMat3::from_cols(DVec3::new(c, s, 0.0), DVec3::new(-s, c, 0.0), DVec3::Z),
    }
}

fn affine(matrix3: DMat3, x: f64, y: f64, z: f64) -> DAffine3 {
    DAffine3 { matrix3, translation: DVec3::new(x, y, z) }
}

/// Oracle: the products that the format's description says, with matrices from the definition.
#[test]
fn joints_turn_in_the_order_of_their_channels() {
    let contents = read(WALK);
    let skeleton = contents.skeleton.as_ref().unwrap();
    assert_eq!(skeleton.names().to_vec(), ["hips", "left thigh", "shin", "shin_end", "spine", "prop"]);
    let parents: Vec<_> = skeleton.parents().iter().map(|p| p.map(BoneIndex::get)).collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(0), None]);
    assert_eq!(skeleton.bind()[BoneIndex::new(3)].translation, DVec3::new(10.0, 7.0, 1.0));
    let clip = &contents.clips[0];
    assert_eq!((clip.name.as_str(), clip.duration, contents.frames_per_second), ("walk", 0.08, Some(25.0)));
    let hips = affine(turn('Z', 11.0) * turn('X', 21.0) * turn('Y', 31.0), 2.0, 92.0, 3.0);
    let thigh = hips * affine(turn('Y', -16.0) * turn('X', 26.0) * turn('Z', 36.0), 10.0, -5.0, 0.0);
    let shin = thigh * affine(turn('X', 51.0) * turn('Z', 61.0) * turn('Y', 71.0), 0.0, -42.0, 1.0);
    let end = shin * affine(DMat3::IDENTITY, 0.0, -38.0, 0.0);
    let spine = hips * affine(turn('Z', 13.0), 0.0, 12.0, 0.0);
    let prop = affine(DMat3::IDENTITY, 101.0, 2.0, 0.0);
    let pose = (clip.sample)(0.04).pose;
    for (found, expected) in pose.bones.iter().zip([hips, thigh, shin, end, spine, prop]) {
        assert!(found.abs_diff_eq(expected, 1e-12), "{found} is not {expected}");
    }
}

#[test]
fn all_orders_of_rotation_are_read() {
    for order in ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"] {
        let channels: Vec<String> = order.chars().map(|axis| format!("{axis}rotation")).collect();
        let text = format!(
            "HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 3 {}\n}}\nMOTION\nFrames: 1\nFrame Time: 0.1\n20 -70 110\n",
            channels.join(" ")
        );
        let axes: Vec<char> = order.chars().collect();
        let expected = turn(axes[0], 20.0) * turn(axes[1], -70.0) * turn(axes[2], 110.0);
        let found = (read(&text).clips[0].sample)(0.0).pose.bones[BoneIndex::new(0)].matrix3;
        assert!(found.abs_diff_eq(expected, 1e-14), "{order}");
    }
}

/// Half way between two frames the angle about one axis is the mean, and places lie on the line.
#[test]
fn between_frames_rotations_are_interpolated_by_slerp() {
    let pose = (read(WALK).clips[0].sample)(0.02).pose;
    let prop = pose.bones[BoneIndex::new(5)].translation;
    assert!(prop.abs_diff_eq(DVec3::new(100.5, 1.5, 0.0), 1e-12));
    let [hips, spine] = [0, 4].map(|bone| pose.bones[BoneIndex::new(bone)].matrix3);
    assert!((hips.transpose() * spine).abs_diff_eq(turn('Z', 12.5), 1e-12));
}

#[test]
fn axes_and_unit_are_the_callers() {
    let space = Space { up: UpAxis::Z, metres_per_unit: 0.01, unit: "m".into() };
    let (inches, plain) = (bvh::read(WALK.as_bytes(), "walk.bvh", &space).unwrap(), read(WALK));
    let pose = |contents: &Contents| (contents.clips[0].sample)(0.08).pose;
    let c = space.to_ours();
    for bone in plain.skeleton.as_ref().unwrap().bones() {
        // M = T B⁻¹ is conjugated.
        let m = |contents: &Contents| {
            let skeleton = contents.skeleton.as_ref().unwrap();
            skeleton.bone_transforms(&pose(contents))[bone]
        };
        assert!(m(&inches).abs_diff_eq(c * m(&plain) * c.inverse(), 1e-12));
    }
}

/// Wherever the file is cut, there is an error with a line, or a warning, or nothing but the end of the last number is gone.
#[test]
fn truncation_is_an_error_or_counted() {
    let last = WALK.trim_end().len();
    for length in 0..WALK.len() {
        match bvh::read(&WALK.as_bytes()[..length], "walk.bvh", &Space::default()) {
            Err(error) => assert!(error.to_string().contains("line ") || length < 10, "{length}: {error}"),
            Ok(contents) => {
                let whole = contents.clips.first().is_some_and(|clip| clip.key_times.len() == 3) && length >= last;
                let none = contents.clips.is_empty() && length <= WALK.find("Frames").unwrap();
                assert!(whole || none || count(&contents, Flaw::CountMismatch) == 1, "{length}");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let with = |from: &str, to: &str| why(&WALK.replace(from, to));
    assert_eq!(why("v 0 0 0\n"), "not a BVH file: it starts with \"v 0 0 0\", not with HIERARCHY");
    assert_eq!(why(""), "not a BVH file: it is empty");
    assert_eq!(
        with("OFFSET 10.0 -5 0", "OFFSET 10.0 -5"),
        "damaged BVH file: line 7: OFFSET of \"left thigh\" has 2 numbers of 3"
    );
    assert_eq!(
        with("10.0 -5 0", "10.0 nan 0"),
        "damaged BVH file: line 7: OFFSET of \"left thigh\": \"nan\" is no usable number"
    );
    assert_eq!(
        with("CHANNELS 1 Z", "CHANNELS 99999999999 Z"),
        "damaged BVH file: line 22: \"spine\" has 1 CHANNELS of 99999999999"
    );
    assert_eq!(
        with("CHANNELS 1 Z", "CHANNELS 1 W"),
        "damaged BVH file: line 22: the channel \"Wrotation\" is not known"
    );
    assert_eq!(
        with("Frames: 3", "Frames: -3"),
        "damaged BVH file: line 32: \"Frames: -3\" stands where \"Frames: N\" is expected"
    );
    assert!(with("Frame Time: 0.04", "Frame Time: 0").contains("line 33"));
    assert!(with("Frame Time: 0.04", "Frame Time: inf").contains("line 33"));
    assert_eq!(with("3 0\n", "3 0 7\n"), "damaged BVH file: line 36: 18 numbers, but the joints have 17 channels");
    assert_eq!(with("100 1 0", "100 1"), "damaged BVH file: line 34: 16 numbers, but the joints have 17 channels");
    assert_eq!(with("100 1 0", "100 1 x"), "damaged BVH file: line 34: \"x\" is no number");
    assert_eq!(with("JOINT spine", "ROOT spine"), "damaged BVH file: line 19: ROOT inside another joint");
    assert_eq!(with("MOTION", "}\nMOTION"), "damaged BVH file: line 31: a } too many");
    assert_eq!(why("HIERARCHY\nMOTION\n"), "damaged BVH file: line 2: there is no ROOT");
}

#[test]
fn frames_that_are_not_finite_and_wrong_counts_are_counted() {
    let contents = read(&WALK.replace("2 92 3", "nan 92 3").replace("Frames: 3", "Frames: 300000000000"));
    assert_eq!((count(&contents, Flaw::NonFiniteFrame), count(&contents, Flaw::CountMismatch)), (1, 1));
    assert_eq!(contents.clips[0].key_times, [0.0, 0.08], "the times of the others stay");
    let fewer = read(&WALK.replace("Frames: 3", "Frames: 2"));
    assert_eq!((fewer.clips[0].key_times.len(), count(&fewer, Flaw::CountMismatch)), (2, 1));
    let twice = read(&WALK.replace("JOINT shin", "JOINT hips"));
    assert_eq!(count(&twice, Flaw::DuplicateName), 1);
}

/// A deep skeleton takes no stack, and bones that cost no bytes per frame no memory.
#[test]
fn depth_and_cheap_bones_are_bounded() {
    let deep = |levels: usize| {
        let joint = "JOINT j\n{\nOFFSET 0 1 0\n";
        format!(
            "HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n{}{}\n",
            joint.repeat(levels),
            "}\n".repeat(levels + 1)
        )
    };
    assert_eq!(read(&deep(20_000)).skeleton.unwrap().len(), 20_001);
    let long = format!("{}MOTION\nFrames: 50000\nFrame Time: 0.01\n{}", deep(20_000), "0\n".repeat(50_000));
    assert_eq!(why(&long), "damaged BVH file: 20001 joints without channels, beside 1 channels");
}

/// Degrees between two rotations, to first order: the trace loses half of the digits near zero.
fn degrees_apart(a: &DMat3, b: &DMat3) -> f64 {
    let d = a.transpose() * *b;
    let sine = 0.5 * DVec3::new(d.y_axis.z - d.z_axis.y, d.z_axis.x - d.x_axis.z, d.x_axis.y - d.y_axis.x).length();
    sine.atan2(0.5 * (d.x_axis.x + d.y_axis.y + d.z_axis.z - 1.0)).to_degrees()
}

fn written(skeleton: &Skeleton, poses: &[WorldPose], metres_per_unit: f64) -> Vec<u8> {
    let motion = BvhMotion { skeleton, poses, frame_seconds: 1.0 / 24.0, metres_per_unit };
    to_bytes(|out| bvh::write(&motion, out)).unwrap()
}

/// Ten decimals of a degree, 5e-11 each, added along five joints of three angles.
#[test]
fn what_is_written_is_read() {
    let contents = read(WALK);
    let skeleton = contents.skeleton.as_ref().unwrap();
    let poses: Vec<WorldPose> =
        (0..24).map(|at| (contents.clips[0].sample)(0.08 * f64::from(at) / 23.0).pose).collect();
    let bytes = written(skeleton, &poses, 1.0);
    let again = bvh::read(&bytes, "again.bvh", &Space::default()).unwrap();
    assert_eq!(again.skeleton.as_ref(), Some(skeleton), "{}", String::from_utf8_lossy(&bytes));
    assert!(again.warnings.is_empty() && (again.frames_per_second.unwrap() - 24.0).abs() < 1e-9);
    assert!(String::from_utf8_lossy(&bytes).contains("End Site\n\t\t\t{\n\t\t\t\tOFFSET 0 -38 0"));
    for (time, pose) in again.clips[0].key_times.iter().zip(&poses) {
        for (found, expected) in (again.clips[0].sample)(*time).pose.bones.iter().zip(pose.bones.iter()) {
            assert!(degrees_apart(&found.matrix3, &expected.matrix3) < 1e-8);
            assert!(found.translation.distance(expected.translation) < 1e-7);
        }
    }
}

/// A rig's bones have axes of their own at rest. What comes back is how they turned since, M = T B⁻¹, also where Z, X, Y meet a
/// gimbal lock, and angles do not jump there.
#[test]
fn bones_with_axes_of_their_own_come_back_as_turns() {
    let arm = dermis_testkit::Arm::new(4, 5);
    let skeleton = arm.rig.skeleton();
    let frame = |at: usize| {
        let x = f64::to_radians(80.0 + at as f64);
        let q = DQuat::from_rotation_z(0.4) * DQuat::from_rotation_x(x) * DQuat::from_rotation_y(-0.3);
        let mut posed = skeleton.pose();
        skeleton
            .bones()
            .for_each(|bone| posed.turn(bone, if bone.get() == 0 { q } else { DQuat::from_rotation_y(0.1) * q }));
        posed.world()
    };
    let poses: Vec<WorldPose> = (0..21).map(frame).collect();
    let bytes = written(skeleton, &poses, 0.01);
    let space = Space { metres_per_unit: 0.01, ..Space::default() };
    let again = bvh::read(&bytes, "again.bvh", &space).unwrap();
    let theirs = again.skeleton.as_ref().unwrap();
    for (time, pose) in again.clips[0].key_times.iter().zip(&poses) {
        let found = theirs.bone_transforms(&(again.clips[0].sample)(*time).pose);
        let expected = skeleton.bone_transforms(pose);
        assert!(found.iter().zip(expected.iter()).all(|(a, b)| a.abs_diff_eq(*b, 1e-9)));
    }
    let text = String::from_utf8(bytes).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("Frame Time")).skip(1);
    let rows: Vec<Vec<f64>> = rows.map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect();
    let jump =
        rows.windows(2).flat_map(|two| two[0].iter().zip(&two[1]).map(|(a, b)| (a - b).abs())).fold(0.0, f64::max);
    assert!(jump < 190.0, "half a turn at the lock at most, where a change of solution is the only way: {jump}");
}

#[test]
fn what_cannot_be_written_is_named() {
    let arm = dermis_testkit::Arm::new(4, 5);
    let skeleton = arm.rig.skeleton();
    let why = |poses: &[WorldPose], metres_per_unit| {
        let motion = BvhMotion { skeleton, poses, frame_seconds: 0.1, metres_per_unit };
        to_bytes(|out| bvh::write(&motion, out)).unwrap_err().to_string()
    };
    let bind = WorldPose::new(skeleton.bind().to_vec());
    assert_eq!(why(&[], 1.0), "there is nothing to write to a BVH file: it needs a skeleton and at least one pose");
    assert_eq!(why(std::slice::from_ref(&bind), 0.0), "a BVH file cannot hold a unit of 0");
    assert!(why(&[WorldPose::new(vec![])], 1.0).starts_with("the pose of frame 0 has 0 bones"));
    let mut broken = bind.clone();
    broken.bones[BoneIndex::new(0)].translation.x = f64::NAN;
    assert!(why(&[bind, broken], 1.0).contains("in frame 1 is not finite"));
}
