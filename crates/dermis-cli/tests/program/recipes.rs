//! Recipes: every model holds the one that made it, and the same recipe makes the same bytes.

use crate::Desk;
use crate::tube::{Flesh, Tube};
use dermis_workflow::io::{model_file, to_bytes};
use serde_json::{Value, json};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("train.npz", Tube::new(9, 16, 0.0, Flesh::Bulge).bundle());
    desk.put("test.npz", Tube::new(9, 5, 0.5, Flesh::Bulge).bundle());
    desk
}

/// Stores the recipe of `a.dermis` as `r.json`, changed.
fn store_recipe(desk: &Desk, change: impl FnOnce(&mut Value)) {
    let mut recipe = desk.json("recipe a.dermis");
    change(&mut recipe);
    desk.put("r.json", recipe.to_string());
}

#[test]
fn a_recipe_makes_the_model_that_holds_it_again_to_the_byte() {
    let desk = desk();
    let anchors = "elbow\n".repeat(Tube::new(9, 1, 0.0, Flesh::Weights).mesh.positions.len());
    desk.put("anchors.txt", anchors);
    desk.put("mapped.npz", Tube::new(9, 1, 0.0, Flesh::Weights).with_maps().bundle());
    for options in [
        "",
        "-s 0.012345678901234567 --set sigma=0.71234567890123456 --mirror off --set frame=rest --set inducing=5",
        "--set blocks=4 --set tolerance=1.1 --hold-out test.npz",
        "--method mwe",
        "--method mwe --set rows=row --set anchor=bone:elbow --base dqs --set blocks=3 --set tolerance=1.05 --coefficients 16",
        "--method mwe --set ridge-mode=relative --set gcv=on --guard off --set rings=1 --set duplicates=1e-3",
        "--method mwe --set anchor=file:anchors.txt -s 0.1 --maps table:mapped.npz",
        "--published",
        "--method psd --set coordinates=euler --set kernel=wendland -s 1e-3",
        "--method psd --set linear=on --set sigma=0.8 --set budget=6,4 --set reach=global --set sparse=on",
        "--method eigenskin --set kept=count:2 --mirror on",
        "--method pose-blendshapes",
        "--method shape-by-example --set coordinates=rotation-vector --set kernel=polyharmonic -s 0 --mirror on",
        "--method lbs",
        "--method lbs --set influences=2 --set smoothness=0.1",
        "--method lbs --set influences=3 --set kind=affine",
        "--method dqs",
        "--method own-weights",
        "--method animation-space",
        "--method rotational-regression",
        "--method mwe --set duplicates=-1 --stream",
        "--method mwe --set duplicates=-1 --stream --set rows=row -s 0.01 --hold-out test.npz",
    ] {
        desk.good(&format!("fit train.npz --examples train.npz#!*3 --folds 0 -o a.dermis --force {options}"));
        let printed = desk.good("recipe a.dermis").out;
        desk.put("r.json", &printed);
        desk.good("fit --recipe r.json -o b.dermis --force");
        assert!(desk.bytes("a.dermis") == desk.bytes("b.dermis"), "{options}");
        assert_eq!(desk.good("recipe b.dermis").out, printed, "{options}");
    }
}

/// What a fit took by default is written down, so that other defaults would not change the model.
#[test]
fn a_recipe_states_every_input_with_its_hash_and_every_setting() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --hold-out test.npz -s 0.1 -o a.dermis");
    let recipe = &desk.json("recipe a.dermis")["fit"];
    for (input, file) in [
        (&recipe["rig"], "train.npz"),
        (&recipe["examples"]["held"][0], "train.npz"),
        (&recipe["hold-out"][0], "test.npz"),
    ] {
        assert_eq!(input["file"], file);
        assert_eq!(input["sha256"].as_str().unwrap().len(), 16, "{input}");
    }
    assert_eq!(recipe["rig"]["sha256"], recipe["examples"]["held"][0]["sha256"]);
    let joint = &recipe["method"]["joint"];
    assert_eq!(joint["ridge"], json!({"fixed": 0.1}));
    for setting in ["base", "frame", "sigma", "inducing", "mirror", "guard", "coefficients"] {
        assert!(!joint[setting].is_null(), "{setting} is not in {joint}");
    }
    assert!(recipe.get("outputs").is_none(), "outputs are the caller's: {recipe}");
}

