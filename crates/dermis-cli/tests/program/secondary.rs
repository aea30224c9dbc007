//! `dermis pose --secondary`: the library's spring over what the verb writes without it, gains from everywhere, bad input.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists};
use dermis_workflow::deform::secondary::{Secondary, SecondarySettings, Spring, Springs, VertexSpring};
use dermis_workflow::io::gltf::{GlbScene, write_glb};
use dermis_workflow::io::npz::{StoredFloat, read, write};
use dermis_workflow::io::to_bytes;
use dermis_workflow::io::{Contents, Record};
use dermis_workflow::rig::glam::{DAffine3, DVec3, Vec4};
use dermis_workflow::rig::{Mesh, WorldPose};
use std::io::{Cursor, Write};

/// Positions near 1 m in single precision, rounded twice.
const SINGLE: f64 = 3e-7;
/// Frames that are not evenly spaced, seconds.
const TIMES: [f64; 6] = [0.0, 0.04, 0.1, 0.14, 0.2, 0.21];

/// A tube that moves, and a model of it: `m.dermis`, `walk.npz`.
fn desk() -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Weights));
    desk.put("a.npz", tube.bundle());
    desk.put("walk.npz", motion(&tube, &tube.poses, Some(&TIMES)));
    desk.good("fit a.npz --examples a.npz --method own-weights --folds 0 -o m.dermis");
    (desk, tube)
}

fn motion(tube: &Tube, poses: &[WorldPose], times: Option<&[f64]>) -> Vec<u8> {
    let record = |(at, pose): (usize, &WorldPose)| Record {
        label: format!("frame {at}"),
        time: times.map(|times| times[at]),
        pose: Some(pose.clone()),
        positions: None,
        importance: 1.0,
        local: None,
    };
    let records = poses.iter().enumerate().map(record).collect();
    to_bytes(|out| write(&Contents { records, ..tube.contents() }, StoredFloat::Double, out)).unwrap()
}

/// A bundle with one array of 64-bit numbers, as NumPy writes it.
fn array(name: &str, shape: &str, values: &[f64]) -> Vec<u8> {
    let mut head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}").into_bytes();
    head.resize((10 + head.len() + 1).next_multiple_of(64) - 11, b' ');
    head.push(b'\n');
    let length = (head.len() as u16).to_le_bytes();
    let values: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&[b"\x93NUMPY\x01\x00", &length[..], &head, &values].concat()).unwrap();
    zip.finish().unwrap().into_inner()
}

/// The rig's mesh with a colour per vertex.
fn painted(mesh: &Mesh, color: impl Fn(usize) -> Vec4) -> Vec<u8> {
    let colors = (0..mesh.positions.len()).map(color).collect();
    let mesh = Mesh { colors: Some(colors), ..mesh.clone() };
    to_bytes(|out| write_glb(&GlbScene { name: "painted", mesh: Some(&mesh), ..GlbScene::default() }, out)).unwrap()
}

fn frames(desk: &Desk, name: &str) -> Vec<Vec<DVec3>> {
    read(&desk.bytes(name), name).unwrap().records.into_iter().map(|r| r.positions.unwrap()).collect()
}

