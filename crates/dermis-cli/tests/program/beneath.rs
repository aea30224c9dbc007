//! A model beneath another: fitted, scored, posed, delivered, refused.

use crate::tube::{Flesh, Tube};
use crate::{Desk, number};

/// A bulge by the elbow in fourteen poses, other poses of it, and an enveloping of the first.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 14, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 7, 0.4, Flesh::Bulge).bundle());
    desk.good("fit train.npz --examples train.npz --method mwe -s 0.3 -o under.dermis");
    desk
}

/// Oracle: a pose space without smoothing meets its examples over any base.
#[test]
fn a_model_over_a_model_corrects_what_that_one_leaves() {
    let desk = desk();
    let fitted = desk.json(
        "fit train.npz --examples train.npz --method psd -s 0 --base under.dermis --hold-out test.npz -o over.dermis --json",
    );
    let [under, over] = ["under", "over"].map(|m| desk.json(&format!("eval {m}.dermis --examples train.npz --json")));
    assert!(number(&over, "error.rms") < 1e-3 * number(&under, "error.rms"), "{over}");
    assert_eq!(over["error"], fitted["train"], "read back from its file");
    // What the model beneath was trained on stays known.
    let known = desk
        .good("fit train.npz --examples test.npz --method psd --base under.dermis --hold-out train.npz -o x.dermis");
    assert!(known.out.contains("Not validated; all 14 poses"), "{}{}", known.out, known.err);
}

#[test]
fn a_model_over_a_model_leaves_with_fitted_drivers() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --method psd --base under.dermis -o over.dermis");
    for model in ["under", "over"] {
        let line =
            format!("export drivers {model}.dermis --motion test.npz --table {model}.json -o {model}.glb --json");
        let cost = desk.json(&line);
        assert_eq!(cost["fitted"], true);
        let [alone, shapes] = ["weights_alone", "shapes"].map(|what| number(&cost, &format!("motion.{what}.rms")));
        assert!(shapes < 0.35 * alone, "{cost}");
        desk.good(&format!("export viewer {model}.dermis --motion test.npz -o {model}_page"));
    }
}

#[test]
fn what_cannot_lie_beneath_is_refused() {
    let desk = desk();
    desk.put("other.npz", Tube::new(11, 3, 0.0, Flesh::Bulge).bundle());
    for (line, says) in [
        (
            "fit train.npz --examples train.npz --method mwe --base under.dermis --stream -o x.dermis",
            &["over a model", "sums"],
        ),
        ("fit other.npz --examples other.npz --base under.dermis -o x.dermis", &["74 vertices", "has 90"]),
        ("fit train.npz --examples train.npz --base nothing.dermis -o x.dermis", &["nothing.dermis", "no such file"]),
    ] {
        desk.bad(line, says);
        assert!(!desk.names(".").contains(&"x.dermis".into()), "{line}");
    }
}
