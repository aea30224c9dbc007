//! glTF: the character rests where, as large and as upright as its file shows it, whatever space its skin was bound in.

mod handmade;

use dermis_io::gltf::{GlbScene, write_glb};
use dermis_io::{Contents, Flaw, to_bytes};
use dermis_rig::WorldPose;
use dermis_rig::glam::{DAffine3, DMat3, DMat4, DQuat, DVec3};
use handmade::{Made, alone, bone, count};
use serde_json::{Value, json};

/// Roundings to single precision of numbers up to 200, brought back to a figure of some 2 m.
const FLOAT: f64 = 2e-5;

/// A figure of three joints, 1.7 m high, that stands upright at rest and leans in its default pose.
struct Figure {
    /// Nodes above the skeleton.
    above: Vec<DAffine3>,
    /// From where the figure rests to the space of its vertices.
    bound: DAffine3,
    /// What joints measure in.
    unit: f64,
    /// A joint above all others that carries no skin, and whose inverse bind matrix is the identity.
    idle: bool,
    mesh_node: Value,
}

impl Default for Figure {
    fn default() -> Self {
        let (above, bound, mesh_node) = (vec![], DAffine3::IDENTITY, json!({}));
        Self { above, bound, unit: 1.0, idle: false, mesh_node }
    }
}

fn scale(by: f64) -> DAffine3 {
    DAffine3::from_scale(DVec3::splat(by))
}

fn turn(x: f64, y: f64, z: f64) -> DAffine3 {
    DAffine3::from_quat(DQuat::from_euler(dermis_rig::glam::EulerRot::XYZ, x, y, z))
}

/// Z up in centimetres.
fn z_up_cm() -> DAffine3 {
    scale(100.0) * turn(std::f64::consts::FRAC_PI_2, 0.0, 0.0)
}

const BACK: f64 = -std::f64::consts::FRAC_PI_2;

impl Figure {
    /// The corners at rest, and which joints carry each.
    fn rest() -> (Vec<DVec3>, Vec<[f64; 4]>) {
        let (mut corners, mut weights) = (Vec::new(), Vec::new());
        for ring in 0..18 {
            let height = 0.1 * f64::from(ring);
            for corner in 0..3 {
                let angle = f64::from(corner) * 2.1 + 0.01 * f64::from(ring);
                corners.push(DVec3::new(0.2 * angle.cos(), height, 0.15 * angle.sin()));
                let share = |from: f64, to: f64| ((height - from) / (to - from)).clamp(0.0, 1.0);
                let (second, third) = (share(0.8, 1.2), share(1.2, 1.5));
                weights.push([1.0 - second, second * (1.0 - third), second * third, 0.0]);
            }
        }
        (corners, weights)
    }

    fn binds() -> [DAffine3; 3] {
        let at = |y, turned| DAffine3::from_translation(DVec3::Y * y) * turned;
        [at(0.5, turn(0.1, 0.0, 0.0)), at(1.0, turn(0.0, 0.4, 0.1)), at(1.4, turn(0.3, 0.0, -0.2))]
    }

    /// The joints in the default pose.
    fn pose() -> [DAffine3; 3] {
        let binds = Self::binds();
        let first = binds[0] * turn(0.15, 0.0, 0.1);
        let second = first * binds[0].inverse() * binds[1] * turn(0.0, 0.3, 0.5);
        [first, second, second * binds[1].inverse() * binds[2] * turn(-0.6, 0.0, 0.4)]
    }

    /// Where the file shows the corners: the specification's sum.
    fn shown() -> Vec<DVec3> {
        let (corners, weights) = Self::rest();
        let moves: Vec<DAffine3> = Self::pose().iter().zip(Self::binds()).map(|(t, b)| *t * b.inverse()).collect();
        let sum = |(p, w): (&DVec3, &[f64; 4])| (0..3).map(|k| moves[k].transform_point3(*p) * w[k]).sum();
        corners.iter().zip(&weights).map(sum).collect()
    }

    fn read(&self) -> Contents {
        let mut made = Made::default();
        let root = self.root(&mut made);
        made.read(root)
    }

