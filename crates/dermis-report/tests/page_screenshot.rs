//! The report page in a real browser: it draws, it reacts, and nothing from a file or a broken number stops it.
//!
//! Needs Chromium: `cargo xtask test` runs these tests where there is one.

mod sample;

use dermis_report::page::Page;
use dermis_testkit::pages::{Place, with_script};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The picture or document that `tools/screenshot.sh` makes of a page.
fn browser(folder: &Path, html: &str, fragment: &str, out: &str) -> PathBuf {
    let page = folder.join("page.html");
    std::fs::write(&page, html).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/screenshot.sh");
    let out = folder.join(out);
    let run = Command::new("sh")
        .arg(script)
        .arg(format!("{}{fragment}", page.display()))
        .arg(&out)
        .args(["1200", "1500"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    out
}

/// A browser without a screen may leave out frames when it is busy: here every one asked for is drawn.
const FRAMES: &str = "window.requestAnimationFrame = (draw) => setTimeout(draw, 16);";

/// The tag `<html …>` of a page after its scripts have run, with `script` added at the end.
fn root_tag(page: &Page, fragment: &str, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let html = with_script(&page.to_html(), Place::First, FRAMES);
    let html = with_script(&html, Place::Last, script);
    let dom = std::fs::read_to_string(browser(folder.path(), &html, fragment, "dom.html")).unwrap();
    let start = dom.find("<html").expect("a document");
    dom[start..start + dom[start..].find('>').unwrap()].to_string()
}

/// The sample as a picture, and the place of the 3D view in it: x, y, width, height.
fn picture(fragment: &str) -> (Vec<[u8; 3]>, usize, [usize; 4]) {
    let place = "const b = document.querySelector('.stage').getBoundingClientRect();
        document.documentElement.dataset.place = [b.x, b.y, b.width, b.height].map(Math.round).join(' ');";
    let root = root_tag(&sample::page(), fragment, place);
    assert!(root.contains("data-state=\"ready\""), "{root}");
    let renderer = if fragment.is_empty() { "webgl2" } else { "software" };
    assert!(root.contains(&format!("data-renderer=\"{renderer}\"")), "{root}");
    let place = root.split("data-place=\"").nth(1).unwrap().split('"').next().unwrap();
    let place: Vec<usize> = place.split(' ').map(|n| n.parse().unwrap()).collect();

    let folder = tempfile::tempdir().unwrap();
    let png = browser(folder.path(), &sample::page().to_html(), fragment, "page.png");
    let mut decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(png).unwrap()));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes.chunks_exact(info.color_type.samples()).map(|p| [p[0], p[1], p[2]]).collect();
    (pixels, info.width as usize, [place[0], place[1], place[2], place[3]])
}

fn check_picture(fragment: &str) {
    let (pixels, width, [left, top, wide, high]) = picture(fragment);
    let third = |i: usize| {
        let x = left + i * wide / 3..left + (i + 1) * wide / 3;
        let pixels = &pixels;
        // The uppermost tenth holds the names.
        (top + high / 10..top + high).flat_map(move |y| x.clone().map(move |x| pixels[y * width + x]))
    };
    let area = (wide / 3 * high) as f64;
    let share = |i: usize, test: &dyn Fn(&[u8; 3]) -> bool| third(i).filter(|p| test(p)).count() as f64 / area;
    let spread = |p: &[u8; 3]| p.iter().max().unwrap() - p.iter().min().unwrap();
    // The ground is a bluish grey: red below blue, the two less than 20 apart. Clay has red above blue; the colours of
    // the error are far more vivid than both. The limb fills between a tenth and half of its pane.
    let clay = share(0, &|p| p[0] > p[2] && spread(p) < 40);
    assert!((0.1..0.6).contains(&clay), "target in clay: {clay}");
    for pane in [1, 2] {
        let vivid = share(pane, &|p| spread(p) > 45);
        assert!((0.1..0.6).contains(&vivid), "pane {pane} coloured: {vivid}");
    }
    // Violet is the far end of the map: the baseline reaches it, the model, eight times closer, must not.
    let violet = |i| share(i, &|p| p[2] > p[1].saturating_add(40) && p[2] > p[0].saturating_sub(40));
    assert!(violet(2) > 0.01 && violet(1) < 0.002, "violet: model {}, baseline {}", violet(1), violet(2));
    let colours: std::collections::HashSet<[u8; 3]> = third(2).map(|p| p.map(|c| c / 16)).collect();
    assert!(colours.len() > 40, "{} colours", colours.len());
}