#[test]
fn a_file_that_changed_is_refused_by_name() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --hold-out test.npz --folds 0 -o a.dermis");
    store_recipe(&desk, |_| {});
    let before = desk.bytes("train.npz");
    desk.put("train.npz", Tube::new(9, 17, 0.0, Flesh::Bulge).bundle());
    desk.bad("fit --recipe r.json -o b.dermis", &["\"train.npz\"", "another file", "SHA-256", "take \"sha256\" out"]);
    desk.put("train.npz", before);
    let before = desk.bytes("test.npz");
    desk.put("test.npz", Tube::new(9, 6, 0.5, Flesh::Bulge).bundle());
    desk.bad("fit --recipe r.json -o b.dermis", &["\"test.npz\"", "another file"]);
    // Without its hash any file serves, and the model's recipe states what it was.
    store_recipe(&desk, |recipe| drop(recipe["fit"]["hold-out"][0].as_object_mut().unwrap().remove("sha256")));
    desk.good("fit --recipe r.json -o b.dermis");
    let of = |model: &str| desk.json(&format!("recipe {model}"))["fit"]["hold-out"][0]["sha256"].clone();
    assert!(of("b.dermis").is_string() && of("a.dermis") != of("b.dermis"));
    desk.put("test.npz", before);
    std::fs::remove_file(desk.path("test.npz")).unwrap();
    store_recipe(&desk, |_| {});
    desk.bad("fit --recipe r.json -o c.dermis", &["test.npz"]);
    assert!(!desk.path("c.dermis").exists());
}

/// Streamed examples are checked before a model is left behind.
#[test]
fn a_streamed_file_that_changed_is_refused_by_name() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --method mwe --set duplicates=-1 --stream -o a.dermis");
    store_recipe(&desk, |_| {});
    desk.put("train.npz", Tube::new(9, 17, 0.0, Flesh::Bulge).bundle());
    desk.bad("fit --recipe r.json -o b.dermis", &["\"train.npz\"", "another file"]);
    assert!(!desk.path("b.dermis").exists());
}

/// No verb leaves an output made of another file than its recipe states.
#[test]
fn every_verb_checks_hashes_before_it_writes() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o a.dermis");
    let other = |file: &str| json!({"file": file, "sha256": "0123456789abcdef"});
    for recipe in [
        json!({"weights": {"rig": other("train.npz"), "source": {"plan": {}}, "out": "out.npz"}}),
        json!({"pose": {"model": other("a.dermis"), "motion": {"file": "test.npz"}, "out": "out.npz"}}),
        json!({"pose": {"model": {"file": "a.dermis"}, "motion": other("test.npz"), "out": "out.npz"}}),
        json!({"convert": {"inputs": [other("test.npz")], "out": "out.npz"}}),
        json!({"export": {"model": other("a.dermis"), "form": {"shapes": {}}, "out": "out.npz.glb"}}),
        json!({"decompose": {"sequences": [other("test.npz")], "method": {"search": {"bones": 2}}, "out": "out.npz"}}),
        json!({"suggest": {"model": {"file": "a.dermis"}, "motion": other("test.npz"), "out": "out.npz"}}),
    ] {
        desk.put("r.json", recipe.to_string());
        desk.bad("run r.json", &["another file", "0123456789abcdef"]);
        assert!(!desk.path("out.npz").exists() && !desk.path("out.npz.glb").exists(), "{recipe}");
    }
}