    fn root(&self, made: &mut Made) -> Value {
        let (corners, weights) = Self::rest();
        let bound: Vec<f64> = corners.iter().flat_map(|p| self.bound.transform_point3(*p).to_array()).collect();
        let joints: Vec<u8> =
            corners.iter().flat_map(|_| if self.idle { [1, 2, 3, 0] } else { [0, 1, 2, 0] }).collect();
        let attributes = json!({
            "POSITION": made.floats("VEC3", corners.len(), &bound),
            "JOINTS_0": made.bytes("VEC4", corners.len(), &joints),
            "WEIGHTS_0": made.floats("VEC4", corners.len(), weights.as_flattened()),
        });
        let column = |m: DAffine3| json!(DMat4::from(m).to_cols_array());
        let (unit, pose) = (scale(self.unit), Self::pose());
        let above = self.above.iter().fold(DAffine3::IDENTITY, |all, m| all * *m);
        let mut mesh_node = self.mesh_node.clone();
        (mesh_node["mesh"], mesh_node["skin"]) = (json!(0), json!(0));
        let mut nodes = vec![mesh_node];
        for (at, node) in self.above.iter().enumerate() {
            nodes.push(json!({ "name": format!("above{at}"), "matrix": column(*node), "children": [nodes.len() + 1] }));
        }
        let mut first = above.inverse() * pose[0] * unit;
        let (mut joints, mut inverse) = (Vec::new(), Vec::new());
        if self.idle {
            joints.push(nodes.len());
            inverse.push(DAffine3::IDENTITY);
            nodes.push(json!({ "name": "idle", "children": [nodes.len() + 1] }));
        }
        for (at, bind) in Self::binds().iter().enumerate() {
            if at > 0 {
                first = (pose[at - 1] * unit).inverse() * pose[at] * unit;
            }
            joints.push(nodes.len());
            inverse.push((self.bound * *bind * unit).inverse());
            let children = if at < 2 { vec![nodes.len() + 1] } else { vec![] };
            let mut node = json!({ "name": format!("joint{at}"), "matrix": column(first) });
            if at < 2 {
                node["children"] = json!(children);
            }
            nodes.push(node);
        }
        json!({
            "nodes": nodes,
            "meshes": [{ "primitives": [{ "attributes": attributes }] }],
            "skins": [{ "joints": joints, "inverseBindMatrices": made.matrices(&inverse) }],
        })
    }
}

/// The skin in a pose.
fn skin(contents: &Contents, pose: &WorldPose) -> Vec<DVec3> {
    let (mesh, skeleton) = (contents.mesh.as_ref().unwrap(), contents.skeleton.as_ref().unwrap());
    let (weights, moves) = (contents.weights.as_ref().unwrap(), skeleton.bone_transforms(pose));
    let at =
        |(v, p): (usize, &DVec3)| weights.of(v).iter().map(|(bone, w)| moves[*bone].transform_point3(*p) * *w).sum();
    mesh.positions.iter().enumerate().map(at).collect()
}

fn expect_close(found: &[DVec3], told: &[DVec3], tolerance: f64, what: &str) {
    assert_eq!(found.len(), told.len());
    let worst = found.iter().zip(told).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    assert!(worst < tolerance, "{what}: {worst}");
}

