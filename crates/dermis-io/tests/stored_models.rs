//! Model files of every version of the format stay readable and mean the same.
//!
//! `tests/data` holds files that programs of their time wrote, and where their skins were. A change of the format adds files
//! of the version before it here, and a test that reads them.

mod models;

use dermis_deform::baked::{BakedBase, BakedCorrection, CoefficientPrecision};
use dermis_deform::joints::CorrectionFrame;
use dermis_io::model_file::{VERSION, fingerprint, read, write};
use dermis_io::{ModelFile, to_bytes};
use models::{skin, tiny};
use serde_json::{Value, json};

/// A model written by version 1 of the format stays readable and means the same.
///
/// `tests/data/version_1.dermis` was written by a test of that version.
#[test]
fn a_model_of_version_1_stays_readable() {
    let bytes = include_bytes!("data/version_1.dermis");
    let model = read(bytes).unwrap();
    let own = header(bytes);
    assert_eq!(own["format_version"], 1);
    assert_eq!(model.header.method, "mwe");
    assert_eq!(model.rig().name(), "tiny");
    assert_eq!(model.rig().skeleton().names().as_slice(), ["root", "middle", "tip"]);
    assert_eq!(fingerprint(model.rig().mesh(), model.rig().skeleton()), own["fingerprint"].as_str().unwrap());
    assert!(model.training().is_some() && model.rig().mesh().render.is_some() && model.rig().mesh().polygons.is_some());
    // Positions as version 1 evaluated them, in metres; f32 sums of a hundred terms below one.
    let expected: [[f32; 3]; 12] = [
        [0.031589016, -0.028147504, 0.30130824],
        [0.18735635, -0.48867798, 0.18448272],
        [0.14069742, -0.38238895, -0.30458635],
        [0.017771836, 0.08525926, -0.1729759],
        [0.15702124, -0.06874277, 0.4322341],
        [0.5178632, -0.22989947, 0.17876321],
        [0.36534244, -0.010065705, -0.20536458],
        [0.0028789937, 0.18218982, 0.047840774],
        [0.16765517, -0.113416314, 0.6661821],
        [0.44385153, 0.11434889, 0.40984097],
        [0.12438477, 0.33707064, 0.19004475],
        [-0.20487787, 0.12116736, 0.42315006],
    ];
    same_skin(&model, &expected);
}

/// A joint model written by version 2 of the format stays readable and means the same.
///
/// `tests/data/version_2.dermis` was written by `examples/store_model.rs`.
#[test]
fn a_joint_model_of_version_2_stays_readable() {
    let bytes = include_bytes!("data/version_2.dermis");
    let model = read(bytes).unwrap();
    let own = header(bytes);
    assert_eq!(own["format_version"], 2);
    assert_eq!(model.header.method, "joint");
    assert_eq!(model.rig().name(), "tiny");
    assert_eq!(fingerprint(model.rig().mesh(), model.rig().skeleton()), own["fingerprint"].as_str().unwrap());
    let Some(BakedCorrection::Joints(joints)) = model.baked().corrections().last() else { panic!("no joint model") };
    assert_eq!(
        (joints.model.frame, joints.model.kernel.sigma, joints.model.length),
        (CorrectionFrame::Anchor, 1.4, 0.8)
    );
    assert_eq!(joints.model.joints.iter().map(|j| j.inducing.len()).collect::<Vec<_>>(), [3, 5]);
    assert_eq!(joints.model.weld.frozen().map(|b| b.get()).collect::<Vec<_>>(), [2]);
    assert!(joints.limits.len() == 12 && joints.radii.len() == 12 && model.training().is_some());
    // Positions as version 2 evaluated them, in metres; f32 sums of a hundred terms below one.
    let expected: [[f32; 3]; 12] = [
        [0.031589016, -0.028147504, 0.30130824],
        [0.19972754, -0.47301966, 0.18315217],
        [0.17781404, -0.34721833, -0.33138716],
        [0.03700029, 0.084050894, -0.19822341],
        [0.18199271, -0.038229167, 0.4143905],
        [0.51495945, -0.21130747, 0.1279895],
        [0.35029507, 0.030194908, -0.2173394],
        [-0.031838126, 0.18536529, 0.07927914],
        [0.22743464, -0.13974889, 0.6553389],
        [0.496678, 0.047789603, 0.41739514],
        [0.11792779, 0.29126173, 0.19214971],
        [-0.19777755, 0.09587702, 0.45004576],
    ];
    same_skin(&model, &expected);
}

