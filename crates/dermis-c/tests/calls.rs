//! The exported functions, called as C calls them. Oracle: the façade's runner. What bad input does is in `bad_inputs.c`; what takes
//! threads, panics or rarer models is here.

// The functions under test take pointers.
#![allow(unsafe_code)]

// What tests of C programs need besides.
#[allow(dead_code)]
mod table;

use dermis::glam::{DAffine3, Vec3};
use dermis::internals::deform::pose_space::Carrier;
use dermis::internals::deform::{Base, Deformer, RiggedDeformer};
use dermis::internals::io::{ModelFile, ModelHeader, Space};
use dermis::internals::rig::{BoneTransforms, RenderMesh, Rig};
use dermis::{Method, Model};
use dermis_c::matrices::*;
use dermis_c::memory::DermisFloats;
use dermis_c::model::*;
use dermis_c::runner::*;
use dermis_c::status::*;
use dermis_c::{DERMIS_ABI_VERSION, DermisModel, DermisRunner};
use dermis_testkit::{Random, Tree, models};
use std::ffi::CStr;
use std::ptr::null;
use table::{arm, poses, rows};

fn said() -> String {
    unsafe { CStr::from_ptr(dermis_last_error()) }.to_str().unwrap().to_owned()
}

fn read(model: &Model) -> DermisModel {
    let (mut bytes, mut handle) = (Vec::new(), DermisModel::default());
    model.write(&mut bytes).unwrap();
    let status = unsafe { dermis_model_read(DERMIS_ABI_VERSION, bytes.as_ptr(), bytes.len(), &mut handle) };
    assert_eq!(status, DERMIS_OK, "{}", said());
    handle
}

fn runner(model: DermisModel, threads: u32) -> DermisRunner {
    let mut handle = DermisRunner::default();
    assert_eq!(unsafe { dermis_runner_new(model, threads, &mut handle) }, DERMIS_OK, "{}", said());
    handle
}

fn info(model: DermisModel) -> DermisModelInfo {
    let mut info = DermisModelInfo::default();
    assert_eq!(unsafe { dermis_model_info(model, &mut info) }, DERMIS_OK, "{}", said());
    info
}

/// Skinning matrices as doubles, rows of 4x4, without gaps.
fn numbers(pose: &BoneTransforms) -> Vec<f64> {
    pose.iter().flat_map(rows).collect()
}

/// A pose of such numbers. It points into them.
fn pose(numbers: &[f64]) -> DermisPose {
    DermisPose {
        matrices: numbers.as_ptr().cast(),
        matrices_bytes: size_of_val(numbers),
        matrices_stride: 0,
        bones: (numbers.len() / 16) as u32,
        layout: DERMIS_ROWS_4X4,
        numbers: DERMIS_DOUBLE,
        meaning: DERMIS_SKINNING,
        base: null(),
        base_floats: 0,
        base_stride: 0,
    }
}

fn room(floats: &mut [f32]) -> DermisFloats {
    DermisFloats { first: floats.as_mut_ptr(), floats: floats.len(), stride: 0 }
}

/// Positions and normals in a pose.
fn evaluate(runner: DermisRunner, pose: &DermisPose, vertices: u32) -> Result<(Vec<f32>, Vec<f32>), DermisStatus> {
    let (mut skin, mut normals) = (vec![0.0; 3 * vertices as usize], vec![0.0; 3 * vertices as usize]);
    let (positions, of_mesh) = (room(&mut skin), room(&mut normals));
    match unsafe { dermis_runner_evaluate(runner, pose, &positions, &of_mesh) } {
        DERMIS_OK => Ok((skin, normals)),
        status => Err(status),
    }
}

fn flat(points: &[Vec3]) -> Vec<f32> {
    points.iter().flat_map(Vec3::to_array).collect()
}

