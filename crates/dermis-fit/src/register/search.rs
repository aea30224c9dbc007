//! The search for the pose of one scan: where it begins, which other starts are tried, and what is kept.

use super::body::{Body, State};
use super::coarse::{self, Coarse, SkinPoints};
use super::fine::{Fine, Fitted};
use super::scan::Prepared;
use super::system::Hold;
use super::{Began, Failure, Known, Pose, RegisterSettings};
use dermis_rig::glam::DQuat;
use dermis_rig::rotation::rotation_vector;
use dermis_rig::{BoneIndex, BoneTransforms};

/// A scan that shows less of the skin tells no pose.
const LEAST_SKIN: f64 = 0.1;
/// A limb that turns by less, radians, lies on no other limb.
const FOLDED: f64 = 0.5;
/// The share of a limb's skin for which the scan speaks, and above which the limb is not looked at again.
const SUPPORT: f64 = 0.6;
/// Poses of other scans that are tried.
const OTHERS: usize = 4;

/// Points of the skin for both searches.
pub(super) struct Skin {
    pub few: SkinPoints,
    pub many: SkinPoints,
}

/// The best pose so far.
pub(super) struct Found {
    pub fitted: Fitted,
    /// Of the coarse points at the same pose: it counts both ways.
    cost: f64,
    began: Began,
}

impl Found {
    /// What is compared between poses of one scan.
    fn score(&self) -> f64 {
        self.fitted.cost + self.cost
    }
}

/// The search for the pose of one scan.
pub(super) struct Search<'b, 'a> {
    coarse: Coarse<'b, 'a>,
    fine: Fine<'b, 'a>,
    prepared: &'b Prepared,
    settings: &'b RegisterSettings,
}

impl<'b, 'a> Search<'b, 'a> {
    pub fn new(body: &'b Body<'a>, skin: &'b Skin, prepared: &'b Prepared, settings: &'b RegisterSettings) -> Self {
        let coarse = Coarse::new(body, &skin.few, &prepared.few);
        let hold = Hold { rest: settings.rest, range: settings.range };
        let fine = Fine {
            body,
            skin: &skin.many,
            scan: &prepared.surface,
            points: &prepared.many,
            hold,
            doubt: settings.doubt,
        };
        Self { coarse, fine, prepared, settings }
    }

    fn finished(&self, state: &State, began: Began) -> Found {
        let fitted = self.fine.fit(state);
        let cost = self.coarse.cost(&fitted.state);
        Found { fitted, cost, began }
    }

    /// From what is known of the pose.
    pub fn of_known(&self, known: &Known) -> Found {
        let closely = match known {
            Known::Closely(transforms) => Some(self.finished(&self.coarse.body.state(transforms), Began::Given)),
            Known::Nothing | Known::Roughly(_) => None,
        };
        let closely = closely.filter(|found| found.fitted.of_scan >= self.settings.good);
        let mut found = closely.unwrap_or_else(|| self.of_start(known.pose()));
        self.unfold(&mut found);
        found
    }

    /// From a pose that is known roughly, or from rest: where the scan stands, and turned where that is not enough.
    fn of_start(&self, near: Option<&BoneTransforms>) -> Found {
        let body = self.coarse.body;
        let (start, began) = match near {
            Some(transforms) => (body.state(transforms), Began::Given),
            None => (body.rest(), Began::Rest),
        };
        let mut centred = start.clone();
        centred.place = self.prepared.centre;
        let starts = [start, centred];
        let candidates = starts.iter().map(|start| self.coarse.descend(start, 25, 0.15, &self.coarse.large));
        let best = candidates.min_by(|a, b| coarse::by(a).total_cmp(&coarse::by(b))).expect("there are two starts");
        let best = self.coarse.search_limbs(best);
        let mut found = self.finished(&best.state, began);
        if near.is_none() || found.fitted.of_scan < self.settings.good {
            self.turned(&mut found);
        }
        found
    }