/// A pose space written by version 2 of the format stays readable and means the same: its one kernel, chords and no channels are
/// not named in it.
///
/// `tests/data/version_2_pose_space.dermis` was written by `examples/store_model.rs`.
#[test]
fn a_pose_space_of_version_2_stays_readable() {
    let bytes = include_bytes!("data/version_2_pose_space.dermis");
    let model = read(bytes).unwrap();
    let own = header(bytes);
    assert_eq!(own["format_version"], 2);
    assert_eq!(own["pose_space"], json!({"sigma": 1.25, "carrier": "bones"}));
    assert_eq!((model.header.method.as_str(), model.rig().name()), ("psd", "tiny"));
    assert_eq!(fingerprint(model.rig().mesh(), model.rig().skeleton()), own["fingerprint"].as_str().unwrap());
    // Positions as version 2 evaluated them, in metres; f32 sums of a hundred terms below one.
    let expected: [[f32; 3]; 12] = [
        [0.031589016, -0.028147504, 0.30130824],
        [0.18735635, -0.48867798, 0.18448272],
        [0.16224205, -0.36809263, -0.2978661],
        [0.01264365, 0.088678, -0.1844827],
        [0.15512621, -0.06542088, 0.42621198],
        [0.491598, -0.24761306, 0.1813015],
        [0.33728927, 0.00085264444, -0.20010513],
        [0.0028789937, 0.18218982, 0.047840774],
        [0.15638791, -0.11717497, 0.67265314],
        [0.46877038, 0.10343301, 0.43175554],
        [0.12049894, 0.34473234, 0.19276907],
        [-0.18713205, 0.119600594, 0.4236824],
    ];
    same_skin(&model, &expected);
    let again = read(&to_bytes(|out| write(&model, out)).unwrap()).unwrap();
    assert_eq!(skin(&again), skin(&model), "written in the current version it is the same model");
}

/// A stored model: its kind in `models::tiny`, its file, and the skin that the program which wrote the file printed.
macro_rules! stored {
    ($version:literal, $kind:literal, $name:literal) => {
        (
            $kind,
            include_bytes!(concat!("data/version_", $version, "_", $name, ".dermis")).as_slice(),
            include_str!(concat!("data/version_", $version, "_", $name, ".txt")),
        )
    };
}

/// Version 3 added kernels, remainders and channels of pose spaces, shapes, and rotational regression.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 3.
#[test]
fn models_of_version_3_stay_readable() {
    for (kind, bytes, printed) in [
        stored!(3, "rich-pose-space", "rich_pose_space"),
        stored!(3, "shapes", "shapes"),
        stored!(3, "rotational-regression", "rotational_regression"),
    ] {
        let model = stays_readable(3, kind, bytes, printed);
        assert_eq!(model.baked().precision(), CoefficientPrecision::Single, "{kind}");
    }
}

/// Version 4 added coefficients of 16 bits. Its files hold every kind of model.
///
/// The files were written by `examples/store_model.rs`.
#[test]
fn models_of_version_4_stay_readable() {
    for (kind, bytes, printed) in [
        stored!(4, "rigid", "rigid"),
        stored!(4, "lbs", "lbs"),
        stored!(4, "dqs", "dqs"),
        stored!(4, "given", "given"),
        stored!(4, "rest", "rest"),
        stored!(4, "animation-space", "animation_space"),
        stored!(4, "rotational-regression", "rotational_regression"),
        stored!(4, "pose-space", "pose_space"),
        stored!(4, "rich-pose-space", "rich_pose_space"),
        stored!(4, "shapes", "shapes"),
        stored!(4, "joints", "joints"),
        stored!(4, "lbs-16", "lbs_16"),
        stored!(4, "joints-16", "joints_16"),
    ] {
        let model = stays_readable(4, kind, bytes, printed);
        let precision =
            if kind.ends_with("-16") { CoefficientPrecision::Sixteen } else { CoefficientPrecision::Single };
        assert_eq!(model.baked().precision(), precision, "{kind}");
        assert_eq!(model.header.recipe, None, "{kind}");
    }
}

