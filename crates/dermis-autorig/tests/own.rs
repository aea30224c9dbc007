//! Rigs as templates, and the template of a hand, on shapes whose joints are known.
//!
//! `cargo test -p dermis-autorig --test own -- --nocapture` prints the figures of docs/rig.md.

use dermis_autorig::{AutoRig, AutoRigSettings, Template, autorig};
use dermis_io::npz;
use dermis_rig::glam::{DAffine3, DMat3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneVec, Influences, Mesh, Progress, Rig, Skeleton};
use dermis_testkit::bodies::{Planted, hand, quadruped};
use std::ops::ControlFlow;
use std::path::Path;

const SILENT: Progress<'static> = &|_, _| ControlFlow::Continue(());

/// Joints by name.
type Joints = Vec<(String, DVec3)>;

/// How far joints are from where they should be, over the limbs that they belong to.
struct Errors {
    mean: f64,
    worst: f64,
    worst_joint: String,
}

fn errors(rig: &AutoRig, truth: &[(String, DVec3)], limb: &dyn Fn(&str) -> f64) -> Errors {
    let all: Vec<(f64, &str)> = truth
        .iter()
        .map(|(name, place)| {
            let found = rig.joints.iter().find(|j| j.name == *name).unwrap_or_else(|| panic!("{name} is missing"));
            (found.place.distance(*place) / limb(name), name.as_str())
        })
        .collect();
    let worst = all.iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    let mean = all.iter().map(|(e, _)| e).sum::<f64>() / all.len() as f64;
    Errors { mean, worst: worst.0, worst_joint: worst.1.to_owned() }
}

fn tell(what: &str, errors: &Errors, rig: &AutoRig) {
    println!(
        "{what}: mean {:.1} %, worst {:.1} % ({}), outside {:.1} %, bones {}",
        100.0 * errors.mean,
        100.0 * errors.worst,
        errors.worst_joint,
        100.0 * rig.report.outside.as_ref().map_or(0.0, |(_, share)| *share),
        rig.joints.len()
    );
}

/// Joints are finite, weights sum to one at every vertex, and there is a bone for every joint of the template.
fn is_whole(rig: &AutoRig, mesh: &Mesh, template: &Template, what: &str) {
    assert_eq!(rig.weights.vertices(), mesh.positions.len(), "{what}");
    for (v, row) in rig.weights.rows().enumerate() {
        let sum: f64 = row.iter().map(|(_, w)| *w).sum();
        assert!(row.iter().all(|(_, w)| *w >= 0.0) && (sum - 1.0).abs() < 1e-9, "{what}: {v}: {row:?}");
    }
    assert!(rig.joints.iter().all(|j| j.place.is_finite()), "{what}");
    let names: Vec<&str> = template.joints.iter().map(|j| j.name.as_str()).collect();
    let made: Vec<&str> = rig.skeleton.names().iter().map(String::as_str).collect();
    assert_eq!((made, rig.report.missing.len()), (names, 0), "{what}");
}

/// The length of the finger that a joint of a hand is on, from its first joint to its tip; of the wrist, the length of the hand.
fn finger(planted: &Planted, joint: &str) -> f64 {
    let of = |name: &str| planted.joints.iter().find(|(n, _)| n == name).map(|(_, p)| *p);
    let Some(name) = joint.strip_suffix(|c: char| c.is_ascii_digit()) else { return planted.limb };
    let places: Vec<DVec3> = (1..=3).filter_map(|k| of(&format!("{name}{k}"))).collect();
    let tip = planted.tips.iter().find(|(n, _)| *n == format!("{name}3")).unwrap().1;
    places.windows(2).map(|w| w[0].distance(w[1])).sum::<f64>() + places[2].distance(tip)
}

/// Oracle: the joints that the hand was made around, as a left and as a right hand, turned anyhow.
#[test]
fn hands_are_found() {
    let template = Template::named("hand").unwrap();
    for (fingers, curl, fan, mirrored, turn) in [
        (1.0, 0.0, 7.0, false, 0.0),
        (1.0, 0.0, 10.0, true, 1.0),
        (0.85, 4.0, 8.0, false, 2.0),
        (1.15, 8.0, 9.0, true, 3.0),
        (1.0, 14.0, 8.0, false, 0.5),
    ] {
        let mut planted = hand(fingers, curl, fan);
        let rotation = DQuat::from_axis_angle(DVec3::new(0.3, 1.0, 0.5).normalize(), turn);
        let image = DVec3::new(if mirrored { -1.0 } else { 1.0 }, 1.0, 1.0);
        let moved = |p: &mut DVec3| *p = rotation * (*p * image);
        planted.mesh.positions.iter_mut().for_each(moved);
        planted.joints.iter_mut().chain(&mut planted.tips).for_each(|(_, p)| moved(p));
        let what = format!("hand, fingers {fingers}, curl {curl}°, fan {fan}°, right {mirrored}");
        let rig = autorig(&planted.mesh, &template, &AutoRigSettings::default(), SILENT).unwrap();
        is_whole(&rig, &planted.mesh, &template, &what);
        let found = errors(&rig, &planted.joints, &|joint| finger(&planted, joint));
        tell(&what, &found, &rig);
        assert!(found.mean < 0.06 && found.worst < 0.16, "{what}: {} at worst", found.worst_joint);
    }
}

