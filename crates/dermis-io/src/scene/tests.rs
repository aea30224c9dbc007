use super::*;
use dermis_motion::Value as Number;

/// A scene with everything that one can hold.
const FULL: &str = r#"{
  "$schema": "scene.schema.json",
  "about": "everything",
  "name": "all",
  "rig": "arm.glb",
  "time": {"from": 1, "to": 3, "rate": 30},
  "controls": {
    "a": 1.5,
    "b": "a * sin(t)",
    "c": {"keys": [[0, 1], {"t": 1, "v": 2, "ease": "bezier", "right": [1.5, 2]}, {"t": 2, "v": 3, "in": [0.9, 0.3]}], "after": "cycle"},
    "wind": {"keys": [[0, 1, 2, 3], [1, 4, 5, 6]], "ease": "catmull-rom", "before": "mirror"},
    "mixed": [1, "b", {"keys": [[0, 1], {"t": 4, "v": 1, "ease": "tcb", "tcb": [0.1, 0, -0.2]}]}]
  },
  "maps": [{"from": ["a", "b"], "to": ["d"], "examples": [{"at": [0, 0], "give": [1]}], "between": "gaussian", "width": 2}],
  "layers": [
    {"clip": "walk.glb#Walk", "cut": [0, 1], "start": 1, "speed": 0.5, "after": "cycle-offset", "weight": "smoothstep(1, 2, t)"},
    {"clip": "walk.glb#Walk", "mix": "add-from-first", "bones": ["arm*"], "below": true, "root-motion": "remove", "root": "hip", "time": "t / 2"}
  ],
  "bones": {
    "hand": {"from": "rest", "turn": {"euler": [0, "10 * t", 0], "order": "ZXY"}, "shift": "wind", "size": 2},
    "finger *": {"turn": {"axis": [0, 0, 2], "degrees": "i / n + x"}, "axes": "world", "stretch": {"axis": "x", "by": 1.2}},
    "thumb": {"turn": {"quaternions": [[0, 0, 0, 0, 1], [1, 0, 0, 1, 0]], "ease": "squad"}, "size": [1, 2, "a"]}
  },
  "shapes": {"smile": "d"},
  "channels": {"biceps": 0.5},
  "limits": [
    {"bones": "elbow", "hinge": {"axis": [0, 0, 1], "degrees": [0, 140]}},
    {"bones": "shoulder", "cone": {"axis": [1, 0, 0], "degrees": 90, "twist": [-60, 60]}},
    {"bones": "hip", "locked": true}
  ],
  "goals": [
    {"bone": "hand", "chain": "shoulder", "target": ["t", 1, 0], "turn": [0, 90, 0], "pole": [0, 0, -1], "weight": 0.5, "priority": 1},
    {"bone": "head", "look-at": "wind", "axis": [0, 1, 0]},
    {"bone": "foot", "keep": true, "point": [0, 0.1, 0]}
  ],
  "dynamics": {
    "steps": 240, "gravity": [0, -1.6, 0], "ground": -0.1, "air": 1.1, "wind": "wind", "drag": 0.9,
    "bodies": [
      {"bones": ["tail *"], "below": true, "except": ["tail end"], "density": 400, "gravity": 0.5, "damping": 0.1, "spring": {"hertz": 2}},
      {"bones": ["ball"], "free": true, "weight": "t > 1.5", "limits": "free", "friction": 0.4, "bounce": 0.7, "squash": {"seconds": 0.1, "stretch": 0.02}}
    ]
  }
}"#;

#[test]
fn a_scene_with_everything_is_read() {
    let file = read(FULL.as_bytes(), "scene").unwrap();
    let scene = &file.scene;
    assert_eq!((file.rig.as_str(), file.clips.as_slice()), ("arm.glb", &["walk.glb#Walk".to_owned()][..]));
    assert_eq!((scene.name.as_str(), scene.clock.frames()), ("all", 61));
    let counts = [scene.controls.len(), scene.maps.len(), scene.layers.len(), scene.drives.len(), scene.limits.len()];
    assert_eq!((counts, scene.goals.len()), ([5, 1, 2, 3, 3], 3));
    let dynamics = scene.dynamics.as_ref().unwrap();
    assert_eq!((dynamics.rate, dynamics.gravity.y, dynamics.ground), (240.0, -1.6, Some(-0.1)));
    let [tail, ball] = &dynamics.bodies[..] else { panic!("two descriptions") };
    assert_eq!((tail.density, tail.below, tail.spring.unwrap().ratio, ball.free), (400.0, true, 0.3, true));
    assert!(dynamics.air.is_some() && ball.squash.unwrap().seconds == 0.1);
    let Number::Curve(keyed) = &scene.controls[2].numbers[0] else { panic!("keys are a curve") };
    assert_eq!((keyed.value(1.0), keyed.span()), (2.0, [0.0, 2.0]));
    let Number::Curve(y) = &scene.controls[3].numbers[1] else { panic!("keys are a curve") };
    assert_eq!(y.value(1.0), 5.0, "the second number of every key");
}

