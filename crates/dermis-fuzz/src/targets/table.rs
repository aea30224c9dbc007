//! Driver tables: bytes, and tables whose JSON is changed. What is read is evaluated and written again.

use crate::memory::{PLAIN, bounded};
use crate::{json, seeds};
use dermis_io::driver_table::{self, Table, read_helpers, read_joints};
use dermis_io::to_bytes;
use dermis_rig::glam::DAffine3;
use dermis_rig::{BoneTransforms, IndexVec};
use dermis_testkit::Arm;
use std::sync::OnceLock;

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::tables()
}

/// Takes the bytes as a table of a joint model, and as one of helper bones.
pub fn bytes(bytes: &[u8]) {
    if let Ok(table) = bounded(bytes.len(), PLAIN, || read_joints(bytes)) {
        let turned = DAffine3::from_rotation_y(0.4);
        let world = IndexVec::new(table.bones.iter().map(|_| turned).collect());
        let z = table.coordinates(&table.bone_transforms(&world));
        let weights = table.weights(&z);
        assert_eq!(weights.len(), table.shapes.len(), "a weight for every shape");
        let written = to_bytes(|out| driver_table::write(Table::Joints(&table), "again", out)).expect("a table");
        assert_eq!(read_joints(&written).expect("a table that was written is read"), table);
    }
    if let Ok(table) = bounded(bytes.len(), PLAIN, || read_helpers(bytes)) {
        let arm = Arm::new(2, 3);
        let bones = arm.rig.skeleton().len();
        let pose = BoneTransforms::new((0..bones).map(|b| DAffine3::from_rotation_z(0.5 * b as f64)).collect());
        assert_eq!(table.evaluate(arm.rig.skeleton(), &pose).len(), table.helpers.len());
        let written = to_bytes(|out| driver_table::write(Table::Helpers(&table), "again", out)).expect("a table");
        assert_eq!(read_helpers(&written).expect("a table that was written is read"), table);
    }
}

/// Changes one of the seeds.
pub fn edits(script: &[u8]) {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    bytes(&json::edited(GOOD.get_or_init(seeds::tables), script));
}