/// Oracle: the artist's joints of the hands of the bundled body, cut off in the middle of the forearm; the cut is open.
#[test]
fn the_hands_of_the_body_are_found() {
    let template = Template::named("hand").unwrap();
    let rig = body();
    let (skeleton, weights) = (rig.skeleton(), rig.weights().unwrap());
    for letter in ["l", "r"] {
        let head = |name: &str| skeleton.bind()[skeleton.find(&format!("{name}_{letter}")).unwrap()].translation;
        let (elbow, wrist) = (head("lowerarm"), head("hand"));
        let is_hand = |v: u32| {
            let is_of = |b: BoneIndex| {
                let name = &skeleton.names()[b];
                name.ends_with(&format!("_{letter}"))
                    && ["lowerarm", "hand", "thumb", "index", "middle", "ring", "pinky"]
                        .iter()
                        .any(|w| name.starts_with(w))
            };
            let own: f64 = weights.of(v as usize).iter().filter(|(b, _)| is_of(*b)).map(|(_, w)| *w).sum();
            let p = rig.mesh().positions[v as usize];
            own > 0.5 && (p - elbow).dot(wrist - elbow) > 0.6 * elbow.distance_squared(wrist)
        };
        let triangles = rig.mesh().triangles.iter().filter(|t| t.iter().all(|v| is_hand(*v))).copied().collect();
        let mesh = Mesh { positions: rig.mesh().positions.clone(), triangles, ..Mesh::default() };
        let made = autorig(&mesh, &template, &AutoRigSettings::default(), SILENT).unwrap();
        let truth: Joints =
            template.joints.iter().filter(|j| j.name != "lowerarm").map(|j| (j.name.clone(), head(&j.name))).collect();
        // A finger goes to where its skin is farthest from the last joint.
        let tip = |name: &str| {
            let bone = skeleton.find(&format!("{name}_{letter}")).unwrap();
            let own = (0..mesh.positions.len()).filter(|v| weights.dominant(*v) == Some(bone));
            let far = |v: &usize| mesh.positions[*v].distance(head(name));
            mesh.positions[own.max_by(|a, b| far(a).total_cmp(&far(b))).unwrap()]
        };
        let tips: Joints =
            truth.iter().filter(|(name, _)| name.ends_with("03")).map(|(name, _)| (name.clone(), tip(name))).collect();
        let middle = tips.iter().find(|(name, _)| name == "middle_03").unwrap().1;
        let what = format!("hand of the body, {letter}");
        is_whole(&made, &mesh, &template, &what);
        let planted = Planted { mesh, joints: truth, limb: head("hand").distance(middle), tips };
        let found = errors(&made, &planted.joints, &|joint| finger(&planted, joint));
        tell(&what, &found, &made);
        assert!(found.mean < 0.14 && found.worst < 0.3, "{what}: {} at worst", found.worst_joint);
    }
}

/// The bundled body.
fn body() -> Rig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/body/body_exercise.npz");
    let contents = npz::read(&std::fs::read(path).unwrap(), "body").unwrap();
    Rig::new(contents.mesh.unwrap(), contents.skeleton.unwrap(), contents.weights).unwrap()
}

