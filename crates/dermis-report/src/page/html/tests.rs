//! Text from files, numbers that are not finite, and shapes that do not fit.

use crate::page::*;

const NASTY: &str = "</script><script>alert(1)</script><!-- \" onload='x' & {{data}} \u{0}\u{2028}\u{1b}";

/// A page with the same text in every place that takes one, and the same number in every place that takes one.
fn page_of(text: &str, number: f32) -> Page {
    let t = || text.to_string();
    let pose = PoseRef { set: 0, pose: 0 };
    let triangle = |x: f32| vec![[0.0, 0.0, 0.0], [x, 0.0, 0.0], [0.0, x, 0.0]];
    Page {
        title: t(),
        subtitle: t(),
        verdict: Some(PageVerdict { text: t(), tone: Tone::Caution }),
        pass: Some(PageVerdict { text: t(), tone: Tone::Bad }),
        warnings: vec![
            PageWarning { text: format!("in \"{}\" it is far", t()), pose: Some(pose) },
            PageWarning { text: t(), pose: Some(pose) },
        ],
        unit: LengthUnit { name: t(), scale: number },
        model_name: t(),
        baseline_name: t(),
        figures: vec![
            KeyFigure { label: t(), value: Quantity::Length(number), note: t() },
            KeyFigure { label: t(), value: Quantity::Text(t()), note: t() },
        ],
        view: Some(SkinView {
            triangles: vec![[0, 1, 2]],
            rest: triangle(1.0),
            parents: vec![None],
            first: 0,
            surface: Some(DrawnSurface {
                source: vec![0, 1, 2, 0],
                uvs: vec![[number; 2]; 4],
                triangles: vec![[3, 1, 2]],
                parts: vec![(0, 1, Some(0))],
                pictures: vec![(t(), vec![1, 2, 3])],
            }),
            left_out: vec![t()],
            poses: vec![ShownPose {
                label: t(),
                set: t(),
                note: t(),
                pose: Some(pose),
                time: Some(f64::from(number)),
                precision: Precision::Full,
                joints: vec![[number; 3]],
                target: triangle(1.0),
                model: triangle(number),
                baseline: Some(triangle(number)),
            }],
        }),
        rig: Some(RigView {
            triangles: vec![[0, 1, 2]],
            rest: triangle(1.0),
            bones: vec![RigBone {
                name: t(),
                parent: None,
                head: [number; 3],
                axes: [[number; 3]; 3],
                arcs: vec![RigArc { name: t(), about: [number; 3], zero: [number; 3], range: [number; 2] }],
                limits: t(),
            }],
            weights: vec![vec![(0, number)]; 3],
            maps: vec![vec![(0, number)]; 3],
            mirror: Some(RigMirror {
                normal: [number; 3],
                plane: number,
                partners: vec![None; 3],
                bones: vec![0],
                asymmetry: vec![number; 3],
            }),
            islands: vec![0; 3],
            seams: vec![[0, 1]],
            borders: vec![[1, 2]],
        }),
        sets: vec![ScoredSet {
            name: t(),
            poses: vec![ScoredPose {
                label: t(),
                rms: number,
                max: number,
                p95: number,
                baseline_rms: Some(number),
                baseline_max: Some(number),
                distance_degrees: Some(number),
                distance_joint: Some(t()),
                guarded_share: Some(number),
                limited_share: Some(number),
            }],
        }],
        worst: vec![WorstVertexRow { vertex: 1, bone: t(), pose, error: number }],
        comparison: vec![MethodRow {
            method: t(),
            train: Some(number),
            held_out: Some(number),
            model_bytes: Some(1),
            fit_seconds: Some(number),
            vertices_per_second: Some(number),
            note: t(),
        }],
        sweep: Some(StrengthSweep {
            points: vec![SweptStrength { s: number, train_rms: number, validated_rms: number }],
            chosen_s: number,
            what: t(),
        }),
        tables: vec![PageTable {
            title: t(),
            note: t(),
            columns: vec![t(), t()],
            rows: vec![vec![Quantity::Number(number), Quantity::Text(t()), Quantity::Count(1)], vec![]],
        }],
        settings: vec![(t(), t())],
        provenance: Provenance {
            program: t(),
            date: Some(t()),
            command: Some(t()),
            files: vec![FileStamp { role: t(), path: t(), bytes: 1, hash: t() }],
        },
    }
}

