//! What a watcher sees of a fit: steps of its plan alone, in their order, each from its beginning to its end.

use dermis_fit::method::BaseChoice;
use dermis_io::Space;
use dermis_rig::{Cancelled, ExampleSet};
use dermis_testkit::{Arm, ArmPose};
use dermis_workflow::load::LoadedRig;
use dermis_workflow::recipe::{Beside, HeldFit, Watch};
use dermis_workflow::verbs::fit::Method;
use std::ops::ControlFlow;
use std::sync::Mutex;

#[derive(Default)]
struct Seen(Mutex<Vec<(String, f64)>>);

impl Watch for Seen {
    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let fraction = if total > 0 { done as f64 / total as f64 } else { 0.0 };
        self.0.lock().unwrap().push((step.to_owned(), fraction));
        ControlFlow::Continue(())
    }
}

#[test]
fn a_fit_keeps_to_its_plan() {
    let arm = Arm::new(24, 8);
    let set = |seed| ExampleSet::new("arm".into(), arm.examples(&ArmPose::some(12, seed)), &arm.rig).unwrap();
    let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
    let methods = Method::all().into_iter().filter(|method| {
        !matches!(method.base(), Some(BaseChoice::Given | BaseChoice::Stack)) && method.check().is_ok()
    });
    let (mut fits, mut validated) = (0, 0);
    for method in methods {
        for held_out in [None, Some(set(9))] {
            let fit = HeldFit { held_out, beside: Beside::default(), ..HeldFit::new(&loaded, set(5), &method) };
            let (plan, seen) = (fit.steps(), Seen::default());
            // A method that this arm does not suit says so; what it reported until then counts.
            fits += usize::from(fit.run(&seen, |_| Ok(())).is_ok());
            let (mut at, mut most) = (0, 0.0);
            for (step, fraction) in seen.0.into_inner().unwrap() {
                let place = plan[at..].iter().position(|(name, _)| *name == step);
                let place =
                    place.unwrap_or_else(|| panic!("\"{step}\" is not ahead in the plan {plan:?} of {method:?}"));
                most = if place > 0 { 0.0 } else { most };
                at += place;
                // Five folds are five fifths: no fold is shown as the whole step.
                if step == "cross-validate" {
                    validated += usize::from(fraction > 0.0);
                    // A fit may pass over its work several times, within its fold.
                    let fold = |fraction: f64| (5.0 * fraction + 1e-9).floor();
                    assert!(fold(fraction) >= fold(most), "{method:?}: {fraction} after {most}");
                    most = f64::max(most, fraction);
                }
            }
        }
    }
    assert!(fits >= 8 && validated > 0, "{fits} {validated}");
}