#[test]
fn every_layout_and_meaning_gives_the_same_bits() {
    let model = arm(&Method::joint());
    let handle = read(&model);
    let (info, run) = (info(handle), runner(handle, 1));
    let (bones, mut oracle) = (info.bones as usize, model.runner());
    for transforms in poses(7) {
        // Rounded, so that floats and doubles hold the same numbers.
        let transforms = BoneTransforms::new(transforms.iter().map(|m| m.as_affine3().as_daffine3()).collect());
        let skin = flat(oracle.skin(&transforms).unwrap());
        let expected = (skin, flat(oracle.normals()));
        // Bytes before the first matrix and between them, so that nothing is aligned.
        for (layout, count) in
            [(DERMIS_COLUMNS_4X4, 16), (DERMIS_ROWS_4X4, 16), (DERMIS_COLUMNS_3X4, 12), (DERMIS_ROWS_3X4, 12)]
        {
            for (code, size) in [(DERMIS_FLOAT, 4), (DERMIS_DOUBLE, 8)] {
                let stride = count * size + 8;
                let mut bytes = vec![0xff; 1 + bones * stride];
                for (bone, m) in transforms.iter().enumerate() {
                    let row_major = rows(m);
                    for at in 0..count {
                        let (row, column) = match layout {
                            DERMIS_COLUMNS_4X4 => (at % 4, at / 4),
                            DERMIS_COLUMNS_3X4 => (at % 3, at / 3),
                            _ => (at / 4, at % 4),
                        };
                        let (x, start) = (row_major[4 * row + column], 1 + bone * stride + at * size);
                        match size {
                            4 => bytes[start..start + 4].copy_from_slice(&(x as f32).to_le_bytes()),
                            _ => bytes[start..start + 8].copy_from_slice(&x.to_le_bytes()),
                        }
                    }
                }
                let given = DermisPose {
                    matrices: bytes[1..].as_ptr().cast(),
                    matrices_bytes: bytes.len() - 1,
                    matrices_stride: stride,
                    layout,
                    numbers: code,
                    ..pose(&numbers(&transforms))
                };
                assert_eq!(evaluate(run, &given, info.vertices).unwrap(), expected, "layout {layout}, numbers {code}");
            }
        }
        // Joint-to-world matrices: the oracle is given them as well.
        let world = model.skeleton().world_pose(&transforms);
        let expected = flat(oracle.skin(model.skeleton().bone_transforms(&world)).unwrap());
        let posed: Vec<f64> = world.bones.iter().flat_map(rows).collect();
        let given = DermisPose { meaning: DERMIS_POSED, ..pose(&posed) };
        assert_eq!(evaluate(run, &given, info.vertices).unwrap().0, expected);
    }
}

/// Oracle: the same skin, carried over by hand.
#[test]
fn other_axes_and_units_are_carried_over() {
    let model = arm(&Method::mwe());
    let handle = read(&model);
    let (info, run) = (info(handle), runner(handle, 1));
    let mut oracle = model.runner();
    // Left-handed, Z up, centimetres.
    let axes = [0.01, 0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0];
    let out = |p: &Vec3| Vec3::new(p.x, p.z, p.y);
    assert_eq!(unsafe { dermis_runner_set_axes(run, axes.as_ptr()) }, DERMIS_OK);
    let to_model = DAffine3::from_mat3(dermis::glam::DMat3::from_cols_array(&axes).transpose());
    for transforms in poses(11) {
        let theirs = BoneTransforms::new(transforms.iter().map(|m| to_model.inverse() * *m * to_model).collect());
        let given = numbers(&theirs);
        let (skin, normals) = evaluate(run, &pose(&given), info.vertices).unwrap();
        let ours = oracle.skin(&transforms).unwrap().to_vec();
        // Wild poses fling limbs metres away; the rest of the tolerance is that of single precision.
        let size = ours.iter().fold(1.0f32, |most, p| most.max(p.length()));
        for (got, expected) in skin.chunks_exact(3).zip(&ours) {
            assert!(Vec3::from_slice(got).distance(100.0 * out(expected)) < 100.0 * 1e-6 * size, "{got:?} {expected}");
        }
        for (got, expected) in normals.chunks_exact(3).zip(oracle.normals()) {
            assert!(Vec3::from_slice(got).distance(out(expected)) < 1e-3, "{got:?} {expected}");
        }
    }
    let at_rest = numbers(&BoneTransforms::identity(info.bones as usize));
    let posed = DermisPose { meaning: DERMIS_POSED, ..pose(&at_rest) };
    assert_eq!(evaluate(run, &posed, info.vertices), Err(DERMIS_ERROR_VALUE));
    assert_eq!(unsafe { dermis_runner_set_axes(run, null()) }, DERMIS_OK);
    assert!(evaluate(run, &posed, info.vertices).is_ok());
}

