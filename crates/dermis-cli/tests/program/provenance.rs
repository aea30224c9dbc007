//! Nothing that is given away names a folder of whoever made it, and a recipe finds its files all the same.

use crate::tube::{Flesh, Tube};
use crate::{Desk, exists};
use dermis_workflow::io::model_file;
use serde_json::{Value, json};
use std::path::Path;

/// A folder with files in folders of their own.
fn desk() -> Desk {
    let desk = Desk::new();
    let train = Tube::new(9, 12, 0.0, Flesh::Bulge);
    desk.put("data/train.npz", train.bundle());
    desk.put("data/test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk.put("data/rig.glb", train.glb());
    desk.put("data/skins.pc2", train.pc2());
    train.objs(&desk, "data/frames");
    for folder in ["models", "pages", "out"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    desk
}

/// Every verb with its files as absolute paths. [`Desk`] looks for the folder in whatever was written; here stands what the verbs print.
#[test]
fn absolute_paths_stay_with_whoever_typed_them() {
    let desk = desk();
    let here = desk.folder.path().canonicalize().unwrap().display().to_string();
    let train = format!("{here}/data/train.npz");
    let absolute = |line: &str| line.replace("HERE", &here);
    let scene = json!({"rig": train, "time": {"to": 0.1}}).to_string();
    desk.put("input/scene.json", scene);
    for line in [
        "fit HERE/data/train.npz --examples HERE/data/train.npz --hold-out HERE/data/test.npz -o HERE/models/m.dermis --report HERE/pages/fit.html --json",
        "fit HERE/data/rig.glb --examples HERE/data/rig.glb#bends HERE/data/skins.pc2 --folds 0 -o HERE/models/caches.dermis --report=HERE/pages/caches.html --json",
        "fit HERE/data/train.npz --sculpts HERE/data/frames/bend3.obj@3 --poses HERE/data/train.npz -o HERE/models/sculpted.dermis --report HERE/pages/sculpted.html --json",
        "fit HERE/data/train.npz --examples HERE/data/train.npz --method mwe --set duplicates=-1 --stream -o HERE/models/streamed.dermis --json",
        "fit HERE/data/train.npz --examples HERE/data/train.npz --method mwe --base HERE/models/m.dermis --folds 0 -o HERE/models/over.dermis --json",
        "fit HERE/data/train.npz --examples HERE/data/train.npz --method mwe --accumulate HERE/out/a.part --json",
        "fit HERE/data/train.npz --merge HERE/out/a.part --method mwe --folds 0 -o HERE/models/merged.dermis --json",
        "recipe HERE/models/m.dermis",
        "eval HERE/models/m.dermis --examples HERE/data/test.npz --report HERE/pages/eval.html --vertex-errors HERE/out/e.csv --json",
        "compare HERE/data/train.npz --examples HERE/data/train.npz --hold-out HERE/data/test.npz --methods lbs --json",
        "decompose HERE/data/frames --bones 2 -o HERE/out/bones.glb --report HERE/pages/bones.html --json",
        "suggest HERE/models/m.dermis --motion HERE/data/test.npz -o HERE/out/todo.npz --json",
        "export viewer HERE/models/m.dermis --motion HERE/data/test.npz -o HERE/out/view",
        "export viewer HERE/models/m.dermis --motion HERE/data/test.npz -o HERE/pages/view.html",
        "export shapes HERE/models/m.dermis --motion HERE/data/test.npz -o HERE/out/shapes.glb --json",
        "export drivers HERE/models/m.dermis --motion HERE/data/test.npz --table HERE/out/table.json -o HERE/out/driven.glb --json",
        "export bones HERE/models/m.dermis --motion HERE/data/test.npz --hold-out HERE/data/test.npz -o HERE/out/lbs.glb --json",
        "convert HERE/data/frames -o HERE/out/frames.npz",
        "convert HERE/data/rig.glb#bends HERE/data/skins.pc2 -o HERE/out/both.npz",
        "convert HERE/data/train.npz -o HERE/out/train.bvh",
        "pose HERE/models/m.dermis --motion HERE/data/test.npz -o HERE/out/posed.npz",
        "weights HERE/data/train.npz --heat -o HERE/out/heat.npz",
        "weights HERE/data/train.npz --scans HERE/data/frames/bend0.obj HERE/data/frames/bend2.obj --pose-rounds 1 --rounds 1 -o HERE/out/scanned.glb --report HERE/pages/scans.html",
        "invert HERE/data/train.npz --sculpts HERE/data/train.npz --rest-space -o HERE/out/rest.npz",
        "exercise HERE/data/train.npz --count 6 -o HERE/out/exercise.npz",
        "retarget HERE/data/test.npz HERE/data/train.npz -o HERE/out/moved.npz",
        "animate HERE/input/scene.json -o HERE/out/scene.glb",
        "inspect HERE/data/train.npz --report HERE/pages/inspect.html",
        "session new HERE/data/train.npz -o HERE/out/s --motion HERE/data/test.npz --truth HERE/data/test.npz",
        "session next HERE/out/s -n 1 -o HERE/out/next.npz",
        "session add HERE/out/s HERE/data/frames/bend2.obj@test:2",
        "session export HERE/out/s HERE/out/session.dermis",
        "view HERE/data/rig.glb -o HERE/pages/rig.html",
        "view HERE/data/frames -o HERE/pages/frames.html",
    ] {
        let said = desk.good(&absolute(line)).out;
        // A report is what `dermis report` reads, and a recipe what is sent with a model.
        let is_report = ["fit ", "eval ", "compare ", "recipe ", "decompose ", "suggest ", "export "]
            .iter()
            .any(|verb| line.starts_with(verb));
        if is_report && !line.contains("viewer") {
            assert!(!said.contains(&here), "{line}\n{said}");
        }
    }
    std::fs::remove_dir_all(desk.path("input")).unwrap();
    let lines = ["fit", "eval"].map(|verb| {
        let line = match verb {
            "fit" => "fit HERE/data/train.npz --examples HERE/data/train.npz --hold-out HERE/data/test.npz --json",
            _ => "eval HERE/models/m.dermis --examples HERE/data/test.npz --json",
        };
        desk.put(&format!("{verb}/outcome.json"), desk.good(&absolute(line)).out);
        format!("{here}/{verb}/outcome.json")
    });
    desk.good(&format!("report {} {} -o {here}/pages/two.html", lines[0], lines[1]));
    let page = String::from_utf8(desk.bytes("pages/two.html")).unwrap();
    assert!(
        page.contains("<code>dermis report fit/outcome.json eval/outcome.json -o pages/two.html</code>"),
        "paths from the working folder"
    );
    let page = String::from_utf8(desk.bytes("pages/fit.html")).unwrap();
    assert!(
        page.contains("<code>train.npz</code>") && page.contains("dermis fit data/train.npz"),
        "names alone, of files elsewhere"
    );
}

/// What the user asks for is kept: a model and a page with the paths as they were typed.
#[test]
fn full_provenance_keeps_paths() {
    let desk = desk();
    let here = desk.folder.path().canonicalize().unwrap().display().to_string();
    let line = format!(
        "fit {here}/data/train.npz --examples data/train.npz --folds 0 -o m.dermis --report m.html --provenance full"
    );
    desk.good(&line);
    let model = String::from_utf8_lossy(&desk.bytes("m.dermis")).into_owned();
    let page = String::from_utf8(desk.bytes("m.html")).unwrap();
    for text in [&model, &page] {
        assert!(text.contains(&format!("{here}/data/train.npz")));
    }
    assert!(page.contains(&line));
    let recipe = json!({"fit": {"rig": {"file": format!("{here}/data/train.npz")},
        "examples": {"held": [{"file": "data/train.npz"}]}, "folds": 0,
        "outputs": {"model": "n.dermis", "provenance": "full"}}});
    desk.put("r.json", recipe.to_string());
    desk.good("run r.json");
    assert!(String::from_utf8_lossy(&desk.bytes("n.dermis")).contains(&here));
    for name in ["m.dermis", "m.html", "n.dermis", "r.json"] {
        std::fs::remove_file(desk.path(name)).unwrap();
    }
}

/// A recipe finds its files from its own folder, then from the working folder, then by name, and names what it does not find.
#[test]
fn a_recipe_finds_its_files() {
    let desk = desk();
    let held =
        |model: &str| -> Value { model_file::read(&desk.bytes(model)).unwrap().header.recipe.unwrap()["fit"].clone() };
    let stored = |model: &str| -> Value { desk.json(&format!("recipe {model}"))["fit"]["rig"]["file"].clone() };
    // Below the model's folder: the path. The recipe is printed as it leads from here.
    desk.good("fit data/train.npz --examples data/train.npz --folds 0 -o a.dermis");
    assert_eq!(stored("a.dermis"), "data/train.npz");
    desk.good("fit --recipe a.dermis -o b.dermis");
    assert!(desk.bytes("a.dermis") == desk.bytes("b.dermis"));
    // Elsewhere: the name, found where the model's folder or the working folder has it.
    desk.good("fit data/../data/train.npz --examples data/train.npz --folds 0 -o models/c.dermis");
    assert_eq!(held("models/c.dermis")["rig"]["file"], "train.npz");
    desk.bad(
        "fit --recipe models/c.dermis -o d.dermis",
        &["\"train.npz\"", "\"models\", the folder of the recipe", "copy it there"],
    );
    std::fs::copy(desk.path("data/train.npz"), desk.path("train.npz")).unwrap();
    desk.good("fit --recipe models/c.dermis -o d.dermis");
    // Another file of that name in the model's folder is passed over for the one with the recipe's hash.
    std::fs::copy(desk.path("data/test.npz"), desk.path("models/train.npz")).unwrap();
    desk.good("fit --recipe models/c.dermis -o e.dermis");
    assert!(desk.bytes("d.dermis") == desk.bytes("e.dermis"));
    std::fs::remove_file(desk.path("train.npz")).unwrap();
    desk.bad("fit --recipe models/c.dermis -o f.dermis", &["models/train.npz", "another file", "SHA-256"]);
    assert!(!exists(&desk.path("f.dermis")));
    // A recipe of another system, or of a folder that is not there any more.
    std::fs::copy(desk.path("data/train.npz"), desk.path("models/train.npz")).unwrap();
    let recipe = |path: &str| {
        json!({"fit": {"rig": {"file": path}, "examples": {"held": [{"file": format!("{path}#!*3")}]}, "folds": 0}})
            .to_string()
    };
    for path in [
        "C:\\Users\\ann\\my shots\\train.npz",
        "/home/ann/shots/train.npz",
        "../../shots/train.npz",
        "\\\\server\\shots\\train.npz",
    ] {
        desk.put("models/r.json", recipe(path));
        desk.good("fit --recipe models/r.json -o models/g.dermis --force");
        let model = held("models/g.dermis");
        assert_eq!(model["rig"]["file"], "train.npz", "{path}");
        assert_eq!(model["examples"]["held"][0]["file"], "train.npz#!*3", "{path}");
        desk.put("models/r.json", recipe(&path.replace("train", "nowhere")));
        desk.bad("fit --recipe models/r.json -o x.dermis", &["nowhere.npz", "the folder of the recipe"]);
    }
    // Recipes of a session run in its folder.
    desk.good("session new data/train.npz -o s --motion data/test.npz");
    desk.good("session add s data/frames/bend2.obj@test:2");
    desk.good("session export s out/hero.dermis");
    let mut again = desk.command("fit --recipe ../out/hero.dermis -o ../out/again.dermis");
    let run = again.current_dir(desk.path("s")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(exists(Path::new(&desk.path("out/again.dermis"))));
}
