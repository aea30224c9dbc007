//! `dermis figures`

use crate::tube::{Flesh, Tube};
use crate::{Desk, keys};
use std::path::Path;

#[test]
fn the_figures_of_pose_space_are_a_page_with_its_numbers() {
    let desk = Desk::new();
    let text = desk.good("figures pose-space --out figures").out;
    for word in ["thumb bent by 45°", "arm twist 90°, shoulder 80°", "1.000000", "reproduced", "pose-space.html"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    assert_eq!(desk.names("figures"), ["pose-space.html"]);
    let page = String::from_utf8(desk.bytes("figures/pose-space.html")).unwrap();
    assert!(page.matches("<svg").count() == page.matches("</svg>").count() && page.matches("<svg").count() > 26);
    assert!(!page.contains("NaN") && !page.contains("inf,") && !page.contains("://"));
    desk.bad("figures pose-space --out figures", &["\"figures\" exists already", "--force"]);
    desk.good("figures pose-space --out figures --force");
    desk.bad("figures pose-space --out no/where", &["no/where"]);
    for line in ["figures pose-space --out x.html", "demo --out x.html", "session new x.npz --out x.html"] {
        let run = desk.run(line);
        assert!(run.code == 2 && !crate::exists(&desk.path("x.html")), "{line}: {}", run.err);
    }
    desk.bad("figures pose-space --out x.html", &["\"x.html\"", "several files", "leave .html out"]);
}

/// A character of the user's takes the place of the bundled body; no page claims what its numbers contradict.
#[test]
fn all_documents_are_made_of_a_character_with_an_index() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 20, 0.0, Flesh::Bulge).bundle());
    desk.put("b.npz", Tube::new(9, 5, 0.4, Flesh::Bulge).bundle());
    let told = desk.json("figures all --rig a.npz --examples a.npz --hold-out b.npz --out figures --json");
    assert_eq!(keys(&told), ["documents", "written"]);
    let pages = ["course.html", "envelope.html", "index.html", "pose-space.html", "scans.html", "skinning.html"];
    assert_eq!(desk.names("figures"), pages);
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/figures.md");
    let list = std::fs::read_to_string(list).unwrap();
    for document in told["documents"].as_array().unwrap() {
        for figure in document["figures"].as_array().unwrap() {
            let row = format!("| {} | ", figure["figure"].as_str().unwrap());
            assert!(list.contains(&row), "docs/figures.md does not list {figure}");
            let broken = figure["measured"].as_array().unwrap().iter().any(|m| m["holds"] == false);
            assert!(!(broken && figure["verdict"] == "reproduced"), "{figure}");
            assert!(
                figure["verdict"] == "reproduced" || figure["words"].as_str().unwrap().contains("because"),
                "{figure}"
            );
        }
    }
    let index = String::from_utf8(desk.bytes("figures/index.html")).unwrap();
    assert!(index.contains("href=\"envelope.html#figure-0\"") && !index.contains("://"));
}

#[test]
fn what_figures_cannot_be_made_from_is_named() {
    let desk = Desk::new();
    desk.put("a.npz", Tube::new(9, 3, 0.0, Flesh::Bulge).bundle());
    desk.put("bare.npz", Tube::new(9, 6, 0.0, Flesh::Bulge).bundle_without_weights());
    for (line, says) in [
        ("figures envelope --rig a.npz --examples a.npz --hold-out a.npz --out f", &["at least four examples"][..]),
        ("figures envelope --rig bare.npz --examples bare.npz --hold-out bare.npz --out f", &["skinning weights"]),
        ("figures envelope --rig a.npz --out f", &["--examples"]),
        ("figures nothing --out f", &["nothing"]),
        ("figures envelope", &["--out"]),
    ] {
        desk.bad(line, says);
    }
}
