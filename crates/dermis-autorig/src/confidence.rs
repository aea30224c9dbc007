//! How far the place of a joint is to be trusted: the chance that it lies within a tenth of its limb of where a rigger puts it.
//!
//! ```text
//! p = 1 / (1 + exp(−z)),    z = a − 12.7 spread − 26.7 asymmetry − 17.5 |ln(limb / size) − usual|
//! ```
//!
//! - a: how well joints of that name are found at all
//! - spread: the standard deviation of its place between the best embeddings, in parts of the body's largest side
//! - asymmetry: how far it lies from the image of its partner before the sides are made alike, in the same parts
//! - limb: the length of its arm, leg or trunk as found; usual: the mean logarithm on the bodies of the calibration
//!
//! The numbers are a logistic regression on bodies with known joints, by tools/calibrate_rig.py; docs/rig.md says how often they are wrong on other
//! bodies. They speak of the built-in biped. No other template is calibrated, so none of its joints is called sure.

use dermis_rig::glam::DVec3;

/// The trust in a joint, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The user said where it is.
    Pinned,
    /// Confidence is at least [`SURE`].
    Sure,
    /// Confidence is between [`UNSURE`] and [`SURE`].
    Likely,
    /// Confidence is below [`UNSURE`], or the best embeddings disagree on it: what to look at first.
    Unsure,
    /// The best embeddings agree on it, but no calibration says how much that is worth.
    Uncalibrated,
}

/// The confidence from which a joint is called sure: the least hundredth from which at most 1 % of the joints of bodies left out of the regression
/// are off.
pub const SURE: f64 = 0.98;
/// The confidence below which a joint is called unsure. Of bodies left out, 48 % of those are off.
pub const UNSURE: f64 = 0.8;
/// The spread above which a joint of another template is called unsure.
const DISAGREE: f64 = 0.025;

/// A limb that a joint belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limb {
    /// Shoulder, elbow and wrist.
    Arm,
    /// Hip, knee and ankle.
    Leg,
    /// From the pelvis straight to the head.
    Trunk,
}

/// What the confidence of a joint is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The standard deviation of its place between the best embeddings.
    pub spread: f64,
    /// Its distance from the image of its partner.
    pub asymmetry: f64,
    /// ln(limb / size).
    pub proportion: f64,
}

/// The weights of spread, asymmetry and proportion.
const WEIGHTS: [f64; 3] = [12.7, 26.7, 17.5];
/// a, by the name of the joint without its side.
const JOINTS: [(&str, Limb, f64); 14] = [
    ("pelvis", Limb::Trunk, 3.82),
    ("spine_01", Limb::Trunk, 4.28),
    ("spine_02", Limb::Trunk, 4.36),
    ("spine_03", Limb::Trunk, 5.06),
    ("neck_01", Limb::Trunk, 5.75),
    ("head", Limb::Trunk, 5.05),
    ("clavicle", Limb::Arm, 4.23),
    ("upperarm", Limb::Arm, 3.84),
    ("lowerarm", Limb::Arm, 5.17),
    ("hand", Limb::Arm, 7.49),
    ("thigh", Limb::Leg, 3.93),
    ("calf", Limb::Leg, 4.30),
    ("foot", Limb::Leg, 8.35),
    ("ball", Limb::Leg, 8.36),
];

impl Limb {
    /// The limb that a joint of the biped belongs to.
    pub fn of(joint: &str) -> Option<Self> {
        row(joint).map(|(_, limb, _)| *limb)
    }

    /// The joints that say how long it is. `side` is `l` or `r`.
    pub fn joints(self, side: char) -> Vec<String> {
        let names: &[&str] = match self {
            Self::Arm => &["upperarm", "lowerarm", "hand"],
            Self::Leg => &["thigh", "calf", "foot"],
            Self::Trunk => return vec!["pelvis".into(), "head".into()],
        };
        names.iter().map(|name| format!("{name}_{side}")).collect()
    }

