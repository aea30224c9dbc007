//! Every kind of page in a browser: its policy forbids nothing that the page does.
//!
//! Whether a policy lets only a page's own scripts through is looked at wherever a test writes a page, when its [`Desk`] is put away.

mod with_chromium {
    use crate::Desk;
    use crate::tube::{Flesh, Tube};
    use dermis_testkit::pages::complaints;
    use dermis_workflow::io::{Space, obj, to_bytes};

    #[test]
    fn no_page_does_what_its_policy_forbids() {
        let desk = Desk::new();
        let train = Tube::new(9, 12, 0.0, Flesh::Bulge);
        desk.put("train.npz", train.bundle());
        desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
        desk.put("bare.npz", train.bundle_without_weights());
        train.objs(&desk, "objs");
        let tube = Tube::new(71, 4, 0.0, Flesh::Weights);
        for (at, skin) in tube.skins.iter().enumerate() {
            desk.put(
                &format!("scans/{at}.obj"),
                to_bytes(|out| obj::write(&tube.mesh, skin, &Space::default(), out)).unwrap(),
            );
        }
        let hand = dermis_testkit::bodies::hand(1.0, 8.0, 8.0);
        desk.put(
            "hand.obj",
            to_bytes(|out| obj::write(&hand.mesh, &hand.mesh.positions, &Space::default(), out)).unwrap(),
        );
        for line in [
            "fit train.npz --examples train.npz --hold-out test.npz -o joint.dermis --report fit.html",
            "fit train.npz --examples train.npz --method lbs --folds 0 -o lbs.dermis",
            "eval joint.dermis --examples test.npz --report eval.html",
            "inspect train.npz --report inspect.html",
            "decompose objs --bones 2 -o bones.glb --report decompose.html",
            "weights bare.npz --scans scans --pose-rounds 1 --rounds 1 -o scanned.glb --report scans.html",
            "rig hand.obj --template hand -o hand.glb --report rig.html",
            "export viewer joint.dermis --motion test.npz -o viewer",
            "figures all --rig train.npz --examples train.npz --hold-out test.npz --out figures",
            "view joint.dermis -o view_model.html",
            "view lbs.dermis --motion test.npz -o view_skins.html",
            "view train.npz -o view_rig.html",
            "view objs -o view_shapes.html",
            "view objs/bend1.obj -o view_mesh.html",
        ] {
            desk.good(line);
        }
        for verb in ["a", "b"] {
            desk.put(&format!("{verb}.json"), desk.good("eval joint.dermis --examples test.npz --json").out);
        }
        desk.good("report a.json b.json -o report.html");
        let mut pages: Vec<String> = desk.names("").into_iter().filter(|name| name.ends_with(".html")).collect();
        pages.extend(desk.names("figures").into_iter().map(|name| format!("figures/{name}")));
        pages.push("viewer/index.html".into());
        assert!(pages.len() >= 17, "{pages:?}");
        for page in pages {
            assert_eq!(complaints(&desk.path(&page)), [""; 0], "{page}");
        }
        // The check itself: a page whose style is changed does what its policy forbids.
        let page = String::from_utf8(desk.bytes("fit.html")).unwrap();
        desk.put("changed.html", page.replacen("<style>", "<style> ", 1));
        assert!(!complaints(&desk.path("changed.html")).is_empty());
        std::fs::remove_file(desk.path("changed.html")).unwrap();
    }
}
