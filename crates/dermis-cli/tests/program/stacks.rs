//! Corrections through a stack of deformers: inverted, read again as examples, fitted, posed.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, number};
use dermis_workflow::io::npz::inverted::VerticesSpace;
use dermis_workflow::io::npz::{Corrections, DeformerWritten, StoredFloat, read, write, write_inverted};
use dermis_workflow::io::{Contents, Space, UpAxis, to_bytes};
use dermis_workflow::rig::glam::{DAffine3, DVec3};

/// A lattice at rest, the skinning, and after it a lattice and a wire that hang on bones.
const STACK: &str = r#"{"stack": [
    {"type": "lattice", "origin": [-1, -1, -1], "axes": [[3, 0, 0], [0, 2, 0], [0, 0, 2]], "counts": [2, 2, 2],
     "displacements": [[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0,0,0],[0.1,0.3,-0.2]]},
    {"type": "lbs"},
    {"type": "lattice", "origin": [-3, -3, -3], "axes": [[6, 0, 0], [0, 6, 0], [0, 0, 6]], "counts": [2, 2, 2],
     "displacements": [[0,0,0],[0,0.2,0],[0,0,0],[0,0,0.1],[0,0,0],[0,0,0],[0.1,0,0],[0,0,0]], "parent": "elbow"},
    {"type": "wires", "parent": "wrist", "wires": [
     {"reference": [[0.7, 0, 0], [1.2, 0, 0]], "current": [[0.7, 0, 0], [1.2, 0.05, 0]], "radius": 0.4}]}]}"#;

fn desk() -> (Desk, Tube) {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    desk.put("poses.npz", tube.motion());
    desk.put("stack.json", STACK);
    (desk, tube)
}

/// Positions of every record.
fn skins(desk: &Desk, name: &str) -> Vec<Vec<DVec3>> {
    read(&desk.bytes(name), name).unwrap().records.into_iter().map(|r| r.positions.unwrap()).collect()
}