/// Version 5 added a base of stacked deformers and changed nothing that version 4 wrote. Version 6 added names and bounds of shapes.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 5.
#[test]
fn models_of_version_5_stay_readable() {
    for (kind, bytes, printed) in [stored!(5, "shapes", "shapes"), stored!(5, "pose-space", "pose_space")] {
        stays_readable(5, kind, bytes, printed);
    }
    let shapes = read(include_bytes!("data/version_5_shapes.dermis")).unwrap();
    let Some(BakedCorrection::Shapes(shapes)) = shapes.baked().corrections().last() else { panic!("no shapes") };
    assert!(shapes.model.names.is_empty() && shapes.model.clamp.is_none());
}

/// Version 6 added names and bounds of shapes. Version 7 added a base of direct delta mush.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 6.
#[test]
fn models_of_version_6_stay_readable() {
    for (kind, bytes, printed) in [stored!(6, "named-shapes", "named_shapes"), stored!(6, "joints", "joints")] {
        stays_readable(6, kind, bytes, printed);
    }
    let shapes = read(include_bytes!("data/version_6_named_shapes.dermis")).unwrap();
    let Some(BakedCorrection::Shapes(shapes)) = shapes.baked().corrections().last() else { panic!("no shapes") };
    assert!(shapes.model.names == ["a", "b", "c"] && shapes.model.clamp == Some([0.0, 1.0]));
}

/// Version 7 added a base of direct delta mush. Version 8 added composite joints.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 7.
#[test]
fn models_of_version_7_stay_readable() {
    for (kind, bytes, printed) in [stored!(7, "direct-delta-mush", "direct_delta_mush"), stored!(7, "joints", "joints")]
    {
        stays_readable(7, kind, bytes, printed);
    }
}

/// Version 8 added composite joints. Version 9 added windows of shapes, and parts of rotations.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 8.
#[test]
fn models_of_version_8_stay_readable() {
    for (kind, bytes, printed) in [
        stored!(8, "joints", "joints"),
        stored!(8, "named-shapes", "named_shapes"),
        stored!(8, "rich-pose-space", "rich_pose_space"),
    ] {
        stays_readable(8, kind, bytes, printed);
    }
    let shapes = read(include_bytes!("data/version_8_named_shapes.dermis")).unwrap();
    let Some(BakedCorrection::Shapes(shapes)) = shapes.baked().corrections().last() else { panic!("no shapes") };
    assert!(shapes.model.windows.is_empty());
}

/// Version 9 added windows of shapes, and parts of rotations. Version 10 added joint models that remember sculpts.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 9.
#[test]
fn models_of_version_9_stay_readable() {
    for (kind, bytes, printed) in [stored!(9, "joints", "joints"), stored!(9, "windowed-shapes", "windowed_shapes")] {
        stays_readable(9, kind, bytes, printed);
    }
    let joints = read(include_bytes!("data/version_9_joints.dermis")).unwrap();
    let Some(BakedCorrection::Joints(joints)) = joints.baked().corrections().last() else { panic!("no joint model") };
    assert!(joints.model.layer.is_none());
}

/// Version 10 added joint models that remember sculpts. Version 11 added corrections one after another.
///
/// The files are those that `examples/store_model.rs` of version 10 writes.
#[test]
fn models_of_version_10_stay_readable() {
    for (kind, bytes, printed) in
        [stored!(10, "joints", "joints"), stored!(10, "remembering-joints", "remembering_joints")]
    {
        let model = stays_readable(10, kind, bytes, printed);
        assert_eq!(model.baked().corrections().len(), 1, "{kind}");
    }
}