fn apart(a: &[Vec<DVec3>], b: &[Vec<DVec3>]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn spring(frequency: f64, damping: f64) -> SecondarySettings {
    SecondarySettings { spring: Spring::new(frequency, damping).unwrap(), gravity: DVec3::ZERO, limit: None }
}

/// The base's frames with the library's spring on them.
fn swung(
    settings: SecondarySettings,
    gain: &[f64],
    cuts: &[usize],
    times: &[f64],
    base: &[Vec<DVec3>],
) -> Vec<Vec<DVec3>> {
    let mut state = Secondary::new(settings, gain.to_vec()).unwrap();
    let mut out = base.to_vec();
    for (n, skin) in out.iter_mut().enumerate() {
        if cuts.contains(&n) {
            state.reset();
        }
        state.apply(if n > 0 { times[n] - times[n - 1] } else { 0.0 }, skin).unwrap();
    }
    out
}

#[test]
fn the_output_is_the_library_s_spring_on_the_base() {
    let (desk, tube) = desk();
    let vertices = tube.mesh.positions.len();
    let soft: Vec<f64> = (0..vertices).map(|v| if v % 3 == 0 { 0.0 } else { v as f64 / vertices as f64 }).collect();
    desk.put("soft.npz", array("gain", &format!("({vertices},)"), &soft));
    // A channel each; single-precision colours are exact in eighths.
    let eighths = |v: usize, by: usize| ((v / by) % 9) as f32 / 8.0;
    desk.put("painted.glb", painted(&tube.mesh, |v| Vec4::new(eighths(v, 1), eighths(v, 3), 0.25, eighths(v, 7))));
    let painted = |by: usize| (0..vertices).map(|v| f64::from(eighths(v, by))).collect::<Vec<f64>>();

    desk.good("pose m.dermis --motion walk.npz -o base.npz");
    let base = frames(&desk, "base.npz");
    let gravity = SecondarySettings { gravity: DVec3::NEG_Y * 9.81, ..spring(2.5, 0.2) };
    let limited = SecondarySettings { limit: Some(0.02), ..spring(1.5, 0.0) };
    for (options, settings, gain, cuts) in [
        ("2.5,0.4 --secondary-gain 1", spring(2.5, 0.4), vec![1.0; vertices], &[][..]),
        // What is not said: damping 0.2.
        ("2.5 --secondary-gain 1", spring(2.5, 0.2), vec![1.0; vertices], &[]),
        ("4,1.5 --secondary-gain 0.25", spring(4.0, 1.5), vec![0.25; vertices], &[]),
        ("2.5 --secondary-gain soft.npz --gravity 9.81", gravity, soft.clone(), &[]),
        ("2.5 --secondary-gain soft.npz --cuts 1,3", spring(2.5, 0.2), soft.clone(), &[1, 3]),
        ("1.5,0 --secondary-gain painted.glb#red --secondary-limit 0.02", limited, painted(1), &[]),
        ("3 --secondary-gain painted.glb#green", spring(3.0, 0.2), painted(3), &[]),
        ("3 --secondary-gain painted.glb#blue", spring(3.0, 0.2), vec![0.25; vertices], &[]),
        ("3 --secondary-gain painted.glb#alpha", spring(3.0, 0.2), painted(7), &[]),
    ] {
        let said = desk.good(&format!("pose m.dermis --motion walk.npz --secondary {options} -o x.npz --force")).out;
        let found = frames(&desk, "x.npz");
        let expected = swung(settings, &gain, cuts, &TIMES, &base);
        assert!(apart(&found, &expected) < SINGLE, "{options}: {}", apart(&found, &expected));
        assert!(apart(&found, &base) > 1e-3, "{options}: it swings");
        let moving = gain.iter().filter(|g| **g > 0.0).count();
        assert!(said.contains(&format!("{moving} vertices swing")) && !said.contains("assumed"), "{options}: {said}");
    }
    // Unless it is said, the rig gives the gain: some of all, and never more than all.
    let rig = desk.good("pose m.dermis --motion walk.npz --secondary 2.5 -o x.npz --force").out;
    assert!(rig.contains("gain rig"), "{rig}");
    let of_rig = desk.bytes("x.npz");
    desk.good("pose m.dermis --motion walk.npz --secondary 2.5 --secondary-gain rig -o x.npz --force");
    assert_eq!(desk.bytes("x.npz"), of_rig);
    let (found, all) = (frames(&desk, "x.npz"), swung(spring(2.5, 0.2), &vec![1.0; vertices], &[], &TIMES, &base));
    let largest = |skins: &[Vec<DVec3>]| apart(skins, &base);
    assert!(largest(&found) > 0.0 && largest(&found) < largest(&all), "{} {}", largest(&found), largest(&all));
    // In another format the same.
    desk.good("pose m.dermis --motion walk.npz --secondary 2.5,0.4 --secondary-gain 1 -o x.mdd");
    let space = dermis_workflow::io::Space::default();
    let cache = dermis_workflow::io::point_cache::read_mdd(&desk.bytes("x.mdd"), "x.mdd", &space).unwrap();
    let found: Vec<Vec<DVec3>> = cache.records.into_iter().map(|r| r.positions.unwrap()).collect();
    assert!(apart(&found, &swung(spring(2.5, 0.4), &vec![1.0; vertices], &[], &TIMES, &base)) < SINGLE);
}

/// Closed forms: nothing swings without a gain; a still skin sags by g G/ω² and stays there; a limit of nothing is the base.
#[test]
fn without_gain_motion_or_room_the_skin_is_known() {
    let (desk, tube) = desk();
    desk.good("pose m.dermis --motion walk.npz -o base.npz");
    let line = "pose m.dermis --motion walk.npz -o x.npz --force --secondary 2";
    desk.good(&format!("{line} --secondary-gain 0 --gravity 9.81"));
    assert_eq!(desk.bytes("x.npz"), desk.bytes("base.npz"));
    desk.good(&format!("{line} --secondary-gain 1 --secondary-limit 0 --gravity 9.81"));
    assert_eq!(desk.bytes("x.npz"), desk.bytes("base.npz"));

    desk.put("still.npz", motion(&tube, &vec![tube.poses[2].clone(); 6], Some(&TIMES)));
    desk.good("pose m.dermis --motion still.npz -o base.npz --force");
    desk.good("pose m.dermis --motion still.npz -o x.npz --force --secondary 2,0 --secondary-gain 0.5 --gravity 9.81");
    let sag = DVec3::NEG_Y * (0.5 * 9.81 / (std::f64::consts::TAU * 2.0).powi(2));
    let expected: Vec<Vec<DVec3>> =
        frames(&desk, "base.npz").iter().map(|skin| skin.iter().map(|p| *p + sag).collect()).collect();
    assert!(apart(&frames(&desk, "x.npz"), &expected) < SINGLE);
}

#[test]
fn frames_without_times_are_evenly_spaced_and_it_is_said() {
    let (desk, tube) = desk();
    desk.put("untimed.npz", motion(&tube, &tube.poses, None));
    desk.good("pose m.dermis --motion untimed.npz -o base.npz");
    let base = frames(&desk, "base.npz");
    desk.put("timed.npz", motion(&tube, &tube.poses, Some(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5])));
    desk.bad("pose m.dermis --motion timed.npz --fps 60 -o x.npz", &["--fps serves clips, poses without times"]);
    for (option, rate) in [("", 24.0), ("--fps 60", 60.0)] {
        let said = desk
            .good(&format!(
                "pose m.dermis --motion untimed.npz --secondary 3 --secondary-gain 1 {option} -o x.npz --force"
            ))
            .out;
        assert_eq!(said.contains("24 frames per second are assumed (--fps)"), option.is_empty(), "{said}");
        let times: Vec<f64> = (0..6).map(|n| f64::from(n) / rate).collect();
        let expected = swung(spring(3.0, 0.2), &vec![1.0; tube.mesh.positions.len()], &[], &times, &base);
        assert!(apart(&frames(&desk, "x.npz"), &expected) < SINGLE, "{option}");
    }
}