    /// From rest, the character turned as a whole: many starts, of which the better ones go on.
    fn turned(&self, found: &mut Found) {
        let still = vec![false; self.coarse.large.len()];
        let mut tried: Vec<coarse::Candidate> = coarse::whole_turns(self.coarse.body.principal)
            .into_iter()
            .map(|turn| {
                let mut start = self.coarse.body.rest();
                (start.turn, start.place) = (turn, self.prepared.centre);
                let moved = self.coarse.descend(&start, 4, 0.15, &still);
                self.coarse.descend(&moved.state, 8, 0.1, &self.coarse.large)
            })
            .collect();
        tried.sort_by(|a, b| coarse::by(a).total_cmp(&coarse::by(b)));
        tried.truncate(6);
        let mut tried: Vec<coarse::Candidate> = tried
            .into_iter()
            .map(|one| self.coarse.search_limbs(self.coarse.descend(&one.state, 20, 0.1, &self.coarse.large)))
            .collect();
        tried.sort_by(|a, b| coarse::by(a).total_cmp(&coarse::by(b)));
        for one in tried.into_iter().take(2) {
            self.better(self.finished(&one.state, Began::Turned), found);
        }
    }

    /// From the poses of other scans, the most similar first: by the cost after the character was laid onto the scan as a whole.
    pub fn of_others(&self, known: &[(usize, State)], found: &mut Found) {
        let still = vec![false; self.coarse.large.len()];
        let mut tried: Vec<(usize, coarse::Candidate)> = Vec::new();
        for (at, state) in known {
            for (turn, place) in
                [(state.turn, self.prepared.centre), (found.fitted.state.turn, found.fitted.state.place)]
            {
                let start = State { turn, place, joints: state.joints.clone() };
                tried.push((*at, self.coarse.descend(&start, 5, 0.1, &still)));
            }
        }
        tried.sort_by(|a, b| coarse::by(&a.1).total_cmp(&coarse::by(&b.1)));
        for (at, one) in tried.into_iter().take(OTHERS) {
            let best = self.coarse.search_limbs(self.coarse.descend(&one.state, 20, 0.08, &self.coarse.large));
            self.better(self.finished(&best.state, Began::Other(at)), found);
        }
        self.unfold(found);
    }

    /// Limbs that little of the scan speaks for, the last of each chain first, at rest wherever the scan lies on the skin as well then. A limb in
    /// a hole lies best on what the scan shows of another.
    fn unfold(&self, found: &mut Found) {
        let body = self.coarse.body;
        for (&bone, _) in body.free.iter().zip(&self.coarse.large).rev().filter(|(_, large)| **large) {
            let turn = rotation_vector(found.fitted.state.joints[bone]).length();
            if turn < FOLDED || self.fine.support(&found.fitted.state, bone) > SUPPORT {
                continue;
            }
            let mut state = found.fitted.state.clone();
            let below = body.below(bone);
            (0..below.len()).filter(|bone| below[*bone]).for_each(|bone| state.joints[bone] = DQuat::IDENTITY);
            let straight = self.finished(&state, found.began);
            if straight.fitted.cost <= found.fitted.cost + coarse::UNFOLD * body.share[bone] {
                *found = straight;
            }
        }
    }

    fn better(&self, other: Found, found: &mut Found) {
        // Of equally good ones the first, also where rounding says otherwise.
        if (other.score() as f32) < found.score() as f32 {
            *found = other;
        }
    }

    /// The pose that was found, if it explains the scan.
    pub fn judged(&self, found: &Found) -> Result<Pose, Failure> {
        let Fitted { state, rms, of_scan, of_skin, .. } = &found.fitted;
        if *of_scan < self.settings.least {
            return Err(Failure::Unlike { of_scan: *of_scan, least: self.settings.least });
        }
        if *of_skin < LEAST_SKIN {
            return Err(Failure::Little { of_skin: *of_skin });
        }
        let body = self.coarse.body;
        let deviations = self.fine.deviations(&found.fitted);
        let vague = body.free.iter().zip(deviations).map(|(bone, d)| (BoneIndex::new(*bone), d.to_degrees()));
        Ok(Pose {
            transforms: BoneTransforms::new(body.transforms(state)),
            began: found.began,
            rms: *rms,
            of_scan: *of_scan,
            of_skin: *of_skin,
            vague: vague.filter(|(_, degrees)| *degrees > self.settings.vague).collect(),
        })
    }
}