#[test]
fn what_a_model_is_made_of_is_told() {
    let model = arm(&Method::joint());
    let handle = read(&model);
    let (info, rig) = (info(handle), model.rig());
    let (mesh, skeleton) = (rig.mesh(), model.skeleton());
    assert_eq!((info.vertices, info.triangles), (mesh.positions.len() as u32, mesh.triangles.len() as u32));
    assert_eq!((info.bones, info.channels, info.needs_base), (skeleton.len() as u32, 0, 0));
    assert_eq!((info.up_axis, info.metres_per_unit), (DERMIS_UP_Y, 1.0));
    let radii = model.as_file().baked().corrections().last().unwrap().radii();
    assert_eq!(info.correction_bound, f64::from(radii.iter().copied().fold(0.0, f32::max)));
    for bone in skeleton.bones() {
        let (at, mut name, mut parent, mut found) = (bone.get() as u32, null(), 0, 0);
        assert_eq!(unsafe { dermis_model_bone_name(handle, at, &mut name) }, DERMIS_OK);
        assert_eq!(unsafe { CStr::from_ptr(name) }.to_str().unwrap(), skeleton.names()[bone]);
        assert_eq!(unsafe { dermis_model_bone_parent(handle, at, &mut parent) }, DERMIS_OK);
        assert_eq!(parent, skeleton.parents()[bone].map_or(-1, |p| p.get() as i32));
        assert_eq!(unsafe { dermis_model_find_bone(handle, name, &mut found) }, DERMIS_OK);
        assert_eq!(found, at);
    }
    let mut bind = vec![0.0f64; 16 * skeleton.len()];
    let (to, bytes) = (bind.as_mut_ptr().cast(), size_of_val(&*bind));
    let status = unsafe { dermis_model_bind_matrices(handle, DERMIS_ROWS_4X4, DERMIS_DOUBLE, 0, to, bytes) };
    assert_eq!((status, bind), (DERMIS_OK, skeleton.bind().iter().flat_map(rows).collect()));
    let (mut corners, mut rest) = (vec![0; 3 * mesh.triangles.len()], vec![0.0; 3 * mesh.positions.len()]);
    assert_eq!(unsafe { dermis_model_triangles(handle, corners.as_mut_ptr(), corners.len()) }, DERMIS_OK);
    assert_eq!(corners, mesh.triangles.as_flattened());
    assert_eq!(unsafe { dermis_model_rest_positions(handle, &room(&mut rest)) }, DERMIS_OK);
    assert_eq!(rest, mesh.positions.iter().flat_map(|p| p.as_vec3().to_array()).collect::<Vec<_>>());
}

/// A mesh that is drawn with one vertex twice.
#[test]
fn drawn_vertices_name_the_vertices_that_they_hang_on() {
    let fitted = arm(&Method::Dqs);
    let (rig, baked) = (fitted.as_file().rig(), fitted.as_file().baked().clone());
    assert_eq!((info(read(&fitted)).drawn_vertices, info(read(&fitted)).drawn_triangles), (0, 0));
    let mut mesh = rig.mesh().clone();
    let mut triangles = mesh.triangles.clone();
    let twice = triangles[0][0];
    triangles[0][0] = mesh.positions.len() as u32;
    let source = (0..mesh.positions.len() as u32).chain([twice]).collect();
    mesh.render = Some(RenderMesh { source, triangles, ..RenderMesh::default() });
    let rig = Rig::new(mesh, rig.skeleton().clone(), rig.weights().cloned()).unwrap();
    let model = RiggedDeformer::new(rig.clone(), None, baked, None).unwrap();
    let handle = read(&ModelFile { model, space: Space::default(), header: ModelHeader::default() }.into());
    let (info, drawn) = (info(handle), rig.mesh().render.as_ref().unwrap());
    assert_eq!(
        (info.drawn_vertices as usize, info.drawn_triangles as usize),
        (drawn.source.len(), drawn.triangles.len())
    );
    let (mut sources, mut corners) = (vec![0; drawn.source.len()], vec![0; 3 * drawn.triangles.len()]);
    assert_eq!(unsafe { dermis_model_drawn_vertices(handle, sources.as_mut_ptr(), sources.len()) }, DERMIS_OK);
    assert_eq!(unsafe { dermis_model_drawn_triangles(handle, corners.as_mut_ptr(), corners.len()) }, DERMIS_OK);
    assert_eq!((sources, &corners[..]), (drawn.source.clone(), drawn.triangles.as_flattened()));
    assert_eq!(unsafe { dermis_model_drawn_vertices(handle, corners.as_mut_ptr(), 7) }, DERMIS_ERROR_BUFFER);
}

