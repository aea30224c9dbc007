//! `dermis suggest`

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists, keys, number};

#[test]
fn suggested_poses_are_told_and_written_for_the_sculptor() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 7, 0.4, Flesh::Bulge).bundle());
    desk.put("a.glb", Tube::new(9, 6, 0.3, Flesh::Bulge).glb());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    desk.good("fit a.npz --examples a.npz --folds 0 --method psd -o psd.dermis");
    let answer = desk.json("suggest m.dermis --motion b.npz --count 2 --json -o poses.npz");
    assert_eq!(
        keys(&answer),
        [
            "suggestions",
            "frames",
            "frames_looked_at",
            "poses_to_choose_from",
            "training_poses",
            "unknown_share",
            "lacks"
        ]
    );
    let list = answer["suggestions"].as_array().unwrap();
    assert!(list.len() == 2 && number(&list[0], "gain") >= number(&list[1], "gain"), "{answer}");
    assert!(number(&list[1], "error_left") < number(&list[0], "error_left"));
    let file = &desk.json("inspect poses.npz --json")[0];
    assert_eq!((file["poses"].as_u64(), file["skins"].as_u64()), (Some(2), Some(0)));
    // The bundle is a rig and a motion: what a sculptor's tool needs to begin.
    desk.good("pose m.dermis --motion poses.npz -o skins.npz");
    desk.good("suggest m.dermis --motion b.npz --among poses.npz");
    for line in ["suggest m.dermis --motion b.npz", "suggest psd.dermis --motion a.glb --clip bends"] {
        let text = desk.good(line).out;
        assert!(text.contains("new joints, degrees from training") && text.contains("gain"), "{text}");
    }
}

/// Before the first sculpt there is a rig alone: the poses farthest from its bind pose are suggested.
#[test]
fn a_rig_without_a_model_gets_suggestions() {
    let (desk, tube) = (Desk::new(), Tube::new(9, 8, 0.0, Flesh::Bulge));
    desk.put("a.npz", tube.bundle());
    desk.put("poses.npz", tube.motion());
    let told = desk.json("suggest a.npz --motion poses.npz --count 2 -o next.npz --json");
    assert!(!told["suggestions"].as_array().unwrap().is_empty(), "{told}");
    assert!(desk.json("inspect next.npz --json")[0]["poses"].as_u64().unwrap() >= 1);
}

#[test]
fn what_suggest_cannot_use_is_named_and_nothing_is_written() {
    let desk = Desk::new();
    let tube = Tube::new(9, 6, 0.0, Flesh::Bulge);
    desk.put("a.npz", tube.bundle());
    desk.put("a.glb", tube.glb());
    desk.put("skins.npz", tube.sequence());
    desk.good("fit a.npz --examples a.npz --folds 0 -o m.dermis");
    for (line, says) in [
        ("suggest skins.npz --motion a.npz -o p.npz", &["\"skins.npz\""][..]),
        ("suggest m.dermis --motion skins.npz -o p.npz", &["\"skins.npz\""]),
        ("suggest m.dermis --motion a.glb --clip run -o p.npz", &["no clip \"run\"", "bends"]),
        ("suggest m.dermis --motion a.npz#none -o p.npz", &["\"none\""]),
        ("suggest m.dermis --motion a.npz -o p.glb", &["p.glb", ".npz"]),
        ("suggest m.dermis --motion a.npz -o a.npz", &["\"a.npz\" exists already", "--force"]),
    ] {
        desk.bad(line, says);
    }
    assert!(!exists(&desk.path("p.npz")));
}
