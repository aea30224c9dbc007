//! Model files: nothing is lost on the way out and back, and no file can do harm on the way in.

mod headers;
mod models;

use dermis_deform::baked::{BakedBase, BakedCorrection, CoefficientPrecision};
use dermis_deform::joints::{CorrectionFrame, MOST_INDUCING};
use dermis_deform::pose_space::Carrier;
use dermis_io::ModelFile;
use dermis_io::model_file::{VERSION, read, write};
use dermis_io::to_bytes;
use headers::{assemble, changed, parts};
use models::{Guard, joint_model, model, pose, pose_space, skin, tiny};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const BASES: [&str; 10] = [
    "rigid",
    "lbs",
    "dqs",
    "direct-delta-mush",
    "corrective-smooth",
    "given",
    "animation-space",
    "rotational-regression",
    "rest",
    "stack",
];

fn base_name(base: &BakedBase) -> &'static str {
    match base {
        BakedBase::Rigid(_) => "rigid",
        BakedBase::Lbs(_) => "lbs",
        BakedBase::Dqs(..) => "dqs",
        BakedBase::DirectDeltaMush(_) => "direct-delta-mush",
        BakedBase::CorrectiveSmooth(_) => "corrective-smooth",
        BakedBase::Rest => "rest",
        BakedBase::Given => "given",
        BakedBase::AnimationSpace { .. } => "animation-space",
        BakedBase::RotationalRegression(_) => "rotational-regression",
        BakedBase::Stack(_) => "stack",
    }
}