/// Oracle: the distance of the training poses themselves, which the program prints.
#[test]
fn a_pose_far_from_training_is_told() {
    let model = arm(&Method::joint());
    let handle = read(&model);
    let (run, vertices) = (runner(handle, 1), info(handle).vertices);
    for transforms in poses(5) {
        let given = numbers(&transforms);
        evaluate(run, &pose(&given), vertices).unwrap();
        let (mut degrees, mut bone) = (-1.0, -2);
        assert_eq!(unsafe { dermis_runner_distance(run, &mut degrees, &mut bone) }, DERMIS_OK);
        let expected = model.as_file().training().unwrap().distance(model.skeleton(), &transforms);
        assert_eq!((degrees, bone), (expected.degrees, expected.bone.map_or(-1, |bone| bone.get() as i32)));
    }
}

#[test]
fn a_model_over_given_positions_takes_them_with_the_pose() {
    let fitted = arm(&Method::Dqs);
    let rig = fitted.as_file().rig();
    let rest = rig.mesh().positions.clone();
    let vertices = rest.len();
    let baked = Deformer::new(rest, Base::Given, None).unwrap().bake();
    let model = RiggedDeformer::new(rig.clone(), None, baked, None).unwrap();
    let file = ModelFile { model, space: Space::default(), header: ModelHeader::default() };
    let handle = read(&Model::from(file));
    assert_eq!(info(handle).needs_base, 1);
    let run = runner(handle, 1);
    let given = numbers(&BoneTransforms::identity(rig.skeleton().len()));
    // Every second vertex of a larger buffer.
    let base: Vec<f32> = (0..6 * vertices).map(|at| at as f32 * 0.01).collect();
    let with = DermisPose { base: base.as_ptr(), base_floats: base.len(), base_stride: 24, ..pose(&given) };
    let expected: Vec<f32> = base.chunks_exact(6).flat_map(|six| six[..3].to_vec()).collect();
    assert_eq!(evaluate(run, &with, vertices as u32).unwrap().0, expected);
    assert_eq!(evaluate(run, &pose(&given), vertices as u32), Err(DERMIS_ERROR_COUNT));
    assert!(said().contains("base"), "{}", said());
    let short = DermisPose { base_floats: base.len() - 4, ..with };
    assert_eq!(evaluate(run, &short, vertices as u32), Err(DERMIS_ERROR_BUFFER));
    let infinite: Vec<f32> = base.iter().map(|x| x / 0.0).collect();
    let infinite = DermisPose { base: infinite.as_ptr(), ..with };
    assert_eq!(evaluate(run, &infinite, vertices as u32), Err(DERMIS_ERROR_VALUE));
}

