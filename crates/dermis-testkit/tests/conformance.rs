//! The suite passes what is right, and names what is wrong.

use dermis_deform::{Base, Correction, Deformer, MeshNormals, skinned_normal};
use dermis_rig::glam::{DMat3, DVec3, Vec3};
use dermis_testkit::Tree;
use dermis_testkit::conformance::{Case, Path, Skins, Suite, Wanted};

/// The reference, rounded once, with a fault.
struct Rounded(fn(&Case, &mut Skins));

impl Path for Rounded {
    fn name(&self) -> String {
        "rounded".into()
    }

    fn tolerance(&self) -> f64 {
        1e-9
    }

    fn supports(&self, model: &Deformer, _: Wanted) -> bool {
        !matches!(model.corrections().last(), Some(Correction::Joints(_)))
    }

    fn evaluate(&mut self, case: &Case, wanted: Wanted) -> Option<Skins> {
        let mut skins = Skins { held: Some(vec![]), ..Skins::default() };
        let mut deformer = case.deformer.clone();
        let mesh = MeshNormals::new(&case.triangles, case.vertices()).unwrap();
        for (pose, given) in case.poses.iter().zip(&case.given) {
            let given: Vec<DVec3> = given.iter().map(|p| p.as_dvec3()).collect();
            let mut out = vec![DVec3::NAN; given.len()];
            skins.held.as_mut().unwrap().push(deformer.evaluate(pose, Some(&given), &mut out).unwrap());
            skins.positions.push(out.iter().map(|p| p.as_vec3()).collect());
            let mut normals = vec![Vec3::NAN; out.len()];
            mesh.compute(skins.positions.last().unwrap(), &mut normals);
            if wanted == Wanted::SkinnedNormals {
                let turned = |(v, n): (usize, &DVec3)| {
                    let linear = deformer.base().linear(v, deformer.rest()[v], pose);
                    skinned_normal(*n, &linear, &DMat3::IDENTITY).as_vec3()
                };
                normals = case.rest_normals.iter().enumerate().map(turned).collect();
            }
            skins.normals.push(normals);
        }
        (self.0)(case, &mut skins);
        Some(skins).filter(|_| !matches!(case.deformer.corrections().last(), Some(Correction::Joints(_))))
    }
}

fn suite() -> Suite {
    Suite::in_few_poses(&[Tree::new(6, 40, 1).with_many_influences(2)])
}

#[test]
fn the_reference_itself_passes_and_every_kind_of_model_occurs() {
    let suite = suite();
    for wanted in [Wanted::Positions, Wanted::SkinnedNormals, Wanted::MeshNormals] {
        let report = suite.check(&mut Rounded(|_, _| {}), wanted);
        assert_eq!(report.models + report.refused, suite.cases().len());
        assert!(report.refused > 0 && report.worst.0 <= 1.0);
        assert_eq!(report.normals > 20 * report.models, wanted != Wanted::Positions);
    }
    let has = |wanted: fn(&Deformer) -> bool| suite.cases().iter().any(|case| wanted(&case.deformer));
    assert!(has(|model| matches!(model.base(), Base::RotationalRegression(_)) && model.corrections().is_empty()));
    assert!(has(|model| matches!(model.base(), Base::Given)
        && matches!(model.corrections().last(), Some(Correction::PoseSpace(_)))));
    assert!(has(
        |model| matches!(model.base(), Base::Rest) && matches!(model.corrections().last(), Some(Correction::Shapes(_)))
    ));
}

/// Every correction moves many vertices in every pose but rest, so that agreement means something.
#[test]
fn corrections_move_their_models() {
    let suite = Suite::new(&[Tree::new(13, 67, 3)]);
    for case in suite.cases().iter().filter(|case| !case.deformer.corrections().is_empty()) {
        let (mut whole, mut plain) = (case.deformer.clone(), case.deformer.clone().without_correction());
        for (pose, given) in case.poses.iter().zip(&case.given).skip(1) {
            let given: Vec<DVec3> = given.iter().map(|p| p.as_dvec3()).collect();
            let (mut with, mut without) = (vec![DVec3::NAN; 67], vec![DVec3::NAN; 67]);
            whole.evaluate(pose, Some(&given), &mut with).unwrap();
            plain.evaluate(pose, Some(&given), &mut without).unwrap();
            let moved = with.iter().zip(&without).filter(|(a, b)| a.distance(**b) > 1e-3).count();
            assert!(moved > 10, "{}: {moved} vertices move", case.name);
        }
    }
}

#[test]
#[should_panic(expected = "vertex 17: 3.")]
fn a_position_three_micrometres_off_is_named() {
    suite().check(&mut Rounded(|_, skins| skins.positions[0][17].x += 3e-6), Wanted::Positions);
}

#[test]
#[should_panic(expected = "vertex 5: inf")]
fn a_position_that_is_no_number_is_named() {
    suite().check(&mut Rounded(|_, skins| skins.positions[1][5].z = f32::NAN), Wanted::Positions);
}

#[test]
#[should_panic(expected = "the normal is 2.000e0 off")]
fn a_normal_that_points_inwards_is_named() {
    let flip = |_: &Case, skins: &mut Skins| skins.normals[1].iter_mut().for_each(|n| *n = -*n);
    suite().check(&mut Rounded(flip), Wanted::SkinnedNormals);
}

#[test]
#[should_panic(expected = "the normal is 2.000e0 off")]
fn a_normal_of_the_mesh_that_points_inwards_is_named() {
    let flip = |_: &Case, skins: &mut Skins| skins.normals[1].iter_mut().for_each(|n| *n = -*n);
    suite().check(&mut Rounded(flip), Wanted::MeshNormals);
}

#[test]
#[should_panic(expected = "vertices held, not")]
fn a_wrong_count_of_held_vertices_is_named() {
    suite().check(&mut Rounded(|_, skins| skins.held.as_mut().unwrap()[0] += 2), Wanted::Positions);
}

#[test]
#[should_panic(expected = "refused")]
fn a_model_refused_though_supported_is_named() {
    struct Nothing;
    impl Path for Nothing {
        fn name(&self) -> String {
            "nothing".into()
        }
        fn tolerance(&self) -> f64 {
            1.0
        }
        fn supports(&self, _: &Deformer, _: Wanted) -> bool {
            true
        }
        fn evaluate(&mut self, _: &Case, _: Wanted) -> Option<Skins> {
            None
        }
    }
    suite().check(&mut Nothing, Wanted::Positions);
}
