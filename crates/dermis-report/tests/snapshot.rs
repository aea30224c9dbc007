//! The report page of a small outcome, byte for byte.
//!
//! A changed page shows in the review as a changed `snapshots/page.html`. `DERMIS_UPDATE_SNAPSHOTS=1` writes it again.
//! Style and scripts stand there by the names of their files.

use dermis_report::page::{
    FileStamp, KeyFigure, LengthUnit, MethodRow, Page, PageTable, PageVerdict, PageWarning, PoseRef, Precision,
    Provenance, Quantity, ScoredPose, ScoredSet, ShownPose, SkinView, StrengthSweep, SweptStrength, Tone,
    WorstVertexRow,
};
use dermis_testkit::snapshot::compare_with_stored;
use std::path::Path;

/// Compares with a stored file of these tests.
fn check(name: &str, text: &str) {
    compare_with_stored(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name), text);
}

/// A tetrahedron in two poses: every part of a page occurs, with warnings, missing numbers and text that needs escaping.
fn small_page() -> Page {
    let rest = vec![[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.1]];
    let moved = |by: f32| rest.iter().map(|&[x, y, z]| [x, y, z + by * y]).collect::<Vec<_>>();
    let shown = |pose: usize, label: &str, note: &str, baseline| ShownPose {
        label: label.into(),
        set: "held out".into(),
        note: note.into(),
        pose: Some(PoseRef { set: 1, pose }),
        target: moved(1.0 + pose as f32),
        model: moved(1.01 + pose as f32),
        baseline,
        precision: if pose == 0 { Precision::Full } else { Precision::Played },
        joints: vec![[0.1, 0.0, 0.0], [0.1, 0.3, 0.0]],
        ..ShownPose::default()
    };
    let scored = |label: &str, rms: f32, baseline: Option<f32>| ScoredPose {
        label: label.into(),
        rms,
        max: 2.0 * rms,
        p95: 1.5 * rms,
        baseline_rms: baseline,
        baseline_max: baseline.map(|rms| 3.0 * rms),
        ..ScoredPose::default()
    };
    let far = |pose: ScoredPose| ScoredPose {
        distance_degrees: Some(21.5),
        distance_joint: Some("elbow_l".into()),
        guarded_share: Some(0.25),
        limited_share: Some(0.0),
        ..pose
    };
    let row = |method: &str, held_out: Option<f32>, note: &str| MethodRow {
        method: method.into(),
        train: Some(0.0005),
        held_out,
        model_bytes: Some(123_456),
        fit_seconds: Some(0.25),
        vertices_per_second: Some(4.2e7),
        note: note.into(),
    };
    let text = |text: &str| Quantity::Text(text.into());
    Page {
        title: "arm: joint".into(),
        subtitle: "training: flex (1 poses); held out: reach (2 poses)".into(),
        verdict: Some(PageVerdict { text: "25 % of the error remains.".into(), tone: Tone::Good }),
        pass: Some(PageVerdict { text: "Failed: 97.30 % of the distances are at most 1 mm.".into(), tone: Tone::Bad }),
        warnings: vec![
            PageWarning {
                text: "held out: \"reach 2\" < 90° & beyond training".into(),
                pose: Some(PoseRef { set: 1, pose: 1 }),
            },
            "a warning of no pose".into(),
        ],
        unit: LengthUnit::default(),
        model_name: "joint".into(),
        baseline_name: "lbs".into(),
        figures: vec![
            KeyFigure { label: "Held-out error".into(), value: Quantity::Length(0.00106), note: "rms".into() },
            KeyFigure { label: "Remaining error".into(), value: Quantity::Share(0.25), note: String::new() },
            KeyFigure { label: "Model".into(), value: Quantity::Bytes(2_600_000), note: "6 bytes per vertex".into() },
            KeyFigure { label: "Fit".into(), value: Quantity::Seconds(725.0), note: String::new() },
            KeyFigure { label: "Base".into(), value: text("lbs"), note: String::new() },
        ],
        view: Some(SkinView {
            triangles: vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
            rest: rest.clone(),
            poses: vec![shown(0, "reach 1", "largest rms", Some(moved(0.9))), shown(1, "reach 2", "", None)],
            parents: vec![None, Some(0)],
            left_out: vec!["held out: 2 of 900 poses are shown.".into()],
            ..SkinView::default()
        }),
        rig: None,
        sets: vec![
            ScoredSet { name: "training".into(), poses: vec![scored("flex 1", 0.0005, None)] },
            ScoredSet {
                name: "held out".into(),
                poses: vec![far(scored("reach 1", 0.00106, Some(0.004))), scored("reach 2", f32::NAN, Some(0.005))],
            },
        ],
        worst: vec![WorstVertexRow {
            vertex: 3,
            bone: "hand_l".into(),
            pose: PoseRef { set: 1, pose: 0 },
            error: 0.00212,
        }],
        comparison: vec![row("joint", Some(0.00106), ""), row("lbs", Some(0.004), "the rig's own weights"), {
            MethodRow { held_out: None, ..row("dqs", None, "not run") }
        }],
        sweep: Some(StrengthSweep {
            points: [(0.01, 0.0004, 0.0013), (0.1, 0.0005, 0.00106), (1.0, 0.0009, 0.0015)]
                .map(|(s, train_rms, validated_rms)| SweptStrength { s, train_rms, validated_rms })
                .to_vec(),
            chosen_s: 0.1,
            what: "leave-one-out".into(),
        }),
        tables: vec![PageTable {
            title: "Error by bone".into(),
            note: "rms over the vertices a bone dominates".into(),
            columns: ["bone", "vertices", "model"].map(String::from).to_vec(),
            rows: vec![
                vec![text("upperarm_l"), Quantity::Count(12_345), Quantity::Length(0.0008)],
                vec![text("hand_l"), Quantity::Count(7)],
            ],
        }],
        settings: vec![("ridge".into(), "0.1".into()), ("base".into(), "lbs".into())],
        provenance: Provenance {
            program: "dermis 0.1.0".into(),
            date: None,
            command: Some("dermis fit arm.glb --examples flex.npz --hold-out reach.npz -o arm.dermis".into()),
            files: vec![FileStamp {
                role: "rig".into(),
                path: "arm.glb".into(),
                bytes: 4096,
                hash: "sha256:9f2c04d17be35a86…".into(),
            }],
        },
    }
}