/// A pose space that reads a muscle's contraction. Oracle: the façade's runner, given the channel by name.
#[test]
fn channels_are_set_by_number() {
    let mut random = Random::new(3);
    let tree = Tree::new(6, 40, 3);
    let shapes = models::pose_space(&tree, Carrier::Base, true, &mut random);
    let weights = tree.rig.weights().unwrap().clone();
    let deformer = Deformer::new(tree.rig.mesh().positions.clone(), Base::Lbs(weights), Some(shapes.into())).unwrap();
    let model = RiggedDeformer::new(tree.rig.clone(), None, deformer.bake(), None).unwrap();
    let model = Model::from(ModelFile { model, space: Space::default(), header: ModelHeader::default() });
    let handle = read(&model);
    let (info, run, mut name) = (info(handle), runner(handle, 1), null());
    assert_eq!(info.channels, 1);
    assert_eq!(unsafe { dermis_model_channel_name(handle, 0, &mut name) }, DERMIS_OK);
    assert_eq!(unsafe { CStr::from_ptr(name) }.to_str().unwrap(), models::FLEX);
    let (mut oracle, mut seen) = (model.runner(), Vec::new());
    for transforms in models::poses(&tree, &mut random) {
        let given = numbers(&transforms);
        for value in [0.0, 0.4, -1.0] {
            let flexed = transforms.clone().with_channels(vec![(models::FLEX.into(), value)]);
            assert_eq!(dermis_runner_set_channel(run, 0, value), DERMIS_OK);
            let (skin, _) = evaluate(run, &pose(&given), info.vertices).unwrap();
            assert_eq!(skin, flat(oracle.skin(&flexed).unwrap()));
            seen.push(skin);
        }
    }
    assert!(seen.chunks(3).any(|skins| skins[0] != skins[1]), "the channel moves something");
    assert_eq!(dermis_runner_set_channel(run, 0, f64::NAN), DERMIS_ERROR_VALUE);
    assert_eq!(dermis_runner_set_channel(run, 1, 0.0), DERMIS_ERROR_NOT_FOUND);
}

/// Many threads, each with its own runner, pools of every size, and one model that is freed while they run.
#[test]
fn threads_share_a_model_and_get_the_same_bits() {
    let model = arm(&Method::joint());
    let handle = read(&model);
    let vertices = info(handle).vertices;
    let (all, mut oracle) = (poses(13), model.runner());
    let expected: Vec<Vec<f32>> = all.iter().map(|pose| flat(oracle.skin(pose).unwrap())).collect();
    let runners: Vec<DermisRunner> = (0..6).map(|threads| runner(handle, threads % 4)).collect();
    std::thread::scope(|scope| {
        for &run in &runners {
            let (all, expected) = (&all, &expected);
            scope.spawn(move || {
                for round in 0..20 {
                    let at = round % all.len();
                    let given = numbers(&all[at]);
                    assert_eq!(evaluate(run, &pose(&given), vertices).unwrap().0, expected[at]);
                }
            });
        }
        assert_eq!(dermis_model_free(handle), DERMIS_OK);
    });
    for run in runners {
        assert_eq!(dermis_runner_free(run), DERMIS_OK);
        assert_eq!(dermis_runner_free(run), DERMIS_ERROR_HANDLE);
    }
}

/// Two threads on one runner: each call does all of its work or none of it.
#[test]
fn a_runner_refuses_a_second_thread() {
    let model = arm(&Method::joint());
    let handle = read(&model);
    let (vertices, run) = (info(handle).vertices, runner(handle, 1));
    let (all, mut oracle) = (poses(17), model.runner());
    let expected = flat(oracle.skin(&all[1]).unwrap());
    let given = numbers(&all[1]);
    let done = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    match evaluate(run, &pose(&given), vertices) {
                        Ok((skin, _)) => {
                            assert_eq!(skin, expected);
                            done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                        Err(status) => assert_eq!(status, DERMIS_ERROR_BUSY),
                    }
                }
            });
        }
    });
    assert!(done.into_inner() > 0, "some call found the runner free");
}

/// A message belongs to the thread whose call failed, and stays until another fails.
#[test]
fn messages_belong_to_their_threads() {
    assert_eq!(dermis_runner_free(DermisRunner { id: u64::MAX }), DERMIS_ERROR_HANDLE);
    let before = said();
    assert!(before.contains("is no runner"), "{before}");
    std::thread::spawn(|| assert_eq!(said(), "")).join().unwrap();
    assert_eq!(dermis_runner_free(DermisRunner { id: 0 }), DERMIS_OK);
    assert_eq!(said(), before);
    assert_eq!(dermis_runner_set_channel(DermisRunner { id: 0 }, 0, 0.0), DERMIS_ERROR_HANDLE);
    assert!(said().contains("zero"), "{}", said());
}
