//! Formats that are text, and what a deformer program says.

use dermis_deform::JointKernel;
use dermis_deform::joints::JointReading;
use dermis_deform::tables::{
    DrivenHelper, DrivingJoint, HelperTable, JointTable, NamedBone, TableBone, TableGravity, TableJoint,
};
use dermis_io::deformer_protocol::{frame, greeting, skin_length};
use dermis_io::driver_table::{self, Table};
use dermis_io::to_bytes;
use dermis_rig::IndexVec;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_workflow::fits::method::Method;
use serde_json::{Value, json};

/// OBJ files, and a sequence of three with zeros between them.
pub fn obj_files() -> Vec<Vec<u8>> {
    let square = "# a square\r\nv 0 0 0 1 .5 0\nv 1 0 0\nv 1 1e0 0\nv 0 1 -0.5\nvt 0 0\nvt 1 1\nusemtl skin\nf 1/1 2/2 \\\n 3/1 4/2\n\
                  f -1 -2 -3\nl 1 2\n";
    // A concave polygon, one with a slit that leads to a hole, and one that crosses itself.
    let odd = "v 2 -1 0\nv .5 0 0\nv 2 1 0\nv 0 0 .1\nv 1.2 0 0\nv 1.6 .1 0\nv 1.6 -.1 0\nvt 0 0\nf 1/1 2/1 3/1 4/1\nf 1 2 3 4 1 7 5 6 7\nf 1 3 2 4\n";
    let frame = |z: f64| format!("v 0 0 {z}\nv 1 0 {z}\nv 0 1 {z}\nf 1//1 2//1 3//1\n");
    let sequence = [0.0, 0.5, 1.0].map(frame).join("\0");
    [square, odd, &frame(0.25), &sequence].map(|text| text.as_bytes().to_vec()).to_vec()
}

/// BVH files: two roots, end sites, every kind of channel; and one without frames.
pub fn bvh_files() -> Vec<Vec<u8>> {
    let two = "HIERARCHY\nROOT hips\n{\n\tOFFSET 0 1 0\n\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n\
               \tJOINT left leg\n\t{\n\t\tOFFSET 0.1 -0.5 0\n\t\tCHANNELS 3 Yrotation Xrotation Zrotation\n\t\tEnd Site\n\t\t{\n\
               \t\t\tOFFSET 0 -0.4 0\n\t\t}\n\t}\n}\nROOT ball { OFFSET 1 0 0 CHANNELS 2 Yposition Yscale End Site { OFFSET 0 0 0 } }\n\
               MOTION\nFrames: 2\nFrame Time: 0.0333333\n0 1 0 10 -20 30 5 15 90 0.5 1\n0 1.1 0 12 -22 170 5 15 90.5 0.25 1\n";
    let bare = "HIERARCHY\r\nROOT a\r\n{\r\nOFFSET 0 0 0\r\n}\r\n";
    [two, bare].map(|text| text.as_bytes().to_vec()).to_vec()
}

/// Takes: TRC with tabs and with spaces, C3D with two markers and one frame, and sights of two cameras.
pub fn takes() -> Vec<Vec<u8>> {
    let trc = "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tNumFrames\tUnits\n60\t2\tmm\nFrame#\tTime\tLKNE\t\t\tRKNE\n\t\tX1\tY1\tZ1\n\n\
               1\t0\t1\t2\t3\t4\t5\t6\n2\t0.0167\t1.5\t2.5\t3.5\t\t\t\n";
    let mut c3d = vec![0_u8; 1024];
    c3d[..2].copy_from_slice(&[2, 0x50]);
    for (word, value) in [(2, 2_u16), (4, 1), (5, 1), (9, 3)] {
        c3d[2 * word - 2..2 * word].copy_from_slice(&value.to_le_bytes());
    }
    c3d[12..16].copy_from_slice(&0.1_f32.to_le_bytes());
    c3d[20..24].copy_from_slice(&60_f32.to_le_bytes());
    c3d[512..516].copy_from_slice(&[0, 0, 1, 84]);
    c3d[516..520].copy_from_slice(&[5, 0xff, b'P', b'O']);
    c3d[520..526].copy_from_slice(&[b'I', b'N', b'T', 3, 0, 0]);
    c3d.extend([1, 0, 2, 0, 3, 0, 0, 0, 4, 0, 5, 0, 6, 0, 0xff, 0xff]);
    let camera = |x: f64| json!({ "name": "A", "matrix": [[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 4]], "frames": [[[0.25, 0.5], null]] });
    let sights = json!({ "rate": 60, "markers": ["a", "b"], "cameras": [camera(0.0), camera(1.0)] });
    let spaces = trc.replace("\t\t\t\n", "\t4.5\t5.5\t6.5\n").replace('\t', " ");
    vec![trc.as_bytes().to_vec(), spaces.into_bytes(), c3d, crate::json::text(&sights)]
}