/// A rig with limbs of other lengths: bones named in `stretched` are longer by a factor along themselves, the skin with them, and what hangs on them is
/// moved. Gives the skin and the joints.
fn with_limbs(rig: &Rig, stretched: &[(&str, f64)]) -> (Mesh, Joints) {
    let (skeleton, mesh) = (rig.skeleton(), rig.mesh());
    let head = |b: BoneIndex| skeleton.bind()[b].translation;
    let mut maps: BoneVec<DAffine3> = BoneVec::new(vec![DAffine3::IDENTITY; skeleton.len()]);
    for bone in skeleton.bones() {
        let at = skeleton.parents()[bone].map_or(head(bone), |p| maps[p].transform_point3(head(bone)));
        let factor = stretched.iter().find(|(name, _)| skeleton.names()[bone].starts_with(name)).map_or(1.0, |f| f.1);
        let child = skeleton.bones().find(|c| skeleton.parents()[*c] == Some(bone)).filter(|_| factor != 1.0);
        let along = child.map_or(DVec3::ZERO, |c| (head(c) - head(bone)).normalize());
        let grown = along * (factor - 1.0);
        let matrix3 = DMat3::IDENTITY + DMat3::from_cols(grown * along.x, grown * along.y, grown * along.z);
        maps[bone] = DAffine3 { matrix3, translation: at - matrix3 * head(bone) };
    }
    let weights = rig.weights().unwrap();
    let moved = |v: usize| -> DVec3 {
        let p = mesh.positions[v];
        weights.of(v).iter().map(|(b, w)| maps[*b].transform_point3(p) * *w).sum()
    };
    let positions = (0..mesh.positions.len()).map(moved).collect();
    let joints = skeleton.bones().map(|b| (skeleton.names()[b].clone(), maps[b].transform_point3(head(b)))).collect();
    (Mesh { positions, ..mesh.clone() }, joints)
}

/// The length of the limb that a joint of the body is on.
fn limb_of_body(joints: &[(String, DVec3)], joint: &str) -> f64 {
    let of = |name: &str| joints.iter().find(|(n, _)| n == name).unwrap().1;
    let along = |names: &[&str]| -> f64 { names.windows(2).map(|w| of(w[0]).distance(of(w[1]))).sum() };
    let is_of = |words: &[&str]| words.iter().any(|word| joint.starts_with(word));
    match () {
        () if is_of(&["clavicle", "upperarm", "lowerarm", "hand"]) => along(&["upperarm_l", "lowerarm_l", "hand_l"]),
        () if is_of(&["thigh", "calf", "foot", "ball"]) => along(&["thigh_l", "calf_l", "foot_l"]),
        () => along(&["pelvis", "head"]),
    }
}

/// The joints that are looked for; fingers ride along.
const BODY: [&str; 19] = [
    "pelvis",
    "neck_01",
    "head",
    "clavicle_l",
    "clavicle_r",
    "upperarm_l",
    "upperarm_r",
    "lowerarm_l",
    "lowerarm_r",
    "hand_l",
    "hand_r",
    "thigh_l",
    "thigh_r",
    "calf_l",
    "calf_r",
    "foot_l",
    "foot_r",
    "ball_l",
    "ball_r",
];

/// Oracle: the artist's joints, moved with limbs that grow and shrink.
#[test]
fn a_rig_is_a_template_for_its_own_mesh_and_other_proportions() {
    let own = body();
    let template = Template::of_rig(&own, "body").unwrap();
    let arms_and_legs =
        |arms: f64, legs: f64| [("upperarm", arms), ("lowerarm", arms), ("thigh", legs), ("calf", legs)];
    for (what, stretched, most) in [
        ("the body itself", &[][..], 0.05),
        ("arms 1.25, legs 0.8", &arms_and_legs(1.25, 0.8), 0.05),
        ("arms 0.85, legs 1.15", &arms_and_legs(0.85, 1.15), 0.07),
        ("forearms 1.4, shins 0.75", &[("lowerarm", 1.4), ("calf", 0.75)], 0.08),
    ] {
        let (mesh, joints) = with_limbs(&own, stretched);
        let rig = autorig(&mesh, &template, &AutoRigSettings::default(), SILENT).unwrap();
        is_whole(&rig, &mesh, &template, what);
        let truth: Joints = joints.iter().filter(|(name, _)| BODY.contains(&name.as_str())).cloned().collect();
        assert_eq!(truth.len(), BODY.len());
        let found = errors(&rig, &truth, &|joint| limb_of_body(&joints, joint));
        tell(what, &found, &rig);
        assert!(found.mean < most && found.worst < 0.14, "{what}: {} at worst", found.worst_joint);
        let fingers = ["thumb", "index", "middle", "ring", "pinky"];
        let riders: Joints =
            joints.iter().filter(|(name, _)| fingers.iter().any(|f| name.starts_with(f))).cloned().collect();
        let carried = errors(&rig, &riders, &|_| limb_of_body(&joints, "hand_l"));
        assert_eq!(riders.len(), 30);
        tell("  fingers that ride along, over the arm", &carried, &rig);
        assert!(carried.mean < 0.08, "{what}: {} at worst", carried.worst_joint);
    }
}