#[test]
fn springs_gains_and_cuts_that_make_no_sense_are_named() {
    let (desk, tube) = desk();
    let vertices = tube.mesh.positions.len();
    let shape = format!("({vertices},)");
    let mut gain = vec![0.5; vertices];
    gain[7] = f64::NAN;
    desk.put("nan.npz", array("gain", &shape, &gain));
    gain[7] = 1.5;
    desk.put("large.npz", array("gain", &shape, &gain));
    desk.put("few.npz", array("gain", "(3,)", &[0.5; 3]));
    desk.put("table.npz", array("gain", "(3, 2)", &[0.5; 6]));
    desk.put("gains.npz", array("gains", &shape, &vec![0.5; vertices]));
    desk.put("bare.glb", tube.glb());
    let other = Mesh { positions: tube.mesh.positions.iter().map(|p| *p * 1.1).collect(), ..tube.mesh.clone() };
    desk.put("other.glb", painted(&other, |_| Vec4::ONE));
    desk.put("stuck.npz", motion(&tube, &tube.poses, Some(&[0.0, 0.1, 0.1, 0.2, 0.3, 0.4])));
    for (options, says) in [
        ("--secondary 0", &["--secondary 0: frequency 0: it must lie between"][..]),
        ("--secondary -2", &["--secondary -2: frequency -2: it must lie between"]),
        ("--secondary nan", &["frequency NaN"]),
        ("--secondary inf", &["frequency inf"]),
        ("--secondary 2,-0.1", &["damping -0.1: it must lie between 0 and"]),
        ("--secondary 2,nan", &["damping NaN"]),
        ("--secondary 2,0.2,1", &["--secondary 2,0.2,1: use FREQUENCY or FREQUENCY,DAMPING"]),
        ("--secondary soft", &["--secondary soft: use FREQUENCY"]),
        ("--secondary 2 --secondary-gain -0.5", &["the gain of vertex 0 is -0.5: it must lie in 0..1"]),
        ("--secondary 2 --secondary-gain nan", &["the gain of vertex 0 is NaN"]),
        ("--secondary 2 --secondary-gain nan.npz", &["the gain of vertex 7 is NaN"]),
        ("--secondary 2 --secondary-gain large.npz", &["the gain of vertex 7 is 1.5"]),
        ("--secondary 2 --secondary-gain few.npz", &["few.npz", "3 gains", "74 vertices"]),
        ("--secondary 2 --secondary-gain table.npz", &["table.npz", "(3, 2)"]),
        ("--secondary 2 --secondary-gain gains.npz", &["gains.npz", "no array \"gain\""]),
        ("--secondary 2 --secondary-gain none.npz", &["none.npz"]),
        ("--secondary 2 --secondary-gain m.dermis", &["m.dermis", "not an NPZ"]),
        ("--secondary 2 --secondary-gain bare.glb#red", &["bare.glb", "no vertex colours"]),
        ("--secondary 2 --secondary-gain bare.glb#purple", &["no channel \"purple\"", "#red"]),
        ("--secondary 2 --secondary-gain other.glb#red", &["other.glb", "not the rig's at rest"]),
        ("--secondary 2 --gravity nan", &["--gravity"]),
        ("--secondary 2 --gravity 1e9", &["--gravity"]),
        ("--secondary 2 --secondary-limit -1", &["--secondary-limit"]),
        ("--secondary 2 --cuts 6", &["--cuts 6: the motion's 6 frames are numbered from 0"]),
        ("--secondary 2 --cuts 1,two", &["two"]),
        ("--cuts 2", &["without secondary motion cuts have no effect", "--secondary 2.5"]),
        ("--no-secondary", &["has learnt no secondary motion"]),
        ("--no-secondary --secondary 2", &["--no-secondary", "--secondary"]),
        ("--secondary-gain 0.5", &["--secondary"]),
    ] {
        desk.bad(&format!("pose m.dermis --motion walk.npz -o x.npz {options}"), says);
        assert!(!exists(&desk.path("x.npz")), "{options}");
    }
    let line = "pose m.dermis --motion stuck.npz --secondary 2 -o x.npz";
    desk.bad(line, &["frame 2", "0 s after the one before it", "time must go forward"]);
    // Across a cut no time passes.
    desk.good(&format!("{line} --cuts 2"));
}