/// Every element closed in order, every attribute quoted: a reader of tags that shares no code with the writer.
/// What it returns are the tags and the contents of script elements.
fn check_tags(html: &str) -> (Vec<String>, Vec<String>) {
    let (mut open, mut seen, mut scripts) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = html.strip_prefix("<!doctype html>").unwrap();
    while let Some(start) = rest.find('<') {
        let tag_and_more = &rest[start + 1..];
        let mut quoted = false;
        let end = tag_and_more
            .find(|c| {
                quoted ^= c == '"';
                c == '>' && !quoted
            })
            .expect("a tag ends");
        let tag = &tag_and_more[..end];
        rest = &tag_and_more[end + 1..];
        let word = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        assert!(!word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric()), "odd tag <{tag}>");
        seen.push(word.to_string());
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(word), "</{word}> closes nothing");
        } else if !["meta", "link"].contains(&word) {
            open.push(word.to_string());
            if word == "script" || word == "style" {
                let close = rest.find(&format!("</{word}>")).expect("raw text ends");
                if word == "script" {
                    scripts.push(rest[..close].to_string());
                }
                rest = &rest[close..];
            }
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    (seen, scripts)
}

#[test]
fn text_from_files_cannot_become_markup() {
    let (plain_tags, _) = check_tags(&page_of("plain", 1.0).to_html());
    let html = page_of(NASTY, 1.0).to_html();
    let (tags, scripts) = check_tags(&html);
    assert_eq!(tags, plain_tags);
    assert_eq!(dermis_testkit::pages::faults(&html), [""; 0]);
    assert_eq!(scripts.len(), 3);
    let data: serde_json::Value = serde_json::from_str(&scripts[0]).unwrap();
    assert_eq!(data["view"]["frames"][0]["label"], NASTY);
    assert_eq!(html.matches("{{data}}").count(), html.matches("alert(1)").count(), "slots in data stay data");
    assert!(!html.contains('\u{1b}') && !html.contains('\u{0}'));
}

#[test]
fn numbers_that_are_none_never_reach_the_reader() {
    for number in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -f32::MAX, f32::MIN_POSITIVE, 0.0, -0.0] {
        let html = page_of("x", number).to_html();
        let (_, scripts) = check_tags(&html);
        serde_json::from_str::<serde_json::Value>(&scripts[0]).unwrap();
        let tables = html.split_once("<section").unwrap().1.split_once("<script").unwrap().0;
        assert!(!tables.contains("NaN") && !tables.contains(">inf") && !tables.contains("\"inf"), "{number}");
    }
}

#[test]
fn an_empty_page_has_no_empty_parts() {
    let html = Page::default().to_html();
    let (tags, _) = check_tags(&html);
    for absent in ["section", "table", "dl", "aside"] {
        assert!(!tags.contains(&absent.to_string()), "{absent}");
    }
    assert!(html.contains("<title>Report</title>"));
}

#[test]
fn the_page_asks_for_nothing_from_outside() {
    let html = page_of("x", 1.0).to_html();
    for address in ["http:", "https:", "//cdn", "@import", "url("] {
        // The name of SVG is an identifier, not a place.
        assert!(!html.replace("http://www.w3.org/2000/svg", "").contains(address), "{address}");
    }
    assert_eq!(html, page_of("x", 1.0).to_html(), "same page, same bytes");
}

#[test]
fn what_does_not_fit_is_said_and_not_shown() {
    let mut page = page_of("x", 1.0);
    page.worst[0].pose = PoseRef { set: 7, pose: 0 };
    let view = page.view.as_mut().unwrap();
    view.poses[0].pose = Some(PoseRef { set: 0, pose: 9 });
    view.poses.push(ShownPose { label: "short".into(), ..ShownPose::default() });
    let (_, scripts) = check_tags(&page.to_html());
    let data: serde_json::Value = serde_json::from_str(&scripts[0]).unwrap();
    assert_eq!(data["view"]["frames"].as_array().unwrap().len(), 1);
    assert!(data["view"]["frames"][0]["pose"].is_null());
    assert!(page.to_html().contains("3 warnings") && page.to_html().contains("Frame &quot;short&quot;"));
}