/// Tables of a joint model and of helper bones.
pub fn tables() -> Vec<Vec<u8>> {
    let bone = |name: &str| NamedBone { name: name.into(), inverse_bind: DAffine3::from_translation(DVec3::X) };
    let joint = TableJoint {
        reading: JointReading::Whole,
        second: vec![],
        from: TableBone::new(0),
        to: TableBone::new(1),
        centre: Some([0.0, 0.5, 0.0]),
        limit: Some(1.5),
        inducing: vec![[0.0; 12], [0.25; 12]],
        inverse_factor: vec![vec![1.0], vec![-0.5, 1.25]],
    };
    let joints = JointTable {
        mesh: "arm".into(),
        length: 0.8,
        kernel: JointKernel { sigma: 1.4, arc_cosine: 0.5 },
        gravity: Some(TableGravity { down: [0.0, -1.0, 0.0], bones: vec![(TableBone::new(1), Some(0.7))] }),
        bones: IndexVec::new(vec![bone("upper arm"), bone("forearm")]),
        joints: vec![joint.clone(), TableJoint { limit: None, reading: JointReading::Swing(DVec3::X), ..joint }],
        shapes: vec!["bulge".into(), "fold".into()],
        sculpts: None,
        matrix: vec![vec![0.5, 0.25, -0.5, 1.0, 0.1, 0.2, 0.3]; 2],
        offset: vec![0.1, -0.1],
        clamp: [-1.0, 1.5],
    };
    let driving = |from: &str, to: &str| DrivingJoint { from: from.into(), to: to.into(), limit: 2.0 };
    let helper = DrivenHelper {
        name: "helper".into(),
        parent: "forearm".into(),
        centre: [0.1, 0.2, 0.3],
        joints: vec![driving("upper arm", "forearm"), driving("forearm", "hand")],
        matrix: vec![vec![0.01; 18]; 12],
    };
    let helpers = HelperTable { length: 0.8, helpers: vec![helper] };
    [Table::Joints(&joints), Table::Helpers(&helpers)]
        .map(|table| to_bytes(|out| driver_table::write(table, "seed", out)).expect("a seed can be written"))
        .to_vec()
}

/// Stacks over the arm, with every kind of deformer.
pub fn stacks() -> Vec<Vec<u8>> {
    let lattice = |parent: Value, outside: &str| {
        json!({ "type": "lattice", "origin": [-1, -1, -1], "axes": [[2, 0, 0], [0, 2, 0], [0, 0, 2]], "counts": [2, 2, 3],
            "displacements": vec![[0.01, 0.02, -0.03]; 12], "parent": parent, "outside": outside })
    };
    let wires = json!({ "type": "wires", "m": 1.5, "wires": [
        { "reference": [[0, 0.1, 0], [0.5, 0.1, 0]], "current": [[0, 0.1, 0], [0.5, 0.2, 0]], "radius": 0.3, "scale": 1.2 },
        { "reference": [[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0.1]], "current": [[0, 0, 0], [0.1, 0.1, 0], [0.2, 0, 0]], "radius": 0.1 }] });
    let stacks = [
        json!({ "stack": [{ "type": "lbs" }] }),
        json!({ "stack": [lattice(Value::Null, "unchanged"), { "type": "dqs" }, lattice(json!("hand"), "clamped")] }),
        json!({ "stack": [wires, { "type": "rigid" }] }),
    ];
    stacks.iter().map(crate::json::text).collect()
}