/// Maya's tangents are three times the way to the handle that Blender writes.
#[test]
fn handles_of_blender_and_tangents_of_maya_say_the_same() {
    let curve = |keys: &str| {
        let text = format!(
            r#"{{"rig": "a", "time": {{"to": 1}}, "controls": {{"c": {{"keys": {keys}, "ease": "bezier"}}}}}}"#
        );
        let file = read(text.as_bytes(), "s").unwrap();
        let Number::Curve(curve) = file.scene.controls[0].numbers[0].clone() else { panic!() };
        curve
    };
    let blender = curve(r#"[{"t": 0, "v": 1, "right": [0.5, 3]}, {"t": 2, "v": 2, "left": [1.25, -1]}]"#);
    let maya = curve(r#"[{"t": 0, "v": 1, "out": [1.5, 6]}, {"t": 2, "v": 2, "in": [2.25, 9]}]"#);
    (0..=40)
        .map(|i| f64::from(i) / 20.0)
        .for_each(|t| assert!((blender.value(t) - maya.value(t)).abs() < 1e-12, "{t}"));
}

/// A copy of the scene with one text replaced, and what the error says.
fn error(from: &str, to: &str) -> String {
    assert_eq!(FULL.matches(from).count(), 1, "{from}");
    read(FULL.replace(from, to).as_bytes(), "scene").unwrap_err().to_string()
}

#[test]
fn bad_scenes_are_told_by_line_key_and_what_was_expected() {
    for (from, to, says) in [
        ("\"rig\": \"arm.glb\",", "", &["missing field `rig`"][..]),
        ("\"rate\": 30", "\"rate\": 0", &["line 6, time.rate: 0 frames per second; a positive number is expected"]),
        ("\"rate\": 30", "\"rate\": \"30\"", &["line 6, time.rate", "a number is expected"]),
        ("\"about\": \"everything\"", "\"abuot\": \"everything\"", &["line 3, abuot: unknown field", "`about`"]),
        ("\"a\": 1.5", "\"a\": true", &["line 8, controls.a", "a number, an expression in quotes"]),
        ("\"a * sin(t)\"", "\"a * sin(t\"", &["line 9, controls.b", "ends too early"]),
        ("[[0, 1], {\"t\": 1,", "[[3, 1], {\"t\": 1,", &["line 10, controls.c.keys[1]: key 1 is at 1 s, not after"]),
        ("[[0, 1], {\"t\": 1,", "[[0], {\"t\": 1,", &["line 10, controls.c.keys[0]", "a time and a value"]),
        (
            "\"ease\": \"bezier\", ",
            "\"ease\": \"bezzier\", ",
            &["line 10, controls.c.keys[1].ease", "unknown variant `bezzier`", "`bezier`"],
        ),
        (
            "\"right\": [1.5, 2]",
            "\"right\": [0.5, 2]",
            &["line 10, controls.c.keys[1]: the right handle", "wrong side"],
        ),
        ("[1, 4, 5, 6]", "[1, 4, 5]", &["line 11, controls.wind.keys[1]: the key has 2 numbers; 3 are expected"]),
        ("\"give\": [1]", "\"give\": [1, 2]", &["line 14, maps[0].examples[0].give: 2 numbers, but 1 are named"]),
        ("\"order\": \"ZXY\"", "\"order\": \"ZZY\"", &["line 20, bones.hand.turn.order", "three of the letters XYZ"]),
        ("\"size\": 2", "\"size\": [2, 2]", &["line 20, bones.hand.size: 2 numbers; three are expected"]),
        ("\"axis\": [0, 0, 2]", "\"axis\": [0, 0, 0]", &["line 21, bones.finger *.turn.axis: it has no direction"]),
        ("\"thumb\"", "\"hand\"", &["line 22, bones", "\"hand\" occurs twice"]),
        ("[0, 0, 0, 0, 1]", "[0, 0, 0, 0, 0]", &["line 22, bones.thumb.turn.quaternions[0]", "not finite"]),
        ("\"degrees\": [0, 140]", "\"degrees\": [140, 0]", &["line 27, limits[0].hinge", "no range"]),
        (
            "\"keep\": true",
            "\"keep\": false",
            &["line 34, goals[2]: one of \"target\", \"look-at\" and \"keep\" is expected"],
        ),
        ("\"hertz\": 2", "\"herz\": 2", &["line 39, dynamics.bodies[0].spring.herz: unknown field", "`hertz`"]),
        ("\"density\": 400", "\"density\": \"400\"", &["line 39, dynamics.bodies[0].density", "a number is expected"]),
        (
            "\"wind\": \"wind\", \"drag\"",
            "\"wind\": [1, 2], \"drag\"",
            &["line 37, dynamics.wind: 2 numbers; three are expected"],
        ),
        ("\"air\": 1.1, \"wind\": \"wind\", ", "", &["line 37, dynamics.drag: a drag serves \"air\" or \"wind\""]),
        ("\"weight\": \"t > 1.5\"", "\"weight\": \"t > \"", &["line 40, dynamics.bodies[1].weight"]),
        ("\"chain\": \"shoulder\"", "\"chain\": 3", &["line 32, goals[0].chain", "a text in quotes is expected"]),
    ] {
        let error = error(from, to);
        says.iter().for_each(|word| assert!(error.contains(word), "{from} → {to}: {error}"));
        assert!(error.len() < 500, "{error}");
    }
}

#[test]
fn texts_that_are_no_json_are_errors() {
    let says = |bytes: &[u8]| read(bytes, "scene").unwrap_err().to_string();
    assert!(says(b"").contains("line 1"));
    assert!(says(b"\xff\xfe{}").contains("no UTF-8 after byte 0"));
    assert!(says(format!("{FULL}\n7").as_bytes()).contains("more text after the scene"));
    assert!(says(&b"[".repeat(100_000)).contains("line 1"));
    let deep = format!("{{\"rig\": \"a\", \"time\": {{\"to\": 1}}, \"controls\": {{\"a\": {}1", "[".repeat(500));
    assert!(says(deep.as_bytes()).contains("line 1"));
}

#[test]
fn a_scene_cut_anywhere_is_an_error() {
    for end in 0..FULL.len() {
        assert!(read(&FULL.as_bytes()[..end], "scene").is_err(), "{end}");
    }
}

mod schema {
    use super::*;
    use serde_json::{Value, json};

    /// Oracle: the crate `jsonschema`, which shares nothing with the reader but the names of keys.
    #[test]
    fn what_is_read_fits_the_schema_and_what_is_misread_does_not() {
        let schema = super::super::schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let good: Value = serde_json::from_str(FULL).unwrap();
        let errors: Vec<String> = validator.iter_errors(&good).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
        for (pointer, value) in [
            ("/time/rate", json!("30")),
            ("/controls/a", json!(true)),
            ("/controls/c/keys/1/ease", json!("bezzier")),
            ("/controls/c/keys/0", json!([0])),
            ("/bones/hand/turn/order", json!(3)),
            ("/bones/thumb/size", json!([2, 2])),
            ("/layers/0/cut", json!([0])),
            ("/goals/0/priority", json!(-1)),
            ("/dynamics/bodies/0/spring", json!({"ratio": 1})),
            ("/dynamics/bodies/1/limits", json!("some")),
            ("/dynamics/gravity", json!([0, 1])),
            ("/goals/0", json!({"bone": "hand", "taget": [0, 0, 0]})),
            ("", json!({"time": {"to": 1}})),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            assert!(!validator.is_valid(&bad), "{pointer} fits the schema");
            assert!(read(bad.to_string().as_bytes(), "scene").is_err(), "{pointer} is read");
        }
    }

    /// Every key of the full scene is one that the schema describes for people.
    #[test]
    fn every_part_of_the_schema_has_a_description() {
        let schema = super::super::schema();
        let mut described = 0;
        let mut undescribed = Vec::new();
        let definitions = schema["$defs"].as_object().unwrap();
        for (name, object) in definitions.iter().chain([(&"scene".to_owned(), &schema)]) {
            for (key, property) in object["properties"].as_object().into_iter().flatten() {
                match property["description"].as_str() {
                    Some(text) if !text.is_empty() => described += 1,
                    _ => undescribed.push(format!("{name}.{key}")),
                }
            }
        }
        assert!(undescribed.is_empty() && described > 50, "{undescribed:?}");
    }
}
