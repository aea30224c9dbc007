//! Stacks as maps of single vertices.

use dermis_deform::StackPose;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_testkit::{Random, Tree, models};

/// Oracle: central differences of the map itself, through every kind of layer.
#[test]
fn the_linear_part_is_the_derivative_of_the_map() {
    let tree = Tree::new(5, 60, 40);
    let stack = models::stack(&tree, &mut Random::new(41));
    for transforms in tree.poses(4, 1.5, 42) {
        let mut pose = StackPose::default();
        pose.prepare(&stack, &transforms);
        for (v, &p) in tree.rig.mesh().positions.iter().enumerate() {
            let step = 1e-5;
            let columns = DVec3::AXES
                .map(|axis| (stack.at(&pose, v, p + axis * step) - stack.at(&pose, v, p - axis * step)) / (2.0 * step));
            let [x, y, z] = columns;
            // Curvature spoils a difference by 1e-10 times the third derivative, rounding by 1e-16 / 1e-5.
            let expected = DMat3::from_cols(x, y, z);
            assert!(stack.linear(&pose, v, p).abs_diff_eq(expected, 1e-7), "vertex {v}");
        }
    }
}

/// The memory of a pose serves any stack: what an earlier stack left in it does not matter.
#[test]
fn the_memory_of_a_pose_may_come_from_another_stack() {
    let (one, other) = (Tree::new(4, 20, 43), Tree::new(6, 20, 44));
    let mut kept = StackPose::default();
    for tree in [&one, &other, &one] {
        let stack = models::stack(tree, &mut Random::new(45));
        let transforms = &tree.poses(2, 1.0, 46)[1];
        let mut fresh = StackPose::default();
        fresh.prepare(&stack, transforms);
        kept.prepare(&stack, transforms);
        let p = DVec3::new(0.1, 0.2, -0.3);
        assert_eq!(stack.at(&kept, 7, p), stack.at(&fresh, 7, p));
    }
}