fn farthest(some: &[Vec<DVec3>], others: &[Vec<DVec3>]) -> f64 {
    assert_eq!(some.len(), others.len());
    let pairs = some.iter().flatten().zip(others.iter().flatten());
    pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn a_pose_space_through_a_stack_meets_its_sculpts() {
    let (desk, tube) = desk();
    let line = "fit a.npz --examples a.npz#bend* --method psd --stack stack.json -s 0 --set reach=global --folds 0 -o m.dermis --json";
    let fitted = desk.json(line);
    let settings = fitted["settings"].to_string();
    assert!(settings.contains("\"stack\""), "{settings}");
    let scored = desk.json("eval m.dermis --examples a.npz#bend* --json");
    // Single precision of 1 m, and what the bulge displaces by.
    assert!(number(&scored, "error.max") < 1e-6, "{scored}");
    desk.good("pose m.dermis --motion poses.npz -o posed.npz");
    let posed = skins(&desk, "posed.npz");
    assert!(farthest(&posed[1..], &tube.skins[1..]) < 1e-6);
    // Every correction is zero at the bind pose: the model is the stack there, which moves this corner.
    let moved = farthest(&posed[..1], &tube.skins[..1]);
    assert!(moved > 0.1);
    let warnings = fitted["warnings"].to_string();
    assert!(warnings.contains(&format!("by up to {:.1} mm", 1e3 * moved)), "{moved} {warnings}");
    // The recipe in the model runs again and makes the same bytes.
    desk.put("m.json", desk.good("recipe m.dermis").out);
    desk.good("fit --recipe m.json -o again.dermis");
    assert_eq!(desk.bytes("m.dermis"), desk.bytes("again.dermis"));
    // Cross-validation refits through the stack; the report page is written.
    let line =
        "fit a.npz --examples a.npz#bend* --method psd --stack stack.json -s 0 --folds 3 --report page.html --json";
    let validated = desk.json(line);
    assert!(validated.to_string().contains("cross"), "{validated}");
    assert!(exists(&desk.path("page.html")));
    // A character that is elsewhere, turned, takes lattices and wires along.
    let g = DAffine3::from_rotation_translation(
        dermis_workflow::rig::glam::DQuat::from_rotation_y(1.2),
        DVec3::new(3.0, -1.0, 2.0),
    );
    let moved = Tube::new(9, 6, 0.0, Flesh::Bulge).moved(g);
    desk.put("moved.npz", moved.bundle());
    let scored = desk.json("eval m.dermis --examples moved.npz#bend* --json");
    assert!(number(&scored, "error.max") < 2e-6, "{scored}");
}

#[test]
fn a_collapsed_joint_meets_its_sculpt_through_a_stack() {
    let desk = Desk::new();
    desk.put("twist.npz", Tube::new(13, 6, 0.0, Flesh::Bulge).twist());
    desk.put("stack.json", STACK);
    let line = "fit twist.npz --examples twist.npz --method psd --stack stack.json -s 0 --set reach=global --folds 0 -o m.dermis --json";
    let fitted = desk.json(line);
    assert!(number(&fitted, "report.vertices_with_remainder") >= 8.0, "{}", fitted["report"]);
    let scored = desk.json("eval m.dermis --examples twist.npz --json");
    assert!(number(&scored, "error.max") < 1e-6, "{scored}");
}

/// Corrected rest shapes are read as the skins that they make, by every verb that reads examples, and a fit learns from them what it
/// learns from the sculpts.
#[test]
fn a_bundle_of_rest_shapes_is_examples() {
    let (desk, tube) = desk();
    for deformer in ["--base lbs", "--base dqs", "--base rigid", "--stack stack.json"] {
        desk.good(&format!("invert a.npz --sculpts a.npz {deformer} --rest-space -o rest.npz --force"));
        desk.good(&format!("invert a.npz --sculpts a.npz {deformer} -o sculpts.npz --force"));
        assert!(farthest(&skins(&desk, "rest.npz"), &tube.skins) < 1e-9, "{deformer}");
        // Skins in single precision, as they are stored.
        assert!(farthest(&skins(&desk, "sculpts.npz"), &tube.skins) < 2e-7, "{deformer}");
    }
    for (set, model) in [("rest.npz#bend*", "r.dermis"), ("a.npz#bend*", "a.dermis")] {
        let options = "--method psd --stack stack.json -s 0 --set reach=global --folds 0";
        desk.good(&format!("fit a.npz --examples {set} {options} -o {model}"));
        desk.good(&format!("pose {model} --motion poses.npz -o {model}.npz"));
    }
    assert!(farthest(&skins(&desk, "r.dermis.npz"), &skins(&desk, "a.dermis.npz")) < 2e-7);
    let scored = desk.json("eval a.dermis --examples rest.npz#bend* --json");
    assert!(number(&scored, "error.max") < 1e-6, "{scored}");
    let streamed = desk.json("eval a.dermis --examples rest.npz#bend* --stream --json");
    assert!((number(&streamed, "error.max") - number(&scored, "error.max")).abs() < 1e-12, "{streamed}");
    // Read so, the two bundles hold the same examples.
    let line = "compare a.npz --examples rest.npz --hold-out sculpts.npz --methods own-weights";
    desk.bad(line, &["all 6 held-out examples are training examples too"]);
    // A base of the rest pose learns the rest shapes themselves.
    desk.good(
        "fit a.npz --examples rest.npz#bend* --base rest --method psd -s 0 --set reach=global --folds 0 -o rest.dermis",
    );
    let scored = desk.json("eval rest.dermis --examples rest.npz#bend* --json");
    assert!(number(&scored, "error.max") < 1e-6, "{scored}");
    // What it is, in words.
    let told = &desk.json("inspect rest.npz --json")[0];
    assert_eq!((&told["corrections"]["vertices_space"], &told["skins"]), (&"rest".into(), &6.into()));
    assert_eq!(told["corrections"]["deformer"], "the stack lattice → lbs → lattice → wires");
    assert!(desk.good("inspect rest.npz").out.contains("corrected rest shapes, inverted through the stack"));
    assert!(desk.good("inspect sculpts.npz").out.contains("\"vertices\" are the sculpts"));
    // Converted, the skins are plain skins.
    desk.good("convert rest.npz -o plain.npz");
    assert!(farthest(&skins(&desk, "plain.npz"), &tube.skins) < 2e-7);
    assert!(desk.json("inspect plain.npz --json")[0]["corrections"].is_null());
}

/// The stack is told in the bundle's own axes and unit, whatever those of the rig's file are.
#[test]
fn a_stack_in_another_unit_comes_back() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 6, 0.0, Flesh::Bulge));
    for (unit, metres) in [("m", 0.01), ("hand", 1.0)] {
        let space = Space { up: UpAxis::Z, metres_per_unit: metres, unit: unit.into() };
        let contents = Contents { space, ..tube.contents() };
        desk.put("z.npz", to_bytes(|out| write(&contents, StoredFloat::Double, out)).unwrap());
        let length = 1.0 / metres;
        let stack = format!(
            r#"{{"stack": [{{"type": "lbs"}}, {{"type": "wires", "parent": "wrist", "wires": [{{"reference": [[0,0,0],[{0},0,0]],
               "current": [[0,0,0],[{0},0,{1}]], "radius": {0}}}]}}]}}"#,
            length,
            0.1 * length
        );
        desk.put("stack.json", stack);
        desk.good("invert z.npz --sculpts z.npz --stack stack.json --rest-space -o rest.npz --force");
        assert!(farthest(&skins(&desk, "rest.npz"), &tube.skins) < 1e-9, "{unit}");
    }
}

