//! `dermis markers`: markers and camera sights planted on the bundled walk give the walk back.

use crate::{Desk, number};
use dermis_workflow::io::npz;
use dermis_workflow::rig::glam::{DVec3, DVec4};
use dermis_workflow::rig::{Skeleton, WorldPose};
use serde_json::{Value, json};
use std::path::Path;

const BODY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body.glb");
const WALK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/body/body_walk.npz");
const BONES: [&str; 15] = [
    "pelvis",
    "spine_02",
    "spine_03",
    "head",
    "upperarm_l",
    "lowerarm_l",
    "hand_l",
    "upperarm_r",
    "lowerarm_r",
    "hand_r",
    "thigh_l",
    "calf_l",
    "foot_l",
    "thigh_r",
    "calf_r",
];

struct Planted {
    skeleton: Skeleton,
    poses: Vec<WorldPose>,
    /// Name, bone and place at rest.
    markers: Vec<(String, &'static str, DVec3)>,
}

impl Planted {
    fn new() -> Self {
        let walk = npz::read(&std::fs::read(Path::new(WALK)).unwrap(), "walk.npz").unwrap();
        let skeleton = walk.skeleton.unwrap();
        let offsets = [
            DVec3::new(0.06, 0.02, 0.01),
            DVec3::new(-0.03, -0.05, 0.04),
            DVec3::new(0.01, 0.03, -0.07),
            DVec3::new(-0.05, 0.04, 0.05),
        ];
        let markers = BONES.iter().flat_map(|bone| {
            let head = skeleton.bind()[skeleton.find(bone).unwrap()].translation;
            offsets.iter().enumerate().map(move |(at, offset)| (format!("{bone}_m{at}"), *bone, head + *offset))
        });
        let markers = markers.collect();
        let poses = walk.records.into_iter().filter_map(|record| record.pose).collect();
        Self { skeleton, poses, markers }
    }

    fn places(&self, frame: usize) -> Vec<DVec3> {
        let moved = self.skeleton.bone_transforms(&self.poses[frame]);
        self.markers
            .iter()
            .map(|(_, bone, at)| moved[self.skeleton.find(bone).unwrap()].transform_point3(*at))
            .collect()
    }

    fn set(&self) -> String {
        let line = |(name, bone, at): &(String, &str, DVec3)| json!({"name": name, "bone": bone, "at": at.to_array()});
        json!({"markers": self.markers.iter().map(line).collect::<Vec<_>>()}).to_string()
    }

    fn trc(&self) -> String {
        let frames = self.poses.len();
        let names: String = self.markers.iter().map(|(name, ..)| format!("\t{name}\t\t")).collect();
        let mut text = format!(
            "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tNumFrames\tUnits\n24\t{frames}\tmm\nFrame#\tTime{names}\n\t\tX1\tY1\tZ1\n"
        );
        for frame in 0..frames {
            text += &format!("{}\t{}", frame + 1, frame as f64 / 24.0);
            self.places(frame).iter().for_each(|p| text += &format!("\t{}\t{}\t{}", 1e3 * p.x, 1e3 * p.y, 1e3 * p.z));
            text += "\n";
        }
        text
    }

    /// Four cameras around; the second sees one marker wrongly in frame 3.
    fn cameras(&self) -> String {
        let camera = |at: usize| {
            let angle = 1.3 * at as f64;
            let place = DVec3::new(4.0 * angle.cos(), 1.5, 4.0 * angle.sin());
            let ahead = (DVec3::new(0.0, 1.0, 0.0) - place).normalize();
            let right = ahead.cross(DVec3::Y).normalize();
            let row = |axis: DVec3| axis.extend(-axis.dot(place));
            let (x, y, z) = (row(right), row(ahead.cross(right)), row(ahead));
            let rows: [DVec4; 3] = [x * 1500.0 + z * 960.0, y * 1500.0 + z * 540.0, z];
            let sight = |p: &DVec3| {
                let [u, v, w] = rows.map(|row| row.dot(p.extend(1.0)));
                json!([u / w, v / w])
            };
            let mut frames: Vec<Vec<Value>> =
                (0..self.poses.len()).map(|frame| self.places(frame).iter().map(sight).collect()).collect();
            if at == 1 {
                frames[3][7] = json!([3.0, 4.0]);
            }
            json!({"name": format!("camera {at}"), "matrix": rows.map(|row| row.to_array()), "frames": frames})
        };
        let names: Vec<&String> = self.markers.iter().map(|(name, ..)| name).collect();
        json!({"rate": 24, "markers": names, "cameras": (0..4).map(camera).collect::<Vec<_>>()}).to_string()
    }