/// A bundle of a clip at 60 frames a second: the tube nods and is carried about, and its skin swings by planted springs.
fn swinging(desk: &Desk, tube: &Tube, name: &str, rate: f64) -> Vec<Vec<DVec3>> {
    let times: Vec<f64> = (0..90).map(|n| f64::from(n) / 60.0).collect();
    let pose = |t: &f64| {
        let (from, to) = (&tube.poses[1], &tube.poses[2]);
        let part = 0.5 - 0.5 * (rate * t).cos();
        let between = |(a, b): (&DAffine3, &DAffine3)| {
            let ((scale, turn, at), (_, to, there)) =
                (a.to_scale_rotation_translation(), b.to_scale_rotation_translation());
            let carried = DVec3::new((1.7 * rate * t).sin(), (2.3 * rate * t).cos(), 0.0) * 0.05;
            DAffine3::from_scale_rotation_translation(scale, turn.slerp(to, part), at.lerp(there, part) + carried)
        };
        WorldPose::new(from.bones.iter().zip(to.bones.iter()).map(between).collect())
    };
    let poses: Vec<WorldPose> = times.iter().map(pose).collect();
    desk.put("still.npz", motion(tube, &poses, Some(&times)));
    desk.good("pose m.dermis --motion still.npz -o calm.npz --force");
    let mut skins = frames(desk, "calm.npz");
    let vertex = |p: &DVec3| {
        let spring = Spring::new(4.0 + p.length(), 0.15).unwrap();
        VertexSpring { spring, stiffening: 0.0, limit: 1.0 }
    };
    let springs = Springs::new(tube.mesh.positions.iter().map(vertex).collect(), 150.0).unwrap();
    let mut state = Secondary::learnt([&springs], &tube.mesh).unwrap();
    skins.iter_mut().for_each(|skin| state.apply(1.0 / 60.0, skin).unwrap());
    let record = |(at, skin): (usize, &Vec<DVec3>)| Record {
        label: format!("{name} {at}"),
        time: Some(times[at]),
        pose: Some(poses[at].clone()),
        positions: Some(skin.clone()),
        importance: 1.0,
        local: None,
    };
    let records = skins.iter().enumerate().map(record).collect();
    let bundle = to_bytes(|out| write(&Contents { records, ..tube.contents() }, StoredFloat::Double, out)).unwrap();
    desk.put(&format!("{name}.npz"), bundle);
    skins
}