mod with_chromium {
    use super::*;

    #[test]
    fn the_3d_view_shows_three_skins_in_colour() {
        check_picture("");
    }

    #[test]
    fn the_software_renderer_shows_the_same() {
        check_picture("#renderer=software");
    }

    /// Clicks, keys and wheel, each followed by what must have changed; the first that has not is named.
    const USE_THE_PAGE: &str = include_str!("sample/use_the_page.js");

    #[test]
    fn it_can_be_used() {
        for fragment in ["", "#renderer=software"] {
            let root = root_tag(&sample::page(), fragment, USE_THE_PAGE);
            assert!(root.contains("data-use=\"fine\"") && root.contains("data-state=\"ready\""), "{fragment} {root}");
        }
    }

    /// A page in a frame as wide as a telephone: one skin at a time, and nothing wider than the frame.
    #[test]
    fn it_fits_a_telephone() {
        let folder = tempfile::tempdir().unwrap();
        let inner = serde_json::to_string(&sample::page().to_html()).unwrap().replace('<', "\\u003c");
        let outer = format!(
            "<!doctype html><html><body><script>
            const f = document.createElement('iframe'), root = document.documentElement;
            [f.width, f.height, f.srcdoc] = [400, 900, {inner}];
            document.body.append(f);
            setTimeout(() => {{
                const d = f.contentDocument, shown = () => [...d.querySelectorAll('.pane b')].map((e) => e.textContent).join();
                const first = shown();
                d.querySelector('[data-key=target]').click();
                root.dataset.seen = [d.documentElement.dataset.state, d.documentElement.scrollWidth, first, shown(),
                    getComputedStyle(d.querySelector('[data-key=all]')).display].join(' ');
            }}, 2000);
            </script></body></html>"
        );
        let dom = std::fs::read_to_string(browser(folder.path(), &outer, "", "dom.html")).unwrap();
        let start = dom.find("<html").unwrap();
        let root = &dom[start..start + dom[start..].find('>').unwrap()];
        assert!(root.contains("data-seen=\"ready 400 mwe target none\""), "{root}");
    }

    /// Texts that would end the script block, numbers that are none, shapes that flew apart: all of it is shown or left out.
    #[test]
    fn broken_content_does_not_break_it() {
        let mut page = sample::page();
        let nasty = "</script><script>document.documentElement.dataset.owned = 1</script><img src=x onerror=alert(1)>";
        page.title = nasty.into();
        page.unit.name = nasty.into();
        page.model_name = nasty.into();
        page.tables[0].rows[0][0] = dermis_report::page::Quantity::Text(nasty.into());
        for set in &mut page.sets {
            for pose in &mut set.poses {
                pose.label = nasty.into();
                (pose.rms, pose.max, pose.baseline_rms) = (f32::NAN, f32::INFINITY, None);
            }
        }
        for point in &mut page.sweep.as_mut().unwrap().points {
            (point.train_rms, point.validated_rms) = (f32::NAN, 1e30);
        }
        let view = page.view.as_mut().unwrap();
        view.rest[5] = [f32::NAN; 3];
        view.poses[0].label = nasty.into();
        view.poses[0].model.fill([f32::NAN; 3]);
        view.poses[1].model[9] = [3e38, -3e38, f32::INFINITY];
        view.poses[1].target[7] = [f32::NEG_INFINITY; 3];
        view.poses[2].model[0] = [3e38, -3e38, 1e30];
        view.poses[2].target.fill([0.0; 3]);
        view.poses[3].target.fill([f32::NAN; 3]);
        let visit = "const f = document.querySelector('#view-frame');
        for (const option of f.options) { f.value = option.value; f.onchange(); }
        document.querySelectorAll('th button, .segments button').forEach((b) => b.click());
        document.documentElement.dataset.visited = f.options.length;";
        for fragment in ["", "#renderer=software"] {
            let root = root_tag(&page, fragment, visit);
            assert!(root.contains("data-state=\"ready\"") && root.contains("data-visited=\"37\""), "{root}");
            assert!(!root.contains("owned"), "{root}");
        }
        let root = root_tag(&Page::default(), "", "");
        assert!(root.contains("data-state=\"ready\""), "{root}");
    }
}