/// Rest shapes for a program stay rest shapes: they are no skins, which is said by name; a base of the rest pose takes them.
#[test]
fn rest_shapes_for_a_program_are_no_skins() {
    let (desk, tube) = desk();
    let none = vec![vec![DVec3::ZERO; tube.mesh.positions.len()]; 6];
    let corrections = Corrections {
        vertices: VerticesSpace::Rest,
        deformer: DeformerWritten::Program,
        rest_corrections: &none,
        remainders: &none,
    };
    let bytes = to_bytes(|out| write_inverted(&tube.contents(), StoredFloat::Double, corrections, out)).unwrap();
    desk.put("p.npz", bytes);
    let says = ["\"p.npz\"", "vertices_space", "a program", "without --rest-space"];
    desk.bad("fit a.npz --examples p.npz --method psd -o m.dermis", &says);
    desk.bad("fit a.npz --examples p.npz --method mwe --stream -o m.dermis", &says);
    desk.bad("invert a.npz --sculpts p.npz -o x.npz", &says);
    desk.bad("compare a.npz --examples p.npz --hold-out a.npz --methods own-weights", &says);
    desk.bad("convert p.npz -o plain.npz", &says);
    desk.good("fit a.npz --examples a.npz --method own-weights --folds 0 -o own.dermis");
    desk.bad("eval own.dermis --examples p.npz", &says);
    assert!(!exists(&desk.path("m.dermis")) && !exists(&desk.path("plain.npz")));
    assert!(desk.good("inspect p.npz").out.contains("are no skins"));
    // Its poses are a motion as any, and a base of the rest pose learns its shapes.
    desk.good("pose own.dermis --motion p.npz -o posed.npz");
    desk.good("fit a.npz --examples p.npz --base rest --method psd -s 0 --folds 0 -o rest.dermis");
}

#[test]
fn what_a_stack_cannot_serve_is_named() {
    let (desk, _) = desk();
    let fit = |options: &str| format!("fit a.npz --examples a.npz --stack stack.json {options} -o m.dermis");
    desk.bad(
        &fit("--method joint"),
        &["--stack serves --method mwe, psd in the inverse form and shape-by-example, not joint"],
    );
    desk.bad(
        &fit("--method eigenskin"),
        &["--stack serves --method mwe, psd in the inverse form and shape-by-example, not eigenskin"],
    );
    desk.bad(&fit("--method psd --set form=forward"), &["--stack", "forward form"]);
    desk.bad(&fit("--method psd --mirror on"), &["--stack", "mirrored"]);
    desk.bad(&fit("--method shape-by-example --mirror on"), &["--stack", "mirrored"]);
    desk.bad(&fit("--method psd --set singular=published:1e-4,1e-4"), &["--stack", "published"]);
    assert_eq!(desk.run(&fit("--method psd --base lbs")).code, 2);
    for (one, says) in [
        (
            r#"{"type": "wires", "wires": [], "parent": "tail"}, {"type": "lbs"}"#,
            &["deformer 1", "wires", "no bone \"tail\""][..],
        ),
        (
            r#"{"type": "wires", "wires": [], "parent": "wrist"}, {"type": "lbs"}"#,
            &["deformer 1", "wires", "after the skinning"],
        ),
        (r#"{"type": "lbs"}, {"type": "wires", "wires": [], "bone": "wrist"}"#, &["stack.json", "bone"]),
        ("", &["the stack is empty"]),
    ] {
        desk.put("stack.json", format!(r#"{{"stack": [{one}]}}"#));
        desk.bad(&fit("--method psd"), says);
    }
    desk.put("stack.json", STACK);
    desk.good("fit a.npz --examples a.npz --method psd --stack stack.json -s 0 --set budget=8 --folds 0 -o m.dermis");
    // Shapes of such a model are those of its skin; a table of its own kernels would need the stack in the engine.
    let driven = desk.good("export drivers m.dermis -o x.glb --table x.json").out;
    assert!(driven.contains("fitted to the model's skin"), "{driven}");
    let own = "export drivers m.dermis -o y.glb --table y.json --kernels 4";
    desk.bad(own, &["its base is not linear blend skinning", "--base lbs"]);
    // For a motion, any model is a GLB.
    desk.good("export shapes m.dermis --motion poses.npz -o z.glb");
    // A recipe that names a stack for another base.
    let recipe = desk.good("recipe m.dermis").out.replace("\"base\": \"stack\"", "\"base\": \"lbs\"");
    desk.put("r.json", recipe);
    desk.bad("fit --recipe r.json -o n.dermis", &["stack", "no effect"]);
}
