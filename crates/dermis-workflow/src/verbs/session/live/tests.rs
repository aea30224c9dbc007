use super::*;
use crate::load::{Source, load_map_table, load_rig};
use crate::recipe::Silent;
use crate::verbs::session::AddSculpt;
use crate::verbs::session::tests::Desk;
use dermis_rig::glam::DAffine3;
use dermis_testkit::arm::ArmPose;

fn ask(text: &str) -> Ask {
    serde_json::from_str(text).unwrap()
}

fn floats<'a>(told: &'a Told, name: &str) -> &'a [f32] {
    match told.arrays.iter().find(|(known, _)| *known == name) {
        Some((_, Numbers::Floats(values))) => values,
        other => panic!("{name}: {other:?}"),
    }
}

fn opened(desk: &Desk) -> (Live, Told) {
    let mut live = Live::default();
    let told = live.answer(&Ask::Open { folder: desk.path("hero.session") }).unwrap();
    (live, told)
}

#[test]
fn a_window_is_told_of_bones_motions_and_true_skins() {
    let desk = Desk::begun(true);
    let (mut live, told) = opened(&desk);
    assert_eq!(told.facts["bones"].as_array().unwrap().len(), 4);
    assert_eq!(told.facts["motions"][0]["labels"].as_array().unwrap().len(), 13);
    let kinds: Vec<&str> =
        told.facts["motions"].as_array().unwrap().iter().map(|m| m["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["motion", "truth", "sculpts"]);
    assert_eq!(told.facts["learnt"], false);
    // Before a sculpt the model is the rig; the truth is known in its own poses alone.
    let told = live.answer(&ask(r#"{"pose": {"pose": {"at": [1, 7]}, "skins": ["model", "rig", "truth"]}}"#)).unwrap();
    assert_eq!(floats(&told, "model"), floats(&told, "rig"));
    let truth = desk.arm.skin(&desk.poses[7]);
    let told_truth = floats(&told, "truth");
    assert!(
        truth.iter().flat_map(|p| p.to_array()).zip(told_truth).all(|(x, told)| (x - f64::from(*told)).abs() < 1e-6)
    );
    let turned = live
        .answer(&ask(r#"{"pose": {"pose": {"at": [1, 7], "turns": [[1, [0, 0, 0, 1]]]}, "skins": ["truth"]}}"#))
        .unwrap();
    assert!(turned.arrays.iter().all(|(name, _)| *name != "truth"));
}

/// Oracle: the arm's own joints in the same pose.
#[test]
fn turns_are_about_the_own_axes_of_a_bone() {
    let desk = Desk::begun(false);
    let (mut live, _) = opened(&desk);
    let turn = DQuat::from_rotation_z(0.7).to_array();
    let told =
        live.answer(&Ask::Pose { pose: Posed { at: None, turns: vec![(2, turn)] }, skins: vec![Skin::Rig] }).unwrap();
    let pose = ArmPose { elbow: 0.7, ..ArmPose::REST };
    let world = desk.arm.rig.skeleton().world_pose(&desk.arm.transforms(&pose));
    let found: Vec<DAffine3> = floats(&told, "joints")
        .chunks(12)
        .map(|columns| DAffine3::from_cols_array(&std::array::from_fn(|at| f64::from(columns[at]))))
        .collect();
    assert!(world.bones.iter().zip(&found).all(|(a, b)| a.abs_diff_eq(*b, 1e-6)), "{found:?}");
    // The same over a frame: the joints above stay where they are.
    let frame = live.answer(&ask(r#"{"pose": {"pose": {"at": [0, 5]}, "skins": []}}"#)).unwrap();
    let told =
        live.answer(&Ask::Pose { pose: Posed { at: Some((0, 5)), turns: vec![(2, turn)] }, skins: vec![] }).unwrap();
    assert_eq!(floats(&frame, "joints")[..24], floats(&told, "joints")[..24]);
    assert_ne!(floats(&frame, "joints")[24..], floats(&told, "joints")[24..]);
}

/// A sculpt that was made in a window is added, and the window shows it.
#[test]
fn what_was_sculpted_in_a_window_is_learnt() {
    let desk = Desk::begun(false);
    let (mut live, _) = opened(&desk);
    let pose = Posed { at: Some((0, 12)), turns: vec![(3, DQuat::from_rotation_y(0.3).to_array())] };
    let shown = live.answer(&Ask::Pose { pose: pose.clone(), skins: vec![Skin::Model] }).unwrap();
    let shown: Vec<DVec3> =
        floats(&shown, "model").chunks(3).map(|p| DVec3::new(p[0].into(), p[1].into(), p[2].into())).collect();
    let moved: Vec<u32> = (90..130).collect();
    let positions: Vec<[f64; 3]> =
        moved.iter().map(|&v| (shown[v as usize] + DVec3::new(0.0, 0.01, 0.005)).to_array()).collect();
    let out = desk.path("bent.npz");
    let keep = Ask::Keep {
        pose: pose.clone(),
        shown: Skin::Model,
        name: "bent".into(),
        vertices: moved.clone(),
        positions: positions.clone(),
        out: out.clone(),
    };
    live.answer(&keep).unwrap();
    desk.session().add(&AddSculpt::new(Some(Source::from(out)), None), &Silent).unwrap();
    let (mut live, told) = opened(&desk);
    assert_eq!(told.facts["learnt"], true);
    let told = live.answer(&Ask::Pose { pose, skins: vec![Skin::Model, Skin::Rig] }).unwrap();
    let model = floats(&told, "model");
    for (at, &v) in moved.iter().enumerate() {
        let left = (0..3).map(|i| (f64::from(model[3 * v as usize + i]) - positions[at][i]).abs()).fold(0.0, f64::max);
        assert!(left < 2e-6, "vertex {v}: {left}");
    }
    let file = desk.session().file().clone();
    assert_eq!((file.steps[0].touched, file.steps[0].name.as_str()), (40, "bent"));
    // The window goes back to the sculpt, and shows it.
    let told = live.answer(&ask(r#"{"pose": {"pose": {"at": [1, 0]}, "skins": ["truth"]}}"#)).unwrap();
    let sculpted = floats(&told, "truth");
    assert!(moved.iter().zip(&positions).all(|(&v, p)| (f64::from(sculpted[3 * v as usize + 1]) - p[1]).abs() < 1e-6));
}

#[test]
fn painted_maps_are_a_table_of_a_fit() {
    let desk = Desk::begun(false);
    let (mut live, _) = opened(&desk);
    let told = live.answer(&Ask::Maps).unwrap();
    let Some((_, Numbers::Indices(counts))) = told.arrays.iter().find(|(name, _)| *name == "counts") else { panic!() };
    assert_eq!(counts.len(), desk.arm.rig.mesh().positions.len());
    let rows: Vec<Vec<(usize, f64)>> = (0..counts.len()).map(|v| vec![(v % 4, 0.25), ((v + 1) % 4, 1.0)]).collect();
    live.answer(&Ask::Paint { rows: rows.clone(), out: desk.path("maps.npz") }).unwrap();
    let rig = load_rig(&desk.path("arm.npz")).unwrap();
    let (maps, _) = load_map_table(&rig, &desk.path("maps.npz")).unwrap();
    assert!(
        rows.iter()
            .enumerate()
            .all(|(v, row)| row.iter().all(|&(bone, value)| maps.value(v, BoneIndex::new(bone)) == value))
    );
}

#[test]
fn what_a_session_does_not_have_is_refused() {
    let desk = Desk::begun(false);
    let mut closed = Live::default();
    assert!(closed.answer(&Ask::Maps).unwrap_err().to_string().contains("no session"));
    let (mut live, _) = opened(&desk);
    for (text, says) in [
        (r#"{"pose": {"pose": {"at": [3, 0]}, "skins": []}}"#, "no such frame"),
        (r#"{"pose": {"pose": {"at": [0, 99]}, "skins": []}}"#, "no such frame"),
        (r#"{"pose": {"pose": {"turns": [[4, [0, 0, 0, 1]]]}, "skins": []}}"#, "bones 0 to 3"),
        (r#"{"pose": {"pose": {"turns": [[1, [0, 0, 0, 0]]]}, "skins": []}}"#, "unit quaternions"),
        (
            r#"{"keep": {"pose": {"at": [0, 3]}, "shown": "truth", "name": "x", "vertices": [], "positions": [], "out": "x.npz"}}"#,
            "not known",
        ),
        (
            r#"{"keep": {"pose": {"at": [0, 3]}, "shown": "rig", "name": "x", "vertices": [1], "positions": [], "out": "x.npz"}}"#,
            "0 positions",
        ),
        (
            r#"{"keep": {"pose": {"at": [0, 3]}, "shown": "rig", "name": "x", "vertices": [999999], "positions": [[0, 0, 0]], "out": "x.npz"}}"#,
            "vertex 999999",
        ),
        (r#"{"paint": {"rows": [[[7, 0.5]]], "out": "x.npz"}}"#, "bone 7"),
        (r#"{"paint": {"rows": [[[1, 1.5]]], "out": "x.npz"}}"#, "1.5"),
    ] {
        let error = live.answer(&ask(text)).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn arrays_follow_the_facts_at_a_multiple_of_four_bytes() {
    let told = Told {
        facts: json!("é"),
        arrays: vec![("a", Numbers::Floats(vec![1.5, -2.0])), ("b", Numbers::Indices(vec![7]))],
    };
    let bytes = told.bytes();
    let head = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    assert_eq!((head % 4, bytes.len()), (0, 4 + head + 12));
    let facts: Value = serde_json::from_slice(&bytes[4..4 + head]).unwrap();
    assert_eq!(facts["arrays"][1], json!({"name": "b", "kind": "u32", "count": 1}));
    assert_eq!(bytes[4 + head..8 + head], 1.5_f32.to_le_bytes());
    assert_eq!(bytes[12 + head..], 7_u32.to_le_bytes());
}
