use super::*;
use crate::page::Tone;

fn viewer() -> Viewer {
    let frame = |at: usize| ViewerFrame {
        label: format!("frame {at}"),
        time: at as f64 / 24.0,
        target: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, at as f32, 0.0]],
    };
    Viewer {
        title: "hero </title><script>".into(),
        headline: Some(PageVerdict { text: "Not validated.".into(), tone: Tone::Caution }),
        notes: vec!["a < b".into()],
        glb: b"glTF and more".to_vec(),
        frames: (0..3).map(frame).collect(),
        ..Viewer::default()
    }
}

/// The page asks for no other file, and no text ends a script early.
#[test]
fn the_page_is_whole() {
    let html = viewer().to_html();
    assert!(!html.contains("{{"), "a slot is left");
    assert_eq!(html.matches("<script").count(), html.matches("</script>").count());
    assert_eq!(html.matches("<script").count(), 7);
    for outside in ["src=\"http", "href=\"http", "src='", "import(", "fetch(", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(dermis_testkit::pages::faults(&html), [""; 0]);
    assert!(html.contains("a &lt; b"));
    assert!(html.contains(&STANDARD.encode(b"glTF and more")));
    assert_eq!(html, viewer().to_html());
}

#[test]
fn long_motions_show_fewer_true_skins() {
    assert_eq!((every(0, 0), every(12, 13_380), every(200, 13_380)), (1, 1, 1));
    // 8 bytes per vertex and frame: 107 MB.
    assert_eq!(every(1000, 13_380), 5);
    assert_eq!(every(usize::MAX, usize::MAX), usize::MAX.div_ceil(MOST_TARGET_BYTES));
}