#[test]
fn the_rest_is_the_character_as_the_file_shows_it() {
    let upright = |above: Vec<DAffine3>, bound: DAffine3, unit: f64| Figure { above, bound, unit, ..Figure::default() };
    let strange = [
        DAffine3::from_translation(DVec3::new(3.0, -1.0, 2.0)) * turn(0.3, 2.8, -0.5) * scale(0.0254),
        turn(1.0, 0.2, 0.4),
    ];
    let cases = [
        ("bound in the world", upright(vec![], DAffine3::IDENTITY, 1.0)),
        ("a scale above", upright(vec![scale(0.01)], scale(100.0), 0.01)),
        ("a turn above", upright(vec![turn(BACK, 0.0, 0.0)], turn(-BACK, 0.0, 0.0), 1.0)),
        (
            "bound in the world below turned nodes",
            upright(vec![turn(BACK, 0.0, 0.0), scale(0.01)], DAffine3::IDENTITY, 0.01),
        ),
        (
            "turned and scaled in turn",
            Figure {
                idle: true,
                ..upright(
                    vec![turn(-BACK, 0.0, 0.0), turn(2.0 * BACK, 0.0, 0.0) * scale(0.01), scale(100.0)],
                    z_up_cm(),
                    0.01,
                )
            },
        ),
        ("units in the joints alone", upright(vec![turn(BACK, 0.0, 0.0)], z_up_cm(), 0.01)),
        ("units in the bind matrices alone", upright(vec![turn(BACK, 0.0, 0.0)], z_up_cm(), 1.0)),
        ("inches, askew and elsewhere", upright(strange.to_vec(), (strange[0] * strange[1]).inverse(), 0.0254)),
        ("the space of the upper of two nodes", upright(strange.to_vec(), strange[0].inverse(), 1.0)),
        (
            "mirrored above",
            upright(
                vec![DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0))],
                DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0)),
                1.0,
            ),
        ),
        (
            "a scale at the mesh, which says nothing",
            Figure {
                mesh_node: json!({ "scale": [7, 7, 7], "rotation": [1, 0, 0, 0], "translation": [1, 2, 3] }),
                ..upright(vec![turn(BACK, 0.0, 0.0) * scale(0.01)], z_up_cm(), 0.01)
            },
        ),
    ];
    for (what, figure) in cases {
        let found = figure.read();
        expect_close(&found.mesh.as_ref().unwrap().positions, &Figure::rest().0, FLOAT, what);
        let pose = found.default_pose.clone().unwrap();
        expect_close(&skin(&found, &pose), &Figure::shown(), FLOAT, what);
        assert_eq!(count(&found, Flaw::UnevenScale), 0, "{what}");
        // No bone changes its size between rest and pose, also one that carries nothing.
        let moves = found.skeleton.as_ref().unwrap().bone_transforms(&pose);
        for k in 0..found.skeleton.as_ref().unwrap().len() {
            assert!((moves[bone(k)].matrix3.determinant().abs() - 1.0).abs() < 1e-4, "{what}: bone {k}");
        }

        // What is written shows the same, and rests there again.
        let scene = GlbScene {
            mesh: found.mesh.as_ref(),
            skeleton: found.skeleton.as_ref(),
            weights: found.weights.as_ref(),
            default_pose: found.default_pose.as_ref(),
            ..GlbScene::default()
        };
        let again = alone(&to_bytes(|out| write_glb(&scene, out)).unwrap()).unwrap();
        expect_close(&again.mesh.as_ref().unwrap().positions, &Figure::rest().0, FLOAT, what);
        expect_close(&skin(&again, again.default_pose.as_ref().unwrap()), &Figure::shown(), FLOAT, what);
    }
}

#[test]
fn a_figure_that_rests_lying_in_every_space_of_its_file_stands_as_its_topmost_joint_does() {
    // No node above the skeleton turns it: the topmost joint does, as some exporters write axes and units.
    let found = Figure { bound: z_up_cm(), ..Figure::default() }.read();
    let mesh = found.mesh.as_ref().unwrap();
    let (low, high) = mesh.bounds();
    // The topmost joint leans by 0.18: the rest does as well.
    assert!((high - low).y > 1.65 && (high - low).y < 1.85 && (high - low).z < 0.7, "{low} {high}");
    expect_close(&skin(&found, found.default_pose.as_ref().unwrap()), &Figure::shown(), FLOAT, "shown");
}

#[test]
fn an_uneven_scale_above_is_counted_and_shown() {
    let above = DAffine3::from_scale(DVec3::new(1.0, 2.0, 0.5)) * turn(0.0, 0.0, 0.2);
    // The figure itself stands below that node: what the file shows is stretched.
    let mut made = Made::default();
    let mut root = Figure { above: vec![DAffine3::IDENTITY], ..Figure::default() }.root(&mut made);
    root["nodes"][1]["matrix"] = json!(DMat4::from(above).to_cols_array());
    let found = made.read(root);
    assert_eq!(count(&found, Flaw::UnevenScale), 1);
    let stretched = |points: Vec<DVec3>| points.iter().map(|p| above.transform_point3(*p)).collect::<Vec<_>>();
    expect_close(&found.mesh.as_ref().unwrap().positions, &stretched(Figure::rest().0), 2.0 * FLOAT, "rest");
    expect_close(
        &skin(&found, found.default_pose.as_ref().unwrap()),
        &stretched(Figure::shown()),
        2.0 * FLOAT,
        "shown",
    );
}