    /// The largest distance of a marked bone's head from where it was planted, metres.
    fn off(&self, desk: &Desk, name: &str) -> f64 {
        let found = npz::read(&desk.bytes(name), name).unwrap();
        let skeleton = found.skeleton.unwrap();
        let mut worst = 0.0_f64;
        for (record, pose) in found.records.iter().zip(&self.poses) {
            for bone in BONES {
                let found = record.pose.as_ref().unwrap().bones[skeleton.find(bone).unwrap()].translation;
                worst = worst.max(found.distance(pose.bones[self.skeleton.find(bone).unwrap()].translation));
            }
        }
        worst
    }
}

#[test]
fn planted_markers_give_the_walk_back() {
    let (desk, planted) = (Desk::new(), Planted::new());
    desk.put("set.json", planted.set().into_bytes());
    desk.put("walk.trc", planted.trc().into_bytes());
    let found = desk.json(&format!("markers walk.trc {BODY} --marker-set set.json -o walk.npz --json"));
    // The frame before pulls; the walk has 12 frames, half of a limb's swing apart.
    assert!(number(&found, "rms_mm") < 0.3 && number(&found, "rate") == 24.0, "{found}");
    assert_eq!(
        (found["troubles"].as_array().map(Vec::len), found["missing"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
    assert!(planted.off(&desk, "walk.npz") < 1e-3, "{}", planted.off(&desk, "walk.npz"));
    desk.put("walk.json", planted.cameras().into_bytes());
    let seen = desk.json(&format!("markers walk.json {BODY} --marker-set set.json -o seen.npz --json"));
    assert!(number(&seen["cameras"], "rms_pixels") < 1e-6 && number(&seen["cameras"], "lost") == 0.0);
    assert_eq!(seen["cameras"]["cameras"][1]["outliers"], json!(1));
    assert!(planted.off(&desk, "seen.npz") < 1e-3);
    desk.good(&format!("markers walk.trc {BODY} --marker-set set.json -o walk.bvh"));
}

#[test]
fn mistakes_of_takes_and_sets_are_named() {
    let (desk, planted) = (Desk::new(), Planted::new());
    desk.put("walk.trc", planted.trc().into_bytes());
    let line = format!("markers walk.trc {BODY} --marker-set set.json -o new.npz");
    for (set, says) in [
        ("{\"markers\": [{\"name\": \"a\", \"bone\": \"tail\"}]}", &["\"a\" sits on \"tail\"", "set.json"][..]),
        ("{\"markers\": [{\"name\": \"a\", \"bone\": \"head\"}]}", &["marker \"a\" has no place", "--calibration"]),
        ("{\"markers\": [{\"name\": \"a\", \"bone\": \"head\", \"at\": [0, 0, 0]}]}", &["0 of the 1 markers"]),
        ("{\"markers\": 3}", &["this is no marker set", "line 1"]),
    ] {
        desk.put("set.json", set);
        desk.bad(&line, says);
    }
    desk.put("set.json", planted.set().into_bytes());
    desk.put("walk.trc", planted.trc().replace("\n3\t", "\nthree\t").into_bytes());
    desk.bad(&line, &["walk.trc", "line 8"]);
    desk.bad("convert walk.trc -o new.npz", &["a take of markers moves no skeleton", "dermis markers"]);
}