/// Version 11 added corrections one after another. Version 12 added a base of corrective smoothing.
///
/// The files were written by `examples/store_model.rs` of the last program that wrote version 11.
#[test]
fn models_of_version_11_stay_readable() {
    for ((kind, bytes, printed), count) in
        [(stored!(11, "joints", "joints"), 1), (stored!(11, "two-corrections", "two_corrections"), 2)]
    {
        let model = stays_readable(11, kind, bytes, printed);
        assert_eq!(model.baked().corrections().len(), count, "{kind}");
    }
}

/// Version 12 added a base of corrective smoothing. Version 13 added springs of secondary motion.
///
/// The files were written by the last program that wrote version 12, from models of `models::tiny`.
#[test]
fn models_of_version_12_stay_readable() {
    for (kind, bytes, printed) in
        [stored!(12, "joints", "joints"), stored!(12, "corrective-smooth", "corrective_smooth")]
    {
        let model = stays_readable(12, kind, bytes, printed);
        assert!(model.springs().is_none(), "{kind}");
    }
}

/// Version 13 added springs of secondary motion. Version 14 added parts of the rotations of a joint model, and products of its joints.
///
/// The files were written by the last program that wrote version 13, from models of `models::tiny`.
#[test]
fn models_of_version_13_stay_readable() {
    let (kind, bytes, printed) = stored!(13, "joints", "joints");
    assert!(stays_readable(13, kind, bytes, printed).springs().is_none());
    let (_, bytes, printed) = stored!(13, "joints", "springs");
    let model = stays_readable(13, kind, bytes, printed);
    let springs = model.springs().unwrap();
    assert_eq!((springs.vertices().len(), springs.coupling()), (model.baked().vertices(), 12.5));
    // A change of the format needs files of the version that it ends, and a test as this one.
    assert_eq!(VERSION, 14);
}

/// Reads a stored model and holds it against what the program that wrote it knew.
fn stays_readable(version: u32, kind: &str, bytes: &[u8], printed: &str) -> ModelFile {
    let model = read(bytes).unwrap_or_else(|e| panic!("version {version}, {kind}: {e}"));
    let own = header(bytes);
    assert_eq!(own["format_version"], version, "{kind}");
    assert_eq!(own["fingerprint"], fingerprint(model.rig().mesh(), model.rig().skeleton()), "{kind}");
    let made = tiny(kind);
    let rig = match version {
        12.. => made.rig().clone(),
        // The stored file is older than morph targets in models.
        _ => made.rig().clone().with_morphs(None).unwrap(),
    };
    assert_eq!((&model.header, model.rig()), (&made.header, &rig), "{kind}");
    assert_eq!(base(&model), base(&made), "{kind}");
    assert_eq!(correction(&model), correction(&made), "{kind}");
    let expected: Vec<[f32; 3]> = serde_json::from_str(&format!("[{}]", printed.trim().trim_end_matches(','))).unwrap();
    same_skin(&model, &expected);
    let again = read(&to_bytes(|out| write(&model, out)).unwrap()).unwrap();
    assert_eq!(skin(&again), skin(&model), "{kind}: written in the current version it is the same model");
    model
}

fn base(model: &ModelFile) -> std::mem::Discriminant<BakedBase> {
    std::mem::discriminant(model.baked().base())
}

fn correction(model: &ModelFile) -> Option<std::mem::Discriminant<BakedCorrection>> {
    model.baked().corrections().last().map(std::mem::discriminant)
}

/// What a model file says of itself.
fn header(bytes: &[u8]) -> Value {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let outer: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    serde_json::from_str(outer["__metadata__"]["dermis"].as_str().unwrap()).unwrap()
}

/// Compares with positions of the same model that another version of the program printed.
fn same_skin(model: &ModelFile, expected: &[[f32; 3]]) {
    let found = skin(model);
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (bits, x) in found.iter().zip(expected) {
            assert!((f32::from_bits(*bits) - x).abs() < 2e-6, "{} is not {x}", f32::from_bits(*bits));
        }
    }
}