/// A quadruped of capsules with a skeleton of its own: every vertex follows the nearest bone.
fn quadruped_rig(legs: f64, neck: f64, rename: &dyn Fn(&str) -> String) -> (Rig, Joints, f64) {
    let planted = quadruped(legs, neck, true);
    let of = |name: &str| planted.joints.iter().find(|(n, _)| n == name).unwrap().1;
    let (hip, shoulder) = (of("hind_upper_leg_l"), of("front_upper_leg_l"));
    let hips = DVec3::new(0.0, hip.y + 0.04, hip.z);
    let chest = DVec3::new(0.0, shoulder.y + 0.05, shoulder.z);
    let mut rows: Vec<(String, Option<&str>, DVec3, DVec3)> = vec![
        ("hips".into(), None, hips, chest),
        ("chest".into(), Some("hips"), chest, chest + DVec3::new(0.0, 0.06, 0.06)),
        ("neck".into(), Some("chest"), chest + DVec3::new(0.0, 0.06, 0.06), of("head")),
        ("head".into(), Some("neck"), of("head"), of("head") + DVec3::new(0.0, -0.04, 0.2)),
        ("tail".into(), Some("hips"), hips + DVec3::new(0.0, 0.05, -0.08), hips + DVec3::new(0.0, -0.06, -0.5)),
    ];
    let chains = [
        ["chest", "front_upper_leg", "front_lower_leg", "front_foot"],
        ["hips", "hind_upper_leg", "hind_lower_leg", "hind_foot"],
    ];
    for letter in ["l", "r"] {
        for chain in &chains {
            for k in 1..4 {
                let name = |k: usize| format!("{}_{letter}", chain[k]);
                let at = of(&name(k));
                let toe = DVec3::new(at.x, 0.025, at.z + if chain[0] == "hips" { 0.08 } else { 0.06 });
                rows.push((name(k), Some(chain[k - 1]), at, if k < 3 { of(&name(k + 1)) } else { toe }));
            }
        }
    }
    let find = |parent: &str, child: &str| {
        let sided = format!("{parent}_{}", child.chars().last().unwrap());
        rows.iter().position(|row| row.0 == parent || row.0 == sided).map(BoneIndex::new)
    };
    let parents = rows.iter().map(|row| row.1.and_then(|parent| find(parent, &row.0))).collect();
    let bind = rows.iter().map(|row| DAffine3::from_translation(row.2)).collect();
    let skeleton = Skeleton::new(rows.iter().map(|row| rename(&row.0)).collect(), parents, bind).unwrap();
    let nearest = |p: &DVec3| {
        let far = |row: &(String, Option<&str>, DVec3, DVec3)| {
            let along = row.3 - row.2;
            let t = ((*p - row.2).dot(along) / along.length_squared()).clamp(0.0, 1.0);
            p.distance(row.2 + along * t)
        };
        let bone = (0..rows.len()).min_by(|a, b| far(&rows[*a]).total_cmp(&far(&rows[*b]))).unwrap();
        vec![(BoneIndex::new(bone), 1.0)]
    };
    let weights = Influences::from_rows(planted.mesh.positions.iter().map(nearest)).unwrap();
    let joints = rows.iter().map(|row| (rename(&row.0), row.2)).collect();
    (Rig::new(planted.mesh, skeleton, Some(weights)).unwrap(), joints, planted.limb)
}

/// Oracle: the joints that animals were made around; the template is one of them, with names that say what bones are, and with names that say nothing.
#[test]
fn a_rigged_animal_is_a_template_for_others() {
    let said = |name: &str| name.to_owned();
    let unsaid = |name: &str| {
        let at = name.bytes().fold(17_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        format!("bone{}", at % 100_000)
    };
    for (names, rename, most) in [("named", &said as &dyn Fn(&str) -> String, 0.08), ("unnamed", &unsaid, 0.11)] {
        let (own, _, _) = quadruped_rig(1.0, 40.0, rename);
        let template = Template::of_rig(&own, "animal").unwrap();
        for (legs, neck) in [(1.0, 40.0), (1.3, 60.0), (0.8, 20.0), (1.1, 75.0)] {
            let (other, joints, limb) = quadruped_rig(legs, neck, rename);
            let what = format!("{names} animal, legs {legs}, neck {neck}°");
            let rig = autorig(other.mesh(), &template, &AutoRigSettings::default(), SILENT).unwrap();
            is_whole(&rig, other.mesh(), &template, &what);
            let found = errors(&rig, &joints, &|_| limb);
            tell(&what, &found, &rig);
            assert!(found.mean < most && found.worst < 0.3, "{what}: {} at worst", found.worst_joint);
            assert!(rig.report.front.z > 0.99, "{what}: {}", rig.report.front);
        }
    }
}