/// Half the memory of coefficients, and nothing else lost on the way through a file.
#[test]
fn models_of_sixteen_bits_come_back_bit_for_bit() {
    let made = [
        model("lbs", Some(dermis_deform::EnvelopingForm::Row), Guard::On),
        model("dqs", Some(dermis_deform::EnvelopingForm::Full), Guard::OnWithConstants),
        joint_model("lbs", CorrectionFrame::Blend, Guard::On),
    ];
    for single in made {
        let mut written = single.clone();
        let sixteen = written.baked().clone().with_precision(CoefficientPrecision::Sixteen);
        written.model = written.model.with_baked(sixteen).unwrap();
        assert_eq!(written.baked().precision(), CoefficientPrecision::Sixteen);
        let bytes = to_bytes(|out| write(&written, out)).unwrap();
        assert!(
            bytes.len() < to_bytes(|out| write(&single, out)).unwrap().len()
                && written.baked().bytes() < single.baked().bytes()
        );
        let back = read(&bytes).unwrap();
        assert_eq!(back.baked().precision(), CoefficientPrecision::Sixteen);
        assert_eq!(skin(&back), skin(&written));
        assert_eq!(to_bytes(|out| write(&back, out)).unwrap(), bytes);
        // Broken off anywhere it is an error, not a panic.
        for end in (0..bytes.len()).step_by(97) {
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
    }
}

/// Every base, with and without a correction of either form, with and without guard, constants, maps, a drawn mesh.
#[test]
fn every_kind_of_model_comes_back_bit_for_bit() {
    let mut seen = 0;
    for base in BASES {
        for rows in [None, Some(dermis_deform::EnvelopingForm::Row), Some(dermis_deform::EnvelopingForm::Full)] {
            for guard in [Guard::Off, Guard::On, Guard::OnWithConstants] {
                let written = model(base, rows, guard);
                let context = format!("{base} {rows:?} {guard:?}");
                let bytes = to_bytes(|out| write(&written, out)).unwrap();
                let back = read(&bytes).unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_eq!(back.rig(), written.rig(), "{context}");
                assert_eq!(back.space, written.space, "{context}");
                assert_eq!(back.header, written.header, "{context}");
                assert_eq!(back.training(), written.training(), "{context}");
                assert_eq!(base_name(back.baked().base()), base, "{context}");
                assert_eq!(skin(&back), skin(&written), "{context}");
                let pairs = |m: &ModelFile| match m.baked().corrections().last() {
                    Some(BakedCorrection::Enveloping(c)) => Some(c.shared.pairs.clone()),
                    _ => None,
                };
                assert_eq!(pairs(&back), pairs(&written), "{context}: infinite limits stay infinite");
                assert_eq!(
                    to_bytes(|out| write(&back, out)).unwrap(),
                    bytes,
                    "{context}: the same model is the same bytes"
                );
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 9 * BASES.len());
}

#[test]
fn a_pose_space_comes_back_bit_for_bit() {
    for carrier in [Carrier::Base, Carrier::World, Carrier::Bones(vec![dermis_rig::BoneIndex::new(2); 12])] {
        for guard in [Guard::Off, Guard::On] {
            let written = pose_space(carrier.clone(), guard);
            let bytes = to_bytes(|out| write(&written, out)).unwrap();
            let back = read(&bytes).unwrap_or_else(|e| panic!("{carrier:?} {guard:?}: {e}"));
            assert_eq!(skin(&back), skin(&written), "{carrier:?} {guard:?}");
            assert!(skin(&back) != skin(&model("lbs", None, guard)), "the correction does something");
            assert_eq!(to_bytes(|out| write(&back, out)).unwrap(), bytes, "{carrier:?} {guard:?}");
        }
    }
    let without = with_header("pose-space", |h| h["pose_space"]["carrier"] = json!("wings"));
    assert!(refused(&without).contains("carrier \"wings\""));
    for sigma in [json!(0.0), json!(-1.0), json!(null)] {
        assert!(read(&with_header("pose-space", |h| h["pose_space"]["sigma"] = sigma.clone())).is_err(), "{sigma}");
    }
}

#[test]
fn a_joint_model_comes_back_bit_for_bit() {
    for base in BASES {
        for frame in [CorrectionFrame::Anchor, CorrectionFrame::Rest, CorrectionFrame::Blend] {
            for guard in [Guard::Off, Guard::On] {
                let written = joint_model(base, frame, guard);
                let bytes = to_bytes(|out| write(&written, out)).unwrap();
                let context = format!("{base} {frame:?} {guard:?}");
                let back = read(&bytes).unwrap_or_else(|e| panic!("{context}: {e}"));
                assert_eq!((back.rig(), &back.header), (written.rig(), &written.header), "{context}");
                assert_eq!(skin(&back), skin(&written), "{context}");
                assert!(skin(&back) != skin(&model(base, None, guard)), "{context}: the correction does something");
                let joints = |m: &ModelFile| match m.baked().corrections().last() {
                    Some(BakedCorrection::Joints(c)) => (c.model.joints.clone(), c.model.weld.clone(), c.model.frame),
                    _ => panic!("{context}: no joint model"),
                };
                assert_eq!(joints(&back), joints(&written), "{context}: infinite limits stay infinite");
                assert_eq!(
                    to_bytes(|out| write(&back, out)).unwrap(),
                    bytes,
                    "{context}: the same model is the same bytes"
                );
            }
        }
    }
}

#[test]
fn a_joint_model_of_another_kind_is_refused() {
    let wings = with_header("joints", |h| h["joints"]["frame"] = json!("wings"));
    assert!(refused(&wings).contains("frame \"wings\""));
    for sigma in [json!(0.0), json!(-1.0), json!(null), json!(1e-200), json!(1e200)] {
        assert!(read(&with_header("joints", |h| h["joints"]["sigma"] = sigma.clone())).is_err(), "{sigma}");
    }
    for length in [json!(0.0), json!(-1.0), json!(null)] {
        assert!(refused(&with_header("joints", |h| h["length"] = length.clone())).contains("length"), "{length}");
    }
    let mut weightless = tiny("joints");
    let bare = weightless.rig().clone().with_weights(None).unwrap();
    let given = weightless.baked().clone().with_base(BakedBase::Given).unwrap();
    weightless.model = weightless.model.with_rig(bare).unwrap().with_baked(given).unwrap();
    assert!(refused(&to_bytes(|out| write(&weightless, out)).unwrap()).contains("weights"));
}

/// A file cut anywhere is refused in words.
#[test]
fn every_truncation_is_refused() {
    for base in [
        "lbs",
        "stack",
        "animation-space",
        "rotational-regression",
        "pose-space",
        "stacked-pose-space",
        "shapes",
        "windowed-shapes",
        "remembering-joints",
        "joints",
    ] {
        let bytes = to_bytes(|out| write(&tiny(base), out)).unwrap();
        for length in 0..bytes.len() {
            let error = read(&bytes[..length]).map(|_| ()).expect_err("a part of a model is no model").to_string();
            assert!(!error.is_empty() && error.len() < 1000, "{length}: {error}");
        }
        let longer = [bytes.as_slice(), b"more"].concat();
        assert!(read(&longer).is_err(), "bytes nobody asked for");
    }
}

/// Flipped bits give an error or a model that runs: its counts agree, and evaluation stays in its arrays.
#[test]
fn flipped_bits_give_an_error_or_a_model_that_runs() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut read_well, mut refused) = (0, 0);
    for base in BASES.into_iter().chain([
        "pose-space",
        "rich-pose-space",
        "stacked-pose-space",
        "shapes",
        "windowed-shapes",
        "remembering-joints",
        "joints",
    ]) {
        let bytes = to_bytes(|out| write(&tiny(base), out)).unwrap();
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for round in 0..1500 {
            let mut spoilt = bytes.clone();
            for _ in 0..=round % 3 {
                // Most harm is done in the header and in the arrays of indices, so both get their share.
                let at = if round % 2 == 0 { random(header) } else { random(bytes.len()) };
                spoilt[at] ^= 1 << random(8);
            }
            match read(&spoilt) {
                Ok(model) => {
                    read_well += 1;
                    skin(&model);
                    if let Some(training) = model.training() {
                        training.distance(model.rig().skeleton(), &pose(model.rig().skeleton().len()));
                    }
                    // What can be read can be written, and read again.
                    read(&to_bytes(|out| write(&model, out)).unwrap()).unwrap();
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
    assert!(read_well > 100 && refused > 100, "{read_well} read, {refused} refused");
}

/// A tiny model with its own header changed.
fn with_header(base: &str, change: impl Fn(&mut Value)) -> Vec<u8> {
    changed(&to_bytes(|out| write(&tiny(base), out)).unwrap(), change)
}

/// An array: name, type, shape and bytes.
type Array<'a> = (&'a str, &'a str, Vec<u64>, Vec<u8>);

/// A tiny model with some arrays replaced.
fn with_arrays(base: &str, new: &[Array<'_>]) -> Vec<u8> {
    let (mut header, data) = parts(&to_bytes(|out| write(&tiny(base), out)).unwrap());
    let table = header.as_object_mut().unwrap();
    assert!(new.iter().all(|n| table.contains_key(n.0)), "there is no such array");
    let mut arrays: Vec<(String, Value)> = table.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    arrays.retain(|a| a.0 != "__metadata__");
    arrays.sort_by_key(|a| a.1["data_offsets"][0].as_u64());
    let mut packed = Vec::new();
    for (key, mut entry) in arrays {
        let offsets = entry["data_offsets"].clone();
        let range = offsets[0].as_u64().unwrap() as usize..offsets[1].as_u64().unwrap() as usize;
        let mut bytes = &data[range];
        if let Some((_, dtype, shape, instead)) = new.iter().find(|n| n.0 == key) {
            (entry["dtype"], entry["shape"]) = (json!(dtype), json!(shape));
            bytes = instead;
        }
        entry["data_offsets"] = json!([packed.len(), packed.len() + bytes.len()]);
        packed.extend_from_slice(bytes);
        table.insert(key, entry);
    }
    assemble(&header, &packed)
}

/// A tiny model with one array replaced.
fn with_array(base: &str, name: &str, dtype: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    with_arrays(base, &[(name, dtype, shape.to_vec(), bytes.to_vec())])
}

fn refused(bytes: &[u8]) -> String {
    read(bytes).map(|_| ()).expect_err("refused").to_string()
}

fn u32s(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn f32s(list: &[f32]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn f64s(list: &[f64]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    for version in [VERSION as u64 + 1, 1 << 40] {
        let error = refused(&with_header("lbs", |h| h["format_version"] = json!(version)));
        assert!(
            error.contains(&format!("version {version}")) && error.contains(&format!("up to {VERSION}")),
            "{error}"
        );
    }
    for odd in [json!(-1), json!(1.5), json!("1"), json!(null), json!([1])] {
        let error = refused(&with_header("lbs", |h| h["format_version"] = odd.clone()));
        assert!(error.contains("version"), "{odd}: {error}");
    }
}

/// Fields that are missing or of another kind are named; fields nobody knows are left alone.
#[test]
fn a_header_of_another_shape_is_refused() {
    for key in ["method", "rig", "fingerprint", "bone_names", "bone_parents", "up_axis", "metres_per_unit", "base"] {
        let without = with_header("lbs", |h| {
            h.as_object_mut().unwrap().remove(key);
        });
        assert!(refused(&without).contains(key), "{key}: {}", refused(&without));
        let odd = with_header("lbs", |h| h[key] = json!({"a": [1]}));
        assert!(!refused(&odd).is_empty(), "{key}");
    }
    assert!(read(&with_header("lbs", |h| h["added_later"] = json!({"any": "thing"}))).is_ok());
    assert_eq!(read(&with_header("lbs", |h| h["recipe"] = json!(null))).unwrap().header.recipe, None);
    for (key, value, says) in [
        ("base", json!("magic"), "base \"magic\""),
        ("rows", json!("diagonal"), "rows \"diagonal\""),
        ("length", json!(0.0), "length"),
        ("length", json!(-1.0), "length"),
        ("length", json!(null), "length"),
        ("metres_per_unit", json!(0.0), "unit"),
        ("metres_per_unit", json!(-2.0), "unit"),
        ("metres_per_unit", json!(1e300), "unit"),
        ("training_length", json!(0.0), "training"),
        ("fingerprint", json!("00"), "fingerprint"),
        ("bone_names", json!([]), "names"),
        ("bone_parents", json!([-1, 0]), "parents"),
        ("bone_parents", json!([-1, 99, 0]), "parent 99"),
        ("bone_parents", json!([1, 2, 0]), "ancestor"),
        ("bone_parents", json!([2, 0, -1]), "before its parent"),
    ] {
        let error = refused(&with_header("lbs", |h| h[key] = value.clone()));
        assert!(error.contains(says), "{key} {value}: {error}");
    }
    let (header, data) = parts(&to_bytes(|out| write(&tiny("lbs"), out)).unwrap());
    for (spoil, says) in [(json!({"dermis": "{"}), "version"), (json!({"other": "x"}), "no Dermis header")] {
        let mut header = header.clone();
        header["__metadata__"] = spoil;
        let error = refused(&assemble(&header, &data));
        assert!(error.contains(says), "{error}");
    }
    let deep = "[".repeat(1 << 20);
    let mut nested = header.clone();
    nested["__metadata__"]["dermis"] = json!(format!("{{\"format_version\":1,\"report\":{deep}"));
    assert!(!refused(&assemble(&nested, &data)).is_empty(), "nesting without end");
}

/// Arrays that contradict each other, name what is not there, or hold numbers that are none.
#[test]
fn arrays_that_contradict_each_other_are_refused() {
    /// Two joints seen in one pose and in two, 16 triangles with 6 terms.
    const TURN: &str = "rotational-regression";
    let vertices = tiny("lbs").rig().mesh().positions.len();
    let many = vec![0u32; vertices + 1];
    let mut backwards = many.clone();
    backwards[1] = 7;
    for (base, name, dtype, shape, bytes) in [
        ("lbs", "rest_vertices", "F64", vec![1, 3], f64s(&[f64::NAN; 3])),
        ("lbs", "rest_vertices", "F64", vec![0, 3], vec![]),
        ("lbs", "rest_vertices", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("lbs", "rest_vertices", "F64", vec![3], f64s(&[0.0; 3])),
        ("lbs", "rest_vertices", "F64", vec![], f64s(&[0.0])),
        ("lbs", "triangles", "U32", vec![1, 3], u32s(&[0, 1, 99])),
        ("lbs", "triangles", "U32", vec![3, 1], u32s(&[0, 1, 2])),
        ("lbs", "bind_matrices", "F64", vec![0, 3, 4], vec![]),
        ("lbs", "bind_matrices", "F64", vec![3, 3, 4], f64s(&[0.0; 36])),
        ("lbs", "bind_matrices", "F64", vec![3, 3, 4], f64s(&[f64::INFINITY; 36])),
        ("lbs", "weights.offsets", "U32", vec![0], vec![]),
        ("lbs", "weights.offsets", "U32", vec![vertices as u64 + 1], u32s(&many)),
        ("lbs", "weights.offsets", "U32", vec![vertices as u64 + 1], u32s(&backwards)),
        ("lbs", "weights.bones", "U32", vec![1], u32s(&[99])),
        ("lbs", "weights.values", "F64", vec![1], f64s(&[1.0])),
        ("lbs", "weights.values", "F64", vec![0], vec![]),
        ("lbs", "polygons.counts", "U32", vec![2], u32s(&[u32::MAX, u32::MAX])),
        ("lbs", "polygons.indices", "U32", vec![1], u32s(&[99])),
        ("lbs", "render.source", "U32", vec![1], u32s(&[99])),
        ("lbs", "render.triangles", "U32", vec![1, 3], u32s(&[0, 1, 99])),
        ("lbs", "render.triangles", "U32", vec![0, 3], vec![]),
        ("lbs", "render.uvs", "F32", vec![1, 2], f32s(&[0.0, f32::NAN])),
        ("lbs", "render.normals", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("lbs", "morphs.vertices", "U32", vec![16], u32s(&[99; 16])),
        ("lbs", "morphs.deltas", "F64", vec![16, 3], f64s(&[f64::NAN; 48])),
        ("lbs", "morphs.deltas", "F64", vec![1, 3], f64s(&[0.0; 3])),
        ("lbs", "morphs.offsets", "U32", vec![4], u32s(&[0, 2, 2, 16])),
        ("lbs", "correction.pairs", "U32", vec![1, 2], u32s(&[0, 99])),
        ("lbs", "correction.pairs", "U32", vec![1, 2], u32s(&[99, 0])),
        ("lbs", "correction.pairs", "U32", vec![0, 2], vec![]),
        ("lbs", "correction.limits", "F64", vec![3], f64s(&[-1.0, 1.0, 1.0])),
        ("lbs", "correction.limits", "F64", vec![3], f64s(&[f64::NAN, 1.0, 1.0])),
        ("lbs", "correction.frozen", "U32", vec![1], u32s(&[0])),
        ("lbs", "correction.frozen", "U32", vec![3], u32s(&[0, 2, 0])),
        ("lbs", "correction.anchors", "U32", vec![1], u32s(&[0])),
        ("lbs", "correction.terms", "U32", vec![1], u32s(&[99])),
        ("lbs", "correction.offsets", "U32", vec![vertices as u64 + 1], u32s(&backwards)),
        ("lbs", "correction.coefficients", "F32", vec![1, 12], f32s(&[0.0; 12])),
        ("lbs", "correction.coefficients", "F32", vec![1, 36], f32s(&[0.0; 36])),
        ("lbs", "correction.coefficients", "F32", vec![1, 36], f32s(&[f32::NAN; 36])),
        ("lbs", "correction.constants", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("lbs", "correction.radii", "F32", vec![1], f32s(&[1.0])),
        ("lbs", "correction.radii", "F32", vec![vertices as u64], f32s(&vec![-1.0; vertices])),
        ("lbs", "training.joints", "U32", vec![0, 2], vec![]),
        ("lbs", "training.joints", "U32", vec![1, 2], u32s(&[0, 99])),
        ("lbs", "training.features", "F32", vec![1, 12], f32s(&[0.0; 12])),
        ("lbs", "training.features", "F32", vec![2, 12], f32s(&[f32::INFINITY; 24])),
        ("animation-space", "animation_space.offsets", "U32", vec![vertices as u64 + 1], u32s(&backwards)),
        ("animation-space", "animation_space.bones", "U32", vec![1], u32s(&[99])),
        ("animation-space", "animation_space.a", "F32", vec![1, 4], f32s(&[0.0; 4])),
        ("joints", "joints.bones", "U32", vec![2, 2], u32s(&[0, 1, 1, 99])),
        ("joints", "joints.bones", "U32", vec![1, 2], u32s(&[0, 1])),
        ("joints", "joints.bones", "U32", vec![0, 2], vec![]),
        ("joints", "joints.centres", "F64", vec![1, 3], f64s(&[0.0; 3])),
        ("joints", "joints.centres", "F64", vec![2, 3], f64s(&[f64::NAN; 6])),
        ("joints", "joints.limits", "F64", vec![2], f64s(&[-1.0, 1.0])),
        ("joints", "joints.limits", "F64", vec![2], f64s(&[f64::NAN, 1.0])),
        ("joints", "joints.inducing_counts", "U32", vec![2], u32s(&[5, 5])),
        ("joints", "joints.inducing_counts", "U32", vec![2], u32s(&[0, 8])),
        ("joints", "joints.inducing_counts", "U32", vec![2], u32s(&[4, 4])),
        ("joints", "joints.inducing_counts", "U32", vec![2], u32s(&[u32::MAX, u32::MAX])),
        ("joints", "joints.inducing", "F64", vec![8, 12], f64s(&[0.0; 96])),
        ("joints", "joints.inducing", "F64", vec![8, 12], f64s(&[0.5; 96])),
        ("joints", "joints.inducing", "F64", vec![8, 12], f64s(&[f64::NAN; 96])),
        ("joints", "joints.inducing", "F64", vec![8, 12], f64s(&[f64::INFINITY; 96])),
        ("joints", "joints.inducing", "F64", vec![7, 12], f64s(&[0.5; 84])),
        ("joints", "joints.links", "U32", vec![1, 3], u32s(&[0, 99, 0])),
        ("joints", "joints.links", "U32", vec![1, 3], u32s(&[99, 0, 0])),
        ("joints", "joints.links", "U32", vec![1, 2], u32s(&[0, 1])),
        ("joints", "correction.terms", "U32", vec![1], u32s(&[99])),
        ("joints", "correction.terms", "U32", vec![22], u32s(&[0; 22])),
        ("joints", "correction.offsets", "U32", vec![vertices as u64 + 1], u32s(&backwards)),
        ("joints", "correction.coefficients", "F32", vec![1], f32s(&[0.0])),
        ("joints", "correction.coefficients", "F32", vec![0], vec![]),
        ("joints", "shared.offsets", "U32", vec![vertices as u64 + 1], u32s(&backwards)),
        ("joints", "shared.bones", "U32", vec![1], u32s(&[99])),
        ("joints", "shared.bones", "U32", vec![1], u32s(&[0])),
        ("joints", "shared.coefficients", "F32", vec![1, 5], f32s(&[0.0; 5])),
        ("joints", "shared.limits", "F32", vec![1], f32s(&[1.0])),
        ("joints", "shared.limits", "F32", vec![vertices as u64], f32s(&vec![-1.0; vertices])),
        ("joints", "shared.limits", "F32", vec![vertices as u64], f32s(&vec![f32::NAN; vertices])),
        ("joints", "correction.radii", "F32", vec![1], f32s(&[1.0])),
        ("joints", "correction.radii", "F32", vec![vertices as u64], f32s(&vec![-1.0; vertices])),
        ("pose-space", "pose_space.joints", "U32", vec![2, 2], u32s(&[0, 99, 0, 1])),
        ("pose-space", "pose_space.joints", "U32", vec![1, 2], u32s(&[0, 1])),
        ("pose-space", "pose_space.joints", "U32", vec![0, 2], vec![]),
        ("pose-space", "pose_space.limits", "F64", vec![2], f64s(&[-1.0, 1.0])),
        ("pose-space", "pose_space.limits", "F64", vec![2], f64s(&[f64::NAN, 1.0])),
        ("pose-space", "pose_space.frozen", "U32", vec![1], u32s(&[0])),
        ("pose-space", "pose_space.examples", "F64", vec![1, 9], f64s(&[0.0; 9])),
        ("pose-space", "pose_space.examples", "F64", vec![0, 9], vec![]),
        ("pose-space", "pose_space.examples", "F64", vec![6, 9], f64s(&[f64::INFINITY; 54])),
        ("pose-space", "pose_space.group_joints", "U32", vec![3], u32s(&[0, 1, 99])),
        ("pose-space", "pose_space.relevance", "F64", vec![1], f64s(&[1.0])),
        ("pose-space", "pose_space.relevance", "F64", vec![3], f64s(&[-1.0; 3])),
        ("pose-space", "pose_space.relevance", "F64", vec![3], f64s(&[f64::NAN; 3])),
        ("pose-space", "pose_space.joint_offsets", "U32", vec![3], u32s(&[0, 9, 3])),
        ("pose-space", "pose_space.centre_offsets", "U32", vec![3], u32s(&[0, 9, 4])),
        ("pose-space", "pose_space.centre_offsets", "U32", vec![0], vec![]),
        ("pose-space", "pose_space.centres", "U32", vec![4], u32s(&[0, 1, 2, 99])),
        ("pose-space", "pose_space.groups", "U32", vec![1], u32s(&[0])),
        ("pose-space", "pose_space.groups", "U32", vec![vertices as u64], u32s(&vec![7; vertices])),
        ("pose-space", "pose_space.weights", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("pose-space", "pose_space.bones", "U32", vec![1], u32s(&[0])),
        ("pose-space", "pose_space.bones", "U32", vec![vertices as u64], u32s(&vec![99; vertices])),
        ("rich-pose-space", "pose_space.axes", "F64", vec![1, 3], f64s(&[0.0; 3])),
        ("rich-pose-space", "pose_space.remainder_vertices", "U32", vec![2], u32s(&[7, 3])),
        ("rich-pose-space", "pose_space.remainder_vertices", "U32", vec![2], u32s(&[7, 99])),
        ("rich-pose-space", "pose_space.remainder_bones", "U32", vec![2], u32s(&[0, 99])),
        ("rich-pose-space", "pose_space.remainders", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("shapes", "shapes.regions", "U32", vec![3], u32s(&[0, 2, 1])),
        ("shapes", "shapes.regions", "U32", vec![3], u32s(&[0, 1, u32::MAX])),
        ("shapes", "shapes.coefficients", "F64", vec![1], f64s(&[0.0])),
        ("shapes", "shapes.coefficients", "F64", vec![8], f64s(&[f64::NAN; 8])),
        ("shapes", "shapes.terms", "U32", vec![24], u32s(&[3; 24])),
        ("shapes", "shapes.terms", "U32", vec![1], u32s(&[0])),
        ("shapes", "shapes.offsets", "U32", vec![13], u32s(&[7; 13])),
        ("shapes", "shapes.displacements", "F32", vec![1, 3], f32s(&[0.0; 3])),
        ("windowed-shapes", "shapes.window_centres", "U32", vec![3], u32s(&[0, 3, 1])),
        ("windowed-shapes", "shapes.window_centres", "U32", vec![2], u32s(&[0, 1])),
        ("windowed-shapes", "shapes.window_relevance", "F64", vec![5], f64s(&[-1.0; 5])),
        ("windowed-shapes", "shapes.window_relevance", "F64", vec![5], f64s(&[f64::NAN; 5])),
        ("windowed-shapes", "shapes.window_relevance", "F64", vec![4], f64s(&[0.5; 4])),
        ("windowed-shapes", "shapes.window_relevance", "F64", vec![6], f64s(&[0.5; 6])),
        ("remembering-joints", "shapes.window_centres", "U32", vec![0], u32s(&[])),
        ("remembering-joints", "shapes.terms", "U32", vec![24], u32s(&[3; 24])),
        ("remembering-joints", "shapes.displacements", "F32", vec![1, 3], vec![0; 12]),
        ("windowed-shapes", "pose_space.parts", "U32", vec![2], u32s(&[1, 3])),
        ("windowed-shapes", "pose_space.parts", "U32", vec![1], u32s(&[1])),
        ("pose-space", "pose_space.radii", "F32", vec![vertices as u64], f32s(&vec![-1.0; vertices])),
        (TURN, "regression.joints", "U32", vec![2, 2], u32s(&[0, 1, 1, 99])),
        (TURN, "regression.joints", "U32", vec![1, 2], u32s(&[0, 1])),
        (TURN, "regression.joints", "U32", vec![0, 2], vec![]),
        (TURN, "regression.joints", "U32", vec![4], u32s(&[0, 1, 1, 2])),
        (TURN, "regression.limits", "F32", vec![2], f32s(&[-1.0, 1.0])),
        (TURN, "regression.limits", "F32", vec![2], f32s(&[f32::INFINITY, 1.0])),
        (TURN, "regression.limits", "F32", vec![1], f32s(&[1.0])),
        (TURN, "regression.seen_counts", "U32", vec![2], u32s(&[0, 0])),
        (TURN, "regression.seen_counts", "U32", vec![2], u32s(&[u32::MAX, 4])),
        (TURN, "regression.seen_counts", "U32", vec![1], u32s(&[3])),
        (TURN, "regression.seen", "F32", vec![3, 3], f32s(&[f32::NAN; 9])),
        (TURN, "regression.seen", "F32", vec![2, 3], f32s(&[0.0; 6])),
        (TURN, "regression.seen", "F32", vec![0, 3], vec![]),
        (TURN, "regression.bones", "U32", vec![16], u32s(&[3; 16])),
        (TURN, "regression.bones", "U32", vec![1], u32s(&[0])),
        (TURN, "regression.offsets", "U32", vec![17], u32s(&[6; 17])),
        (TURN, "regression.offsets", "U32", vec![17], u32s(&[0; 17])),
        (TURN, "regression.offsets", "U32", vec![17], u32s(&[0, 5, 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6])),
        (TURN, "regression.offsets", "U32", vec![1], u32s(&[0])),
        (TURN, "regression.terms", "U32", vec![6], u32s(&[2; 6])),
        (TURN, "regression.terms", "U32", vec![1], u32s(&[0])),
        (TURN, "regression.turns", "F32", vec![1, 9], f32s(&[0.0; 9])),
        (TURN, "regression.turns", "F32", vec![6, 9], f32s(&[f32::NAN; 54])),
        (TURN, "regression.turns", "F64", vec![6, 9], f64s(&[0.0; 54])),
        (TURN, "regression.stretches", "F32", vec![1, 18], f32s(&[0.0; 18])),
        (TURN, "regression.stretches", "F32", vec![6, 18], f32s(&[f32::INFINITY; 108])),
        (TURN, "regression.anchors", "U32", vec![1, 2], u32s(&[99, 0])),
        (TURN, "regression.anchors", "U32", vec![1, 2], u32s(&[0, 99])),
        // Nothing holds the surface; it is another surface.
        (TURN, "regression.anchors", "U32", vec![0, 2], vec![]),
        (TURN, "triangles", "U32", vec![1, 3], u32s(&[0, 1, 2])),
    ] {
        let spoilt = with_array(base, name, dtype, &shape, &bytes);
        let error = read(&spoilt).err().unwrap_or_else(|| panic!("{name} {shape:?} is taken")).to_string();
        assert!(error.len() < 400, "{name} {shape:?}: {error}");
    }
}

/// The most memory in use during `work`, beyond that before it, and what `work` returns. Other tests of this file run beside
/// it; each holds a few hundred kilobytes.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let made = work();
    (MEMORY.peak_usage().saturating_sub(before), made)
}

/// Sizes the bytes do not hold are neither believed nor allocated.
#[test]
fn promises_are_neither_believed_nor_allocated() {
    let bytes = to_bytes(|out| write(&tiny("lbs"), out)).unwrap();
    let (header, data) = parts(&bytes);
    let mut hostile = vec![
        // A header of 2⁶⁴ − 1, of 2⁶³ and of 100 MB bytes.
        [u64::MAX.to_le_bytes().as_slice(), b"{}"].concat(),
        [(1u64 << 63).to_le_bytes().as_slice(), &bytes[8..]].concat(),
        [100_000_000u64.to_le_bytes().as_slice(), &bytes[8..]].concat(),
        vec![],
        vec![0; 8],
        b"POINTCACHE2\0".to_vec(),
    ];
    let huge = 1u64 << 40;
    for (shape, offsets) in [
        (json!([huge, 3]), json!([0, huge * 24])),
        (json!([huge, huge, huge]), json!([0, 8])),
        (json!([u64::MAX, 3]), json!([0, u64::MAX])),
        // No bytes at all, but a product of columns beyond 64 bits.
        (json!([0, huge, huge]), json!([0, 0])),
        (json!([0, u64::MAX, 3]), json!([0, 0])),
        (json!([4, 3]), json!([96, 0])),
        (json!([4, 3]), json!([0, 95])),
        (json!([-4, 3]), json!([0, 96])),
        (json!([4, 3]), json!([u64::MAX - 95, 0])),
    ] {
        let mut spoilt = header.clone();
        spoilt["rest_vertices"] = json!({"dtype": "F64", "shape": shape, "data_offsets": offsets});
        hostile.push(assemble(&spoilt, &data));
    }
    hostile.push(with_array("lbs", "triangles", "U32", &[0, huge, huge], &[]));
    hostile.push(with_array("lbs", "correction.coefficients", "F32", &[0, huge, huge], &[]));
    let (used, ()) = peak(|| {
        for (at, bytes) in hostile.iter().enumerate() {
            assert!(!refused(bytes).is_empty(), "{at}");
        }
    });
    assert!(used < 256 << 20, "{used} bytes");
}

/// The factor of a joint's kernel grows with the square of its inducing rotations, which the bytes do not hold.
#[test]
fn inducing_rotations_without_end_are_refused() {
    // Rotations far apart, so that their matrix is positive definite: 4 MB that would ask for 8 GB and hours.
    let many = 45_000usize;
    let rotations: Vec<f64> = (0..12 * many).map(|i| 100.0 * ((i * i) as f64).sin()).collect();
    let spoilt = with_arrays(
        "joints",
        &[
            ("joints.inducing", "F64", vec![many as u64, 12], f64s(&rotations)),
            ("joints.inducing_counts", "U32", vec![2], u32s(&[many as u32 - 5, 5])),
        ],
    );
    // The file itself takes a few megabytes; the factor would take 8 · 45000² bytes.
    assert!(many > MOST_INDUCING);
    let (used, why) = peak(|| refused(&spoilt));
    assert!(why.contains("joint 0 cannot be evaluated"), "{why}");
    assert!(used < 256 << 20, "refused before it is factored: {used} bytes");
}

/// What evaluation divides, chains or takes the logarithm of may be as large as its type: the skin stays in its arrays, and what is
/// read is written again.
#[test]
fn a_turning_model_of_absurd_numbers_runs() {
    const TURN: &str = "rotational-regression";
    let absurd = [
        ("regression.turns", vec![6, 9], f32s(&[f32::MAX; 54])),
        ("regression.stretches", vec![6, 18], f32s(&[-f32::MAX; 108])),
        ("regression.seen", vec![3, 3], f32s(&[f32::MAX; 9])),
        ("regression.limits", vec![2], f32s(&[f32::MAX; 2])),
        ("regression.joints", vec![2, 2], u32s(&[1, 1, 2, 0])),
        ("regression.anchors", vec![3, 2], u32s(&[0, 1, 0, 2, 0, 0])),
    ];
    for (name, shape, bytes) in absurd {
        let dtype = if shape == [2, 2] || shape == [3, 2] { "U32" } else { "F32" };
        let model = read(&with_array(TURN, name, dtype, &shape, &bytes)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(skin(&model).len(), 12, "{name}");
        assert_eq!(
            to_bytes(|out| write(&read(&to_bytes(|out| write(&model, out)).unwrap()).unwrap(), out)).unwrap(),
            to_bytes(|out| write(&model, out)).unwrap(),
            "{name}"
        );
    }
    let mut weightless = tiny(TURN);
    let bare = weightless.rig().clone().with_weights(None).unwrap();
    weightless.model = weightless.model.with_rig(bare).unwrap();
    assert!(
        refused(&to_bytes(|out| write(&weightless, out)).unwrap())
            .contains("rotational regression needs skinning weights")
    );
    let adrift = with_array(TURN, "regression.anchors", "U32", &[0, 2], &[]);
    assert!(refused(&adrift).contains("the surface cannot be solved for"), "{}", refused(&adrift));
}

/// Fitted weights travel beside the rig's own, and a file that promises them must hold them.
#[test]
fn fitted_weights_are_kept_beside_the_rig_s_own() {
    let mut model = tiny("lbs");
    let bone = dermis_rig::BoneIndex::new(0);
    let fitted =
        dermis_rig::Influences::from_rows(vec![vec![(bone, 1.0)]; model.rig().mesh().positions.len()]).unwrap();
    model.model = model.model.with_fitted_weights(Some(fitted.clone())).unwrap();
    let back = read(&to_bytes(|out| write(&model, out)).unwrap()).unwrap();
    assert_eq!((back.weights(), back.rig().weights()), (Some(&fitted), model.rig().weights()));
    assert_ne!(model.rig().weights(), Some(&fitted));
    let BakedBase::Lbs(base) = back.baked().base() else { panic!("linear blending was stored") };
    assert!(base.weights.iter().all(|w| *w == 1.0));
    let promised = with_header("lbs", |h| h["base"] = json!("fitted-weights"));
    assert!(refused(&promised).contains("fitted weights are missing"));
}

/// What would be read as infinity could not be written again.
#[test]
fn a_colour_beyond_32_bits_is_refused() {
    let loud = with_header("lbs", |h| h["parts"][0]["color"][1] = json!(1e39));
    assert!(refused(&loud).contains("number out of range"), "{}", refused(&loud));
}

/// The recipe is kept as it is. Without one the header does not name it, as in files of earlier programs.
#[test]
fn a_recipe_comes_back_and_may_be_absent() {
    let plain = tiny("joints");
    let mut made = plain.clone();
    made.header.recipe =
        Some(json!({"fit": {"rig": "hero.glb", "method": {"joint": {"ridge": 1e-3}}}, "seed": [1, null]}));
    for written in [plain, made] {
        let bytes = to_bytes(|out| write(&written, out)).unwrap();
        let (header, _) = parts(&bytes);
        let own: Value = serde_json::from_str(header["__metadata__"]["dermis"].as_str().unwrap()).unwrap();
        assert_eq!(own.get("recipe"), written.header.recipe.as_ref());
        assert_eq!(own["format_version"], VERSION);
        let back = read(&bytes).unwrap();
        assert_eq!(back.header, written.header);
        assert_eq!(skin(&back), skin(&written));
        assert_eq!(to_bytes(|out| write(&back, out)).unwrap(), bytes);
    }
}