#[test]
fn what_a_recipe_does_not_know_is_refused() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o a.dermis");
    let refused = |change: &dyn Fn(&mut Value), says: &[&str]| {
        store_recipe(&desk, change);
        let says: Vec<&str> = ["\"r.json\"", "no recipe"].iter().chain(says).copied().collect();
        desk.bad("fit --recipe r.json -o b.dermis", &says);
    };
    refused(&|r| r["fit"]["colour"] = json!(1), &["colour"]);
    refused(&|r| r["fit"]["rig"]["colour"] = json!(1), &["colour"]);
    refused(&|r| r["fit"]["read"]["colour"] = json!(1), &["colour"]);
    refused(&|r| r["fit"]["outputs"] = json!({"colour": 1}), &["colour"]);
    refused(&|r| r["fit"]["method"]["joint"]["colour"] = json!(1), &["colour"]);
    refused(&|r| r["fit"]["method"]["joint"]["ridge"] = json!({"cross-validated": {"colour": 1}}), &["colour"]);
    refused(&|r| r["fit"]["method"]["joint"]["frame"] = json!("sideways"), &["sideways"]);
    refused(&|r| r["fit"]["method"] = json!({"magic": {}}), &["magic"]);
    refused(&|r| *r = json!({"paint": {}}), &["paint"]);
    refused(&|r| drop(r["fit"].as_object_mut().unwrap().remove("rig")), &["rig"]);
    // Settings that are understood and make no sense are those of the method.
    store_recipe(&desk, |r| r["fit"]["method"]["joint"]["sigma"] = json!(-1));
    desk.bad("fit --recipe r.json -o b.dermis", &["sigma", "-1"]);
    desk.put("r.json", "{");
    desk.bad("fit --recipe r.json -o b.dermis", &["\"r.json\"", "no recipe"]);
    desk.bad("fit --recipe none.json -o b.dermis", &["none.json"]);
    desk.bad("fit --recipe train.npz -o b.dermis", &["train.npz", "no recipe"]);
    assert!(!desk.path("b.dermis").exists());
}

/// `run` does what the verb does.
#[test]
fn a_recipe_of_any_verb_runs_from_a_file() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o a.dermis");
    store_recipe(&desk, |recipe| recipe["fit"]["outputs"] = json!({"model": "b.dermis", "existing": "keep"}));
    desk.good("run r.json");
    assert!(desk.bytes("a.dermis") == desk.bytes("b.dermis"));
    desk.bad("run r.json", &["b.dermis"]);

    let model = json!({"file": "a.dermis"});
    desk.put("r.json", json!({"eval": {"model": model, "score": {"examples": [{"file": "test.npz"}]}}}).to_string());
    assert_eq!(desk.good("run r.json").out, desk.good("eval a.dermis --examples test.npz").out);
    desk.put("r.json", json!({"eval": {"model": model}}).to_string());
    desk.bad("run r.json", &["examples", "stress"]);

    desk.put("r.json", json!({"pose": {"model": model, "motion": {"file": "test.npz"}, "out": "b.pc2"}}).to_string());
    desk.good("pose a.dermis --motion test.npz -o a.pc2");
    desk.good("run r.json");
    assert!(desk.bytes("a.pc2") == desk.bytes("b.pc2"));
}

/// What the recipe says is not said twice.
#[test]
fn options_beside_a_recipe_that_it_would_ignore_are_refused() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o a.dermis");
    store_recipe(&desk, |_| {});
    for options in
        ["--examples train.npz", "--hold-out test.npz", "--stream", "--method mwe", "-s 0.1", "--folds 3", "--fps 24"]
    {
        desk.bad(&format!("fit --recipe r.json {options}"), &["--recipe"]);
    }
}

#[test]
fn a_model_without_a_recipe_says_so() {
    let desk = desk();
    desk.good("fit train.npz --examples train.npz --folds 0 -o a.dermis");
    let change = |name: &str, recipe: Option<Value>| {
        let mut model = model_file::read(&desk.bytes("a.dermis")).unwrap();
        model.header.recipe = recipe;
        desk.put(name, to_bytes(|out| model_file::write(&model, out)).unwrap());
    };
    change("old.dermis", None);
    desk.bad("recipe old.dermis", &["\"old.dermis\"", "holds no recipe", "fit it again"]);
    change("other.dermis", Some(json!({"fit": {"colour": 1}})));
    desk.bad("recipe other.dermis", &["\"other.dermis\"", "not understood", "colour"]);
    // The model itself serves.
    desk.good("eval old.dermis --examples test.npz");
}