/// The story: a clip teaches the model to swing, another clip shows that it does, and nothing swings that was not taught.
#[test]
fn a_clip_teaches_the_model_to_swing() {
    let (desk, tube) = desk();
    swinging(&desk, &tube, "nod", 7.0);
    swinging(&desk, &tube, "shake", 11.0);
    let unseen = swinging(&desk, &tube, "run", 9.0);
    let fit = "fit a.npz --examples a.npz --method own-weights --folds 0";
    let said = desk.json(&format!("{fit} --secondary-from nod.npz shake.npz -o s.dermis --json"));
    let found = &said["secondary"];
    assert!(found["kept"] == true && found["left_out"].as_f64().unwrap() < 0.5 && found["clips"] == 2, "{found}");
    assert_eq!(said["report"]["secondary"]["kept"], true);

    let said = desk.good("pose s.dermis --motion run.npz -o swung.npz").out;
    assert!(said.contains("secondary motion as learnt: 74 vertices swing"), "{said}");
    desk.good("pose s.dermis --motion run.npz -o calm.npz --force --no-secondary");
    let (swung, calm) = (frames(&desk, "swung.npz"), frames(&desk, "calm.npz"));
    let rms = |a: &[Vec<DVec3>], b: &[Vec<DVec3>]| {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a.distance_squared(*b)).sum::<f64>().sqrt()
    };
    assert!(rms(&swung, &unseen) < 0.2 * rms(&calm, &unseen), "{} {}", rms(&swung, &unseen), rms(&calm, &unseen));
    // Without the springs it is the model that was not taught.
    desk.good("pose m.dermis --motion run.npz -o plain.npz");
    assert_eq!(frames(&desk, "plain.npz"), calm);
    // A cut puts the skin to rest.
    desk.good("pose s.dermis --motion run.npz -o cut.npz --cuts 40");
    assert_eq!(frames(&desk, "cut.npz")[40], calm[40]);
    // The recipe in the model makes the same bytes again.
    desk.good("fit --recipe s.dermis -o again.dermis");
    assert_eq!(desk.bytes("again.dermis"), desk.bytes("s.dermis"));
    // What is corrected further swings as it did.
    desk.good("fit a.npz --examples a.npz --method mwe --base s.dermis --folds 0 -o over.dermis");
    let said = desk.good("pose over.dermis --motion run.npz -o over.npz").out;
    assert!(said.contains("secondary motion as learnt: 74 vertices swing"), "{said}");
}

#[test]
fn clips_that_teach_nothing_are_said_to() {
    let (desk, tube) = desk();
    swinging(&desk, &tube, "nod", 7.0);
    let fit = "fit a.npz --examples a.npz --method own-weights --folds 0 -o s.dermis --force --secondary-from";
    // A skin that is where the model puts it.
    desk.good("pose m.dermis --motion nod.npz -o nod_calm.npz");
    let said = desk.good(&format!("{fit} nod_calm.npz"));
    assert!(said.out.contains("warning: secondary motion is not kept"), "{}", said.out);
    assert!(!desk.good("pose s.dermis --motion walk.npz -o x.npz").out.contains("secondary motion"));
    desk.put("untimed.npz", {
        let mut contents = read(&desk.bytes("nod.npz"), "nod.npz").unwrap();
        contents.records.iter_mut().for_each(|record| record.time = None);
        to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap()
    });
    desk.bad(&format!("{fit} untimed.npz"), &["has no time", "--secondary-from takes frames of animations"]);
    desk.bad(&format!("{fit} a.npz"), &["secondary motion"]);
    desk.bad(
        "fit a.npz --examples a.npz --method mwe --accumulate part --secondary-from nod.npz",
        &["--secondary-from"],
    );
}