    /// Its length, from the places of joints.
    pub fn length(self, side: char, place: &dyn Fn(&str) -> Option<DVec3>) -> Option<f64> {
        let places: Vec<DVec3> = self.joints(side).iter().map(|name| place(name)).collect::<Option<_>>()?;
        Some(places.windows(2).map(|w| w[0].distance(w[1])).sum())
    }

    /// The mean of ln(limb / size).
    fn usual(self) -> f64 {
        match self {
            Self::Arm => -1.299,
            Self::Leg => -0.731,
            Self::Trunk => -0.980,
        }
    }
}

fn row(joint: &str) -> Option<&'static (&'static str, Limb, f64)> {
    let kind = joint.strip_suffix("_l").or_else(|| joint.strip_suffix("_r")).unwrap_or(joint);
    JOINTS.iter().find(|(name, ..)| *name == kind)
}

/// The chance that a joint of the biped lies within a tenth of its limb of where a rigger puts it; `None` of a name that the biped does not have.
pub fn confidence(joint: &str, evidence: Evidence) -> Option<f64> {
    let (_, limb, a) = row(joint)?;
    let terms = [evidence.spread, evidence.asymmetry, (evidence.proportion - limb.usual()).abs()];
    let z = a - WEIGHTS.iter().zip(terms).map(|(weight, term)| weight * term).sum::<f64>();
    Some(1.0 / (1.0 + (-z).exp()))
}

/// The verdict of a joint that is not pinned.
pub fn verdict(confidence: Option<f64>, spread: f64) -> Verdict {
    match confidence {
        Some(p) if p >= SURE => Verdict::Sure,
        Some(p) if p >= UNSURE => Verdict::Likely,
        None if spread <= DISAGREE => Verdict::Uncalibrated,
        _ => Verdict::Unsure,
    }
}

impl Verdict {
    /// The word for it, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Sure => "sure",
            Self::Likely => "likely",
            Self::Unsure => "unsure",
            Self::Uncalibrated => "not calibrated",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;

    /// Closed form: the odds fall by e for each reciprocal of a weight; a limb longer than usual is as doubtful as one that is shorter.
    #[test]
    fn confidence_is_the_logistic_curve() {
        let usual = Evidence { spread: 0.0, asymmetry: 0.0, proportion: Limb::Arm.usual() };
        let odds = |evidence: Evidence| {
            let p = confidence("hand_r", evidence).unwrap();
            (p / (1.0 - p)).ln()
        };
        let best = odds(usual);
        for (k, worse) in [
            Evidence { spread: 1.0 / WEIGHTS[0], ..usual },
            Evidence { asymmetry: 1.0 / WEIGHTS[1], ..usual },
            Evidence { proportion: usual.proportion + 1.0 / WEIGHTS[2], ..usual },
            Evidence { proportion: usual.proportion - 1.0 / WEIGHTS[2], ..usual },
        ]
        .into_iter()
        .enumerate()
        {
            assert!((best - odds(worse) - 1.0).abs() < 1e-9, "{k}");
        }
    }

    /// Every joint of the biped has its number, and no other name has one.
    #[test]
    fn the_biped_is_calibrated() {
        let usual = Evidence { spread: 0.0, asymmetry: 0.0, proportion: -1.0 };
        for joint in Template::named("biped").unwrap().joints {
            assert!(confidence(&joint.name, usual).is_some_and(|p| (0.0..1.0).contains(&p)), "{}", joint.name);
        }
        assert_eq!(confidence("tail_01", usual), None);
    }

    #[test]
    fn verdicts_follow_confidence_and_spread() {
        let said = |p, spread| verdict(p, spread);
        assert_eq!(said(Some(SURE), 1.0), Verdict::Sure);
        assert_eq!(said(Some(0.9), 0.0), Verdict::Likely);
        assert_eq!(said(Some(0.1), 0.0), Verdict::Unsure);
        assert_eq!((said(None, 0.0), said(None, 0.1)), (Verdict::Uncalibrated, Verdict::Unsure));
        assert_eq!((said(Some(f64::NAN), 0.0), said(None, f64::NAN)), (Verdict::Unsure, Verdict::Unsure));
    }
}
