//! A runner gives the bits of `Baked::evaluate`, and refuses what does not suit its model.

use dermis_deform::baked::Normals;
use dermis_deform::{Base, Deformer, MeshNormals, PoseError, Scratch};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::Vec3;
use dermis_testkit::{Random, Tree, models};

#[test]
fn a_runner_has_the_bits_of_evaluate() {
    let mut random = Random::new(7);
    let tree = Tree::new(7, 100, 70);
    let triangles: Vec<[u32; 3]> = (2..tree.rig.mesh().positions.len() as u32).map(|v| [v - 2, v - 1, v]).collect();
    let poses = models::poses(&tree, &mut random);
    for (name, deformer) in models::models(&tree, &mut random) {
        let baked = deformer.bake();
        let mesh = Normals::Mesh(MeshNormals::new(&triangles, baked.vertices()).unwrap());
        let mut runner = baked.runner().with_normals(&triangles).unwrap();
        assert_eq!(runner.normals().len(), baked.vertices());
        let given: Vec<Vec3> = tree.rig.mesh().positions.iter().map(|p| p.as_vec3()).collect();
        for pose in &poses {
            let (mut skin, mut normals) = (given.clone(), given.clone());
            let mut scratch = Scratch::default();
            let guarded =
                baked.evaluate_with_normals(pose, Some(&given), &mesh, &mut scratch, &mut skin, &mut normals).unwrap();
            assert_eq!(runner.skin_over(pose, &given).unwrap(), skin, "{name}");
            assert_eq!(runner.guarded(), guarded, "{name}");
            assert_eq!(runner.normals(), normals, "{name}");
            if !baked.needs_given() {
                assert_eq!(runner.skin(pose).unwrap(), skin, "{name}");
            }
        }
    }
}

#[test]
fn what_does_not_suit_the_model_is_refused() {
    let mut random = Random::new(8);
    let tree = Tree::new(7, 100, 70);
    let bones = tree.rig.skeleton().len();
    for (name, deformer) in models::models(&tree, &mut random) {
        let baked = deformer.bake();
        let named = baked.bones().number();
        assert!(named <= bones, "{name}");
        if named > 0 {
            let short = BoneTransforms::identity(named - 1);
            let refused = Err(PoseError::Bones { expected: named, found: named - 1 });
            assert_eq!(baked.runner().skin(&short), refused, "{name}");
        }
    }
    let rest = tree.rig.mesh().positions.clone();
    let (expected, pose) = (rest.len(), BoneTransforms::identity(bones));
    let given = Deformer::new(rest, Base::Given, None).unwrap().bake();
    assert_eq!(given.runner().skin(&pose), Err(PoseError::NeedsGiven));
    assert_eq!(given.runner().skin_over(&pose, &[]), Err(PoseError::Given { expected, found: 0 }));
    assert!(given.runner().with_normals(&[[0, 1, expected as u32]]).is_err());
}