/// Scenes for the arm: keys of every kind, expressions, a map, layers, goals and limits.
pub fn played_scenes() -> Vec<Vec<u8>> {
    let time = json!({ "to": 0.5, "rate": 8 });
    let eases = ["step", "linear", "bezier", "hermite", "catmull-rom", "tcb"];
    let keys: Vec<Value> = (eases.iter().enumerate())
        .map(|(at, ease)| json!({ "t": at as f64 * 0.1, "v": at % 3, "ease": ease, "tcb": [0.5, 0, -0.5], "slope": 1 }))
        .collect();
    let scenes = [
        json!({ "rig": "arm.glb", "time": time,
            "controls": { "a": { "keys": keys, "before": "mirror", "after": "cycle-offset" }, "b": "a * sin(t) + noise(t, 3)",
                "v": { "keys": [[0, 1, 2, 3], { "t": 1, "v": [0, 1, 0], "left": [0.5, 1, 1, 1], "ease": "bezier" }] } },
            "maps": [{ "from": ["a", "b"], "to": ["c", "d"], "examples": [{ "at": [0, 0], "give": [0, 1] }, { "at": [1, 2], "give": [1, 1] }] },
                { "from": ["a"], "to": ["f"], "examples": [{ "at": [0], "give": [0] }, { "at": [1], "give": [1] }], "between": "linear" }],
            "bones": { "*": { "turn": [0, "10 * c", "i / n"], "size": "1.1 + 0.1 * f" },
                "hand": { "from": "rest", "axes": "world", "turn": { "axis": [0, 1, 1], "degrees": "d" }, "shift": "v",
                    "stretch": { "axis": "y", "by": 1.2 } },
                "forearm": { "turn": { "quaternions": [[0, 0, 0, 0, 1], [0.3, 0, 0, 1, 1], [0.5, 1, 0, 0, 0]], "ease": "squad" } } },
            "shapes": { "sm*": "c" }, "channels": { "biceps": "f" } }),
        json!({ "rig": "arm.glb", "time": time,
            "layers": [{ "clip": "w.npz", "after": "cycle-offset", "speed": 2 },
                { "clip": "w.npz", "cut": [0.25, 0.5], "mix": "add", "weight": 0.5, "bones": ["forearm"], "below": true,
                    "root-motion": "remove", "after": "mirror", "time": "t / 2" }] }),
        json!({ "rig": "arm.glb", "time": time,
            "limits": [{ "bones": "forearm", "hinge": { "axis": [0, 0, 1], "degrees": [-10, 120] } },
                { "bones": "hand", "cone": { "axis": [1, 0, 0], "degrees": 60, "twist": [-30, 30] } }],
            "goals": [{ "bone": "hand", "target": ["0.3 + 0.1 * t", 0.1, 0], "pole": [0, 1, 0] },
                { "bone": "hand", "look-at": [1, 1, 1], "axis": [1, 0, 0], "priority": 1, "weight": "t" }] }),
        json!({ "rig": "arm.glb", "time": time,
            "bones": { "forearm": { "turn": [0, 0, "90 * t"] } },
            "limits": [{ "bones": "hand", "hinge": { "axis": [0, 0, 1], "degrees": [-10, 120] } }],
            "dynamics": { "steps": 60, "gravity": [0, -9.81, 0], "ground": -0.5, "air": 1.2, "wind": ["t", 0, 1], "drag": 0.5,
                "bodies": [{ "bones": ["forearm"], "density": 900, "gravity": 0.5, "weight": "t > 0.1", "damping": 2, "limits": "free",
                        "spring": { "hertz": 2, "ratio": 0.5 }, "friction": 0.4, "bounce": 0.3 },
                    { "bones": ["hand*"], "below": true, "except": ["thumb*", "hand*x", "*"], "free": true }] } }),
        json!({ "rig": "arm.glb", "time": time,
            "dynamics": { "steps": 240, "ground": 0, "bodies": [{ "bones": ["*"], "below": true, "free": true, "bounce": 0.5,
                "squash": { "seconds": 0.1, "stretch": 0.02 } }] } }),
    ];
    scenes.iter().map(crate::json::text).collect()
}

/// Recipes of every verb, and a fit by every method.
pub fn recipes() -> Vec<Vec<u8>> {
    let input = |file: &str| json!({ "file": file });
    let hashed = json!({ "file": "a.npz#arm*", "sha256": "0011223344556677" });
    let fit = |method: Value| {
        json!({ "fit": { "rig": input("a.glb"), "examples": { "held": [hashed] }, "hold-out": [], "method": method, "folds": 5,
            "outputs": { "model": "m.dermis", "existing": "replace", "fail-above": 0.5 } } })
    };
    let mut recipes = vec![
        json!({ "convert": { "inputs": [input("a.glb"), input("b.pc2")], "read": { "up": "z", "unit": 0.01, "fps": 24.0 }, "out": "c.npz" } }),
        json!({ "inspect": { "files": [input("a.glb")] } }),
        json!({ "pose": { "model": input("m.dermis"), "motion": input("w.npz"), "out": "o.pc2", "existing": "keep" } }),
        json!({ "suggest": { "model": input("m.dermis"), "motion": input("w.npz"), "count": 3 } }),
        json!({ "session": { "folder": "hero.session", "act": { "add": { "sculpt": "a.obj", "at": "walk:12", "role": "check", "strength": 0.5 } } } }),
        json!({ "retarget": { "source": input("w.bvh"), "rig": input("a.glb"), "map": input("map.json"), "contacts": false, "out": "o.glb" } }),
        json!({ "rig": { "mesh": input("a.obj"), "template": input("biped"), "names": "mixamo", "up": "z", "front": "-y", "joints": input("j.json"), "out": "r.glb" } }),
        json!({ "eval": { "model": input("m.dermis"), "score": { "examples": [input("e.npz")] } } }),
        json!({ "demo": { "out": "demo" } }),
        json!({ "animate": { "scene": input("walk.json"), "out": "walk.glb" } }),
        json!({ "invert": { "rig": input("a.glb"), "sculpts": [input("s.obj")], "out": "c.npz" } }),
    ];
    for method in Method::all() {
        recipes.push(fit(serde_json::to_value(method).expect("a method can be said in JSON")));
    }
    recipes.iter().map(crate::json::text).collect()
}

/// What a program of two vertices says: a whole talk, a failure, a stray word.
pub fn talks() -> Vec<Vec<u8>> {
    let frame = |kind: &[u8; 4], payload: &[u8]| frame(*kind, payload).expect("a short frame");
    let skin = |call: u32| [&call.to_le_bytes()[..], &vec![0; skin_length(2) - 4]].concat();
    let begin = [&[2][..], &greeting(), &frame(b"REDY", &[])].concat();
    vec![
        [&begin[..], &frame(b"SKIN", &skin(1)), &frame(b"SKIN", &skin(2))].concat(),
        [&begin[..], &frame(b"FAIL", b"no such bone")].concat(),
        [&begin[..], b"hello, world"].concat(),
    ]
}
