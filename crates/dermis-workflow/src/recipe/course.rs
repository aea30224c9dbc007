//! How far a recipe is: its plan of steps and the step under way make one fraction of the whole, for whoever shows progress.

use dermis_rig::clock::Instant;

/// The steps of a recipe, and how far it is.
#[derive(Clone, Debug)]
pub struct Course {
    /// The steps ahead of time, each with its share of the work.
    plan: Vec<(String, f64)>,
    /// The step under way.
    step: String,
    /// Its place in the plan.
    at: Option<usize>,
    /// How much of it is done, of one.
    done: f64,
    start: Instant,
}

impl Default for Course {
    /// Begins now, with no plan.
    fn default() -> Self {
        Self { plan: vec![], step: String::new(), at: None, done: 0.0, start: Instant::now() }
    }
}

impl Course {
    /// Takes the plan that a recipe announces ([`Watch::plan`](super::Watch::plan)).
    pub fn plan(&mut self, steps: &[(&str, f64)]) {
        self.plan = steps.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
        self.at = self.plan.iter().position(|(name, _)| *name == self.step);
    }

    /// Takes what a recipe reports ([`Watch::at`](super::Watch::at)).
    pub fn go_to(&mut self, step: &str, done: u64, total: u64) {
        if self.step != step {
            self.done = 0.0;
            step.clone_into(&mut self.step);
            // Of steps with one name the next one.
            let from = self.at.map_or(0, |at| at + 1);
            let next = self.plan.iter().skip(from).position(|(name, _)| name == step).map(|at| at + from);
            self.at = next.or_else(|| self.plan.iter().position(|(name, _)| name == step));
        }
        // A step of several passes counts each from its beginning; what was shown is not taken back.
        let done = if total > 0 { (done as f64 / total as f64).min(1.0) } else { 0.0 };
        self.done = self.done.max(done);
    }

    /// The step under way, by its own name.
    pub fn step(&self) -> &str {
        &self.step
    }

    /// "2/5 cross-validate", or the step's name alone where no plan has it.
    pub fn name(&self) -> String {
        match self.at {
            Some(at) => format!("{}/{} {}", at + 1, self.plan.len(), self.step),
            None => self.step.clone(),
        }
    }

    /// How much of the whole is done; of the step where no plan has it.
    pub fn fraction(&self) -> f64 {
        let Some(at) = self.at else { return self.done };
        let all: f64 = self.plan.iter().map(|step| step.1).sum();
        let before: f64 = self.plan[..at].iter().map(|step| step.1).sum();
        if all > 0.0 { (before + self.plan[at].1 * self.done) / all } else { 0.0 }
    }

    /// When it began.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The time that is left, in words, once there is something to tell it by.
    pub fn remaining(&self) -> Option<String> {
        let (done, elapsed) = (self.fraction(), self.start.elapsed().as_secs_f64());
        if self.at.is_none() || done < 0.02 || elapsed < 2.0 {
            return None;
        }
        let left = elapsed * (1.0 - done) / done;
        Some(if left < 90.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_whole_run_has_one_fraction() {
        let mut course = Course { start: Instant::now() - Duration::from_secs(30), ..Course::default() };
        course.plan(&[("read", 1.0), ("fit", 4.0), ("read", 1.0), ("cross-validate", 10.0)]);
        for (step, done, total, name, fraction) in [
            ("read", 0, 0, "1/4 read", 0.0),
            ("fit", 1, 2, "2/4 fit", 3.0 / 16.0),
            ("read", 1, 1, "3/4 read", 6.0 / 16.0),
            ("cross-validate", 5, 10, "4/4 cross-validate", 11.0 / 16.0),
            ("between", 1, 4, "between", 0.25),
        ] {
            course.go_to(step, done, total);
            assert_eq!((course.name().as_str(), course.fraction()), (name, fraction));
        }
        course.go_to("cross-validate", 10, 20);
        // 30 seconds for 11 of 16 parts.
        assert_eq!(course.remaining().as_deref(), Some("14 s"));
    }
}