#[test]
fn the_page_is_the_stored_one() {
    let files = [
        ("page.css", include_str!("../src/page/html/page.css")),
        ("view/data.js", include_str!("../src/page/html/view/data.js")),
        ("view/shapes.js", include_str!("../src/page/html/view/shapes.js")),
        ("view/camera.js", include_str!("../src/page/html/view/camera.js")),
        ("view/webgl.js", include_str!("../src/page/html/view/webgl.js")),
        ("view/software.js", include_str!("../src/page/html/view/software.js")),
        ("view/controls.js", include_str!("../src/page/html/view/controls.js")),
        ("view/playback.js", include_str!("../src/page/html/view/playback.js")),
        ("view/overlay.js", include_str!("../src/page/html/view/overlay.js")),
        ("view/pointer.js", include_str!("../src/page/html/view/pointer.js")),
        ("view/view.js", include_str!("../src/page/html/view/view.js")),
        ("tools.js", include_str!("../src/page/html/tools.js")),
        ("page.js", include_str!("../src/page/html/page.js")),
    ];
    let page = files.into_iter().fold(small_page().to_html(), |page, (name, text)| {
        assert_eq!(page.matches(text).count(), 1, "{name} is on the page once, as it is");
        page.replace(text, &format!("({name})\n"))
    });
    // The policy holds the hashes of style and scripts.
    let page: Vec<&str> = page.split("'sha256-").collect();
    let page: Vec<&str> = page
        .iter()
        .enumerate()
        .map(|(at, part)| if at == 0 { part } else { part.split_once('\'').unwrap().1 })
        .collect();
    check("page.html", &page.join("'sha256-…'"));
}