#[test]
fn a_scale_above_that_is_animated_scales_the_figure() {
    let mut made = Made::default();
    let mut root =
        Figure { above: vec![scale(0.01)], bound: scale(100.0), unit: 0.01, ..Figure::default() }.root(&mut made);
    root["nodes"][1].as_object_mut().unwrap().remove("matrix");
    root["nodes"][1]["scale"] = json!([0.01, 0.01, 0.01]);
    let times = made.floats("SCALAR", 2, &[0.0, 1.0]);
    let keys = made.floats("VEC3", 2, &[0.01, 0.01, 0.01, 0.03, 0.03, 0.03]);
    root["animations"] = json!([{
        "samplers": [{ "input": times, "output": keys }],
        "channels": [{ "sampler": 0, "target": { "node": 1, "path": "scale" } }],
    }]);
    let found = made.read(root);
    expect_close(&found.mesh.as_ref().unwrap().positions, &Figure::rest().0, FLOAT, "rest");
    let twice: Vec<DVec3> = Figure::shown().iter().map(|p| *p * 2.0).collect();
    expect_close(&skin(&found, &(found.clips[0].sample)(0.5).pose), &twice, 2.0 * FLOAT, "half way");
}

fn push(root: &mut Value, list: &str, what: Value) {
    root[list].as_array_mut().unwrap().push(what);
}

/// A hat on one joint of the body and an eye on a joint of its own below it, each with a skin in another space.
#[test]
fn skins_of_one_joint_rest_with_the_body() {
    let mut made = Made::default();
    let figure = Figure { above: vec![turn(BACK, 0.0, 0.0)], bound: turn(-BACK, 0.0, 0.0), ..Figure::default() };
    let mut root = figure.root(&mut made);
    // Nodes: 0 mesh, 1 above, 2..5 joints, 5 eye, 6 hat, 7 eyeball.
    let places = [DVec3::new(0.0, 1.75, 0.0), DVec3::new(0.05, 1.6, 0.1)];
    let binds = Figure::binds();
    let eye = binds[2] * DAffine3::from_translation(DVec3::new(0.05, 0.2, 0.1));
    let units = [scale(39.37), turn(-BACK, 0.0, 0.0)];
    for (at, ((place, bind), bound)) in places.into_iter().zip([binds[2], eye]).zip(units).enumerate() {
        let corners =
            [place, place + DVec3::X * 0.02, place + DVec3::Z * 0.02].map(|p| bound.transform_point3(p).to_array());
        let attributes = json!({
            "POSITION": made.floats("VEC3", 3, corners.as_flattened()),
            "JOINTS_0": made.bytes("VEC4", 3, &[0; 12]),
            "WEIGHTS_0": made.floats("VEC4", 3, &[1.0, 0.0, 0.0, 0.0].repeat(3)),
        });
        let skin = json!({ "joints": [4 + at], "inverseBindMatrices": made.matrices(&[(bound * bind).inverse()]) });
        push(&mut root, "meshes", json!({ "primitives": [{ "attributes": attributes }] }));
        push(&mut root, "skins", skin);
    }
    root["nodes"][4]["children"] = json!([5]);
    let below = DMat4::from(binds[2].inverse() * eye).to_cols_array();
    push(&mut root, "nodes", json!({ "name": "eye", "matrix": below }));
    for at in 1..3 {
        push(&mut root, "nodes", json!({ "mesh": at, "skin": at }));
    }
    let found = made.read(root);
    let (mesh, skeleton) = (found.mesh.as_ref().unwrap(), found.skeleton.as_ref().unwrap());
    assert_eq!((skeleton.len(), count(&found, Flaw::BindDisagrees)), (4, 0), "{:?}", found.warnings);
    let body = Figure::rest().0;
    expect_close(&mesh.positions[..body.len()], &body, FLOAT, "body");
    for (at, place) in places.into_iter().enumerate() {
        let corner = mesh.positions[body.len() + 3 * at];
        assert!(corner.distance(place) < FLOAT, "{at}: {corner} {place}");
    }
    let upright = DMat3::from_quat(DQuat::from_mat3(&skeleton.bind()[bone(3)].matrix3));
    assert!(upright.abs_diff_eq(eye.matrix3, 1e-4), "the eye's bone");
}
