//! Poses as a vertex's bones see them: welded joints, pairs of anchor and bone, groups of vertices that share both.

mod residuals;

use super::settings::{Anchor, Centring, MweSettings, RidgeMode};
use crate::mask::{Masks, Said};
use crate::training::{FitError, Training, table};
use dermis_deform::enveloping::{EnvelopingForm, Pair};
use dermis_deform::features::{about, relative_features};
use dermis_deform::guard::{FROZEN, LIMIT_FACTOR, Weld};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, Influences, VertexIndex};
use dermis_solve::SolveError;
use dermis_solve::faer::{Mat, MatRef};
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// The anchor of every vertex.
pub(super) fn anchors(training: &Training<'_>, maps: &Influences, settings: &MweSettings) -> Vec<Option<BoneIndex>> {
    let root = BoneIndex::new(0);
    (0..training.rest.len())
        .map(|v| match &settings.anchor {
            Anchor::World => None,
            Anchor::Root => Some(root),
            Anchor::Dominant => Some(maps.dominant(v).unwrap_or(root)),
            Anchor::Bone(bone) => Some(*bone),
            Anchor::PerVertex(list) => Some(list[v]),
        })
        .collect()
}

/// Poses ready to be looked at from any anchor.
pub(super) struct Scene<'a> {
    pub training: &'a Training<'a>,
    pub weld: Weld,
    /// What translations are seen from.
    pub origin: DVec3,
    /// Welded bone transforms per pose.
    welded: Vec<Vec<DAffine3>>,
    /// For each bone, the topmost bone it is welded to.
    pub representative: Vec<BoneIndex>,
    pub unit: f64,
    /// r of each pose.
    importance: Vec<f64>,
    /// What each pose says of each vertex, where some are local sculpts.
    pub masks: Option<Masks>,
}

/// Everything the bones around one anchor do.
pub(super) struct Table {
    bones: Vec<BoneIndex>,
    /// Unscaled features (poses × 12·bones), as they are.
    raw: Mat<f64>,
    /// Per bone, whether no two poses agree in its features alone.
    distinct: Vec<bool>,
    centre: Vec<f64>,
    /// diag(r)(raw − centre), if every pose is a row.
    centred: Mat<f64>,
    /// Gram matrices of `centred`: of all columns, or of each axis' own.
    grams: OnceLock<Vec<Mat<f64>>>,
    /// The anchor's turn back in every pose; empty for the world.
    pub back: Vec<DMat3>,
}

/// What groups of vertices differ in: the anchor and the bones, and what each pose says.
type Key = (Vec<u32>, Vec<Said>);

/// Every anchor with the bones seen from it; [`Group::table`] is a place in it.
pub(super) type BonesOf = Vec<(Option<BoneIndex>, Vec<BoneIndex>)>;

/// Vertices that share bones, anchor, and what each pose says of them.
pub(super) struct Group {
    pub anchor: Option<BoneIndex>,
    /// Which [`Table`].
    pub table: usize,
    pub bones: Vec<BoneIndex>,
    /// Pair of each bone, for the correction's terms.
    pub pairs: Vec<u32>,
    /// What each pose says of the vertices; empty if every one says how the skin is.
    pub said: Vec<Said>,
    pub vertices: Vec<u32>,
}

impl Group {
    /// Whether pose `s` says how the skin is.
    pub fn touched(&self, s: usize) -> bool {
        self.said.get(s).is_none_or(|said| *said == Said::Touched)
    }

    /// The group with other vertices.
    pub fn of(&self, vertices: Vec<u32>) -> Self {
        let (bones, pairs, said) = (self.bones.clone(), self.pairs.clone(), self.said.clone());
        Self { bones, pairs, said, vertices, ..*self }
    }
}

/// The matrices of one group.
pub(super) struct Local {
    pub anchor: Option<BoneIndex>,
    pub bones: Vec<BoneIndex>,
    /// Poses of each row, several where they are merged as duplicates; empty if every pose is a row of its own. A pose of weight
    /// zero is in no row.
    pub clusters: Vec<Vec<u32>>,
    /// What each pose says of the vertices; empty if every one says how the skin is.
    said: Vec<Said>,
    /// r of each pose, by what it says.
    weight_roots: Vec<f64>,
    /// r of each row.
    pub scale: Vec<f64>,
    /// Sum of r².
    pub mass: f64,
    /// Unscaled features of each row (rows × 12·bones), as they are.
    pub raw: Mat<f64>,
    /// x0 as the regression uses it: zero in the published form, which centres for the principal axes only.
    pub centre: Vec<f64>,
    /// What was subtracted for the principal axes.
    pub mean: Vec<f64>,
    /// diag(r)(raw − mean).
    pub centred: Mat<f64>,
    /// Largest variance before μ, per axis of the row form and, last, of all columns.
    pub reference: [f64; 4],
    gram: OnceLock<Mat<f64>>,
}

impl Local {
    pub fn rows(&self) -> usize {
        self.scale.len()
    }

    /// Poses merged as duplicates.
    pub fn merged(&self) -> usize {
        self.clusters.iter().map(|poses| poses.len() - 1).sum()
    }

    /// What a pose says of the vertices.
    pub fn said(&self, s: usize) -> Said {
        self.said.get(s).copied().unwrap_or(Said::Touched)
    }

    /// A pose of a row.
    pub fn pose(&self, row: usize) -> usize {
        self.clusters.get(row).and_then(|poses| poses.first()).map_or(row, |&pose| pose as usize)
    }

    /// centredᵀ centred.
    pub fn gram(&self) -> &Mat<f64> {
        self.gram.get_or_init(|| self.centred.transpose() * &self.centred)
    }
}

/// Features as stored in the tables: with the identity, unlike those of the correction.
fn identity(column: usize) -> f64 {
    f64::from(u8::from(column % 4 == (column % 12) / 4))
}

impl<'a> Scene<'a> {
    pub fn new(training: &'a Training<'a>, settings: &MweSettings) -> Self {
        let (skeleton, unit) = (training.skeleton, training.unit());
        let weld = match settings.guard {
            true => Weld::of_training(skeleton, training.examples.iter().map(|e| &e.transforms), unit),
            false => Weld::default(),
        };
        let mut representative: Vec<BoneIndex> = skeleton.bones().collect();
        for link in weld.links.iter().filter(|link| link.frozen) {
            representative[link.to.get()] = representative[link.from.get()];
        }
        let welded = training
            .examples
            .iter()
            .map(|example| {
                let mut bones = Vec::new();
                weld.apply(&example.transforms, &mut bones);
                bones.iter_mut().for_each(|m| *m = about(m, settings.origin));
                bones
            })
            .collect();
        let importance = training.examples.iter().map(|e| e.importance).collect();
        let masks = Masks::of(training);
        Self { training, weld, origin: settings.origin, welded, representative, unit, importance, masks }
    }

    /// The maps of welded bones: a group of bones that move as one has the largest of their maps.
    ///
    /// # Errors
    /// [`FitError::Table`] for maps that are not finite.
    pub fn welded_maps(&self, maps: &Influences) -> Result<Influences, FitError> {
        if self.weld.frozen().next().is_none() && maps.rows().all(|row| row.iter().all(|(_, mu)| *mu > 0.0)) {
            return Ok(maps.clone());
        }
        let welded = |v: usize| {
            let positive = maps.of(v).iter().filter(|(_, mu)| *mu > 0.0);
            let mut row: Vec<_> = positive.map(|&(bone, mu)| (self.representative[bone.get()], mu)).collect();
            row.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            row.dedup_by_key(|(bone, _)| *bone);
            row
        };
        let rows: Vec<_> = (0..maps.vertices()).into_par_iter().map(welded).collect();
        table("the maps of welded bones", rows)
    }

    pub fn poses(&self) -> usize {
        self.welded.len()
    }

    /// The vertices that some example says how to place.
    pub fn vertices(&self) -> usize {
        self.masks.as_ref().map_or(self.training.rest.len(), Masks::vertices)
    }

    /// The joints of a group: each of its bones with the next of them above, its anchor among them. A bone without one above turns
    /// against the anchor, or in the world.
    pub fn joints(&self, local: &Local) -> Vec<(Option<BoneIndex>, BoneIndex)> {
        let anchor = local.anchor.map(|anchor| self.representative[anchor.get()]);
        let parents = self.training.skeleton.parents();
        let is_there = |bone: BoneIndex| local.bones.contains(&bone) || anchor == Some(bone);
        let above = |bone: BoneIndex| {
            let mut next = parents[bone];
            while let Some(parent) = next {
                let moved = self.representative[parent.get()];
                if moved != bone && is_there(moved) {
                    return Some(moved);
                }
                next = parents[parent];
            }
            None
        };
        let turned = local.bones.iter().copied().chain(anchor).map(|bone| (above(bone), bone));
        let mut joints: Vec<_> =
            turned.map(|(from, to)| (from.or(anchor.filter(|anchor| *anchor != to)), to)).collect();
        joints.sort_unstable();
        joints.dedup();
        // What the anchor does in the world is no joint.
        joints.retain(|(from, _)| from.is_some() || anchor.is_none());
        joints
    }

    /// |M_from⁻¹ M_to − I|² in a pose, translations in L: how far a joint moved from rest.
    pub fn moved(&self, pose: usize, (from, to): (Option<BoneIndex>, BoneIndex)) -> f64 {
        relative_features(&self.welded[pose], from, to, self.unit).iter().map(|x| x * x).sum()
    }

    /// Groups vertices by anchor and bones, and finds the pairs and tables they use.
    pub fn groups(
        &self,
        maps: &Influences,
        anchors: &[Option<BoneIndex>],
        settings: &MweSettings,
    ) -> Result<(Vec<Group>, Vec<Pair>, Vec<Table>), FitError> {
        let (groups, pairs, bones_of) = self.find_groups(maps, anchors, settings)?;
        let table = |(anchor, bones)| self.table(anchor, bones, settings);
        Ok((groups, pairs, bones_of.into_par_iter().map(table).collect()))
    }

    /// As [`Scene::groups`], but with anchors and their bones instead of tables, which are large.
    pub fn find_groups(
        &self,
        maps: &Influences,
        anchors: &[Option<BoneIndex>],
        settings: &MweSettings,
    ) -> Result<(Vec<Group>, Vec<Pair>, BonesOf), FitError> {
        self.check_anchors(anchors)?;
        let mut pairs: Vec<Pair> = Vec::new();
        // Per anchor (the world first) and bone: not yet met, without influence, or the pair.
        let bones = self.training.skeleton.len();
        let row_of = |anchor: Option<BoneIndex>| anchor.map_or(0, |a| a.get() + 1) * bones;
        let mut known: Vec<Option<Option<u32>>> = vec![None; (bones + 1) * bones];
        // Groups by their key, anchor first, as they are met; neighbours are mostly of one group.
        let mut met: HashMap<Key, usize> = HashMap::new();
        let mut members: Vec<(Key, Vec<u32>)> = Vec::new();
        let (mut key, mut last): (Key, usize) = (Key::default(), usize::MAX);
        // The anchor's own features are constant; only without centring do they serve, as an intercept.
        let keep_anchor = settings.centring == Centring::Raw;
        for (v, row) in maps.rows().enumerate() {
            let anchor = anchors[v];
            if let Some(masks) = &self.masks {
                key.1.clear();
                key.1.extend((0..self.poses()).map(|s| masks.at(s, v)));
                // The base stays where nobody touched it.
                if !key.1.contains(&Said::Touched) {
                    continue;
                }
            }
            key.0.clear();
            key.0.push(anchor.map_or(0, |a| a.get() as u32 + 1));
            for &(bone, _) in row {
                let pair = known[row_of(anchor) + bone.get()].get_or_insert_with(|| {
                    let limit = self.limit(anchor, bone, settings, keep_anchor)?;
                    pairs.push(Pair { anchor, bone, limit });
                    Some(pairs.len() as u32 - 1)
                });
                if pair.is_some() {
                    key.0.push(bone.get() as u32);
                }
            }
            if members.get(last).is_none_or(|(of, _)| *of != key) {
                last = match met.get(&key) {
                    Some(&at) => at,
                    None => {
                        met.insert(key.clone(), members.len());
                        members.push((key.clone(), Vec::new()));
                        members.len() - 1
                    }
                };
            }
            members[last].1.push(v as u32);
        }
        members.sort_unstable();
        let anchor_of = |key: &[u32]| key[0].checked_sub(1).map(|a| BoneIndex::new(a as usize));
        let mut bones_of: BTreeMap<Option<BoneIndex>, Vec<BoneIndex>> = BTreeMap::new();
        for ((key, _), _) in &members {
            let anchor = anchor_of(key);
            bones_of.entry(anchor).or_insert_with(|| {
                let has_pair = |b: &usize| known[row_of(anchor) + b].flatten().is_some();
                (0..bones).filter(has_pair).map(BoneIndex::new).collect()
            });
        }
        let anchors: Vec<Option<BoneIndex>> = bones_of.keys().copied().collect();
        let groups = members.into_iter().map(|((key, said), vertices)| {
            let anchor = anchor_of(&key);
            let bones: Vec<BoneIndex> = key[1..].iter().map(|&b| BoneIndex::new(b as usize)).collect();
            Group {
                anchor,
                table: anchors.binary_search(&anchor).unwrap_or_default(),
                pairs: bones.iter().filter_map(|b| known[row_of(anchor) + b.get()].flatten()).collect(),
                bones,
                said,
                vertices,
            }
        });
        Ok((groups.collect(), pairs, bones_of.into_iter().collect()))
    }

    /// The limit of a pair, or `None` if it can have no influence.
    fn limit(
        &self,
        anchor: Option<BoneIndex>,
        bone: BoneIndex,
        settings: &MweSettings,
        keep_anchor: bool,
    ) -> Option<f64> {
        let own = anchor.is_some_and(|a| self.representative[a.get()] == bone);
        if own && !keep_anchor {
            return None;
        }
        if !settings.guard {
            return Some(f64::INFINITY);
        }
        let largest = (0..self.poses())
            .map(|s| relative_features(&self.welded[s], anchor, bone, self.unit))
            .map(|f| f.iter().map(|x| x * x).sum::<f64>().sqrt())
            .fold(0.0, f64::max);
        (largest >= FROZEN || own).then_some(LIMIT_FACTOR * largest)
    }

    fn check_anchors(&self, anchors: &[Option<BoneIndex>]) -> Result<(), FitError> {
        let mut used: Vec<BoneIndex> = anchors.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        for bone in used {
            if bone.get() >= self.training.skeleton.len() {
                let expected = self.training.skeleton.len();
                return Err(FitError::Counts { what: "bones, by an anchor", found: bone.get() + 1, expected });
            }
            for example in self.training.examples {
                if invert(&example.transforms[bone]).is_none() {
                    return Err(FitError::SingularAnchor {
                        bone: self.training.skeleton.names()[bone].clone(),
                        example: example.label.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    pub fn table(&self, anchor: Option<BoneIndex>, bones: Vec<BoneIndex>, settings: &MweSettings) -> Table {
        let columns = 12 * bones.len();
        let mut raw = Mat::<f64>::zeros(self.poses(), columns);
        for (k, &bone) in bones.iter().enumerate() {
            for s in 0..self.poses() {
                let f = relative_features(&self.welded[s], anchor, bone, self.unit);
                for c in 0..12 {
                    raw[(s, 12 * k + c)] = f[c] + identity(c);
                }
            }
        }
        let alone = |k: usize| {
            let part = raw.get(.., 12 * k..12 * (k + 1));
            settings.duplicates < 0.0 || clusters(part, settings.duplicates).len() == self.poses()
        };
        let distinct = (0..bones.len()).map(alone).collect();
        let (mean, centred) = centred(&raw, &self.importance, settings.centring);
        let turn_back = |a: BoneIndex| {
            let transforms = self.training.examples.iter().map(|e| &e.transforms[a]);
            transforms.map(|m| invert(m).map_or(DMat3::IDENTITY, |m| m.matrix3)).collect()
        };
        let back = anchor.map_or(Vec::new(), turn_back);
        Table { bones, raw, distinct, centre: mean, centred, grams: OnceLock::new(), back }
    }

    /// The matrices vertices of one group share.
    pub fn local(&self, group: &Group, table: &Table, settings: &MweSettings) -> Result<Local, FitError> {
        let places: Vec<usize> = group.bones.iter().map(|bone| table.place(*bone)).collect();
        let columns = 12 * places.len();
        let every_pose_counts = places.iter().any(|&k| table.distinct[k]);
        let gathered = |from: &Mat<f64>| {
            let mut made = Mat::<f64>::zeros(self.poses(), columns);
            for c in 0..columns {
                let column = from.get(.., 12 * places[c / 12] + c % 12);
                made.get_mut(.., c).copy_from(column);
            }
            made
        };
        let all = gathered(&table.raw);
        let root = |s: usize| group.said.get(s).map_or(1.0, |said| said.weight(settings.untouched).sqrt());
        let weight_roots: Vec<f64> = (0..self.poses()).map(|s| self.importance[s] * root(s)).collect();
        let clusters = if group.said.is_empty() {
            if every_pose_counts { vec![] } else { clusters(all.as_ref(), settings.duplicates) }
        } else {
            let counted: Vec<u32> = (0..self.poses() as u32).filter(|&s| weight_roots[s as usize] > 0.0).collect();
            let features = Mat::from_fn(counted.len(), columns, |row, c| all[(counted[row] as usize, c)]);
            let own = |cluster: Vec<u32>| cluster.into_iter().map(|row| counted[row as usize]).collect();
            clusters(features.as_ref(), settings.duplicates).into_iter().map(own).collect()
        };
        let merged = !group.said.is_empty() || !clusters.is_empty() && clusters.len() < self.poses();
        let (clusters, scale, raw, mean, centred) = match merged {
            false => {
                let mean = (0..columns).map(|c| table.centre[12 * places[c / 12] + c % 12]).collect();
                (vec![], self.importance.clone(), all, mean, gathered(&table.centred))
            }
            true => {
                let largest =
                    |members: &Vec<u32>| members.iter().map(|&s| weight_roots[s as usize]).fold(0.0, f64::max);
                let scale: Vec<f64> = clusters.iter().map(largest).collect();
                let raw = Mat::from_fn(clusters.len(), columns, |row, c| {
                    weighted_mean(&clusters[row], &weight_roots, |s| all[(s, c)])
                });
                let (mean, centred) = centred(&raw, &scale, settings.centring);
                (clusters, scale, raw, mean, centred)
            }
        };
        let mass: f64 = scale.iter().map(|r| r * r).sum();
        let centre = if settings.centring == Centring::Paper { vec![0.0; columns] } else { mean.clone() };
        let mut local = Local {
            anchor: group.anchor,
            bones: group.bones.clone(),
            clusters,
            said: group.said.clone(),
            weight_roots,
            scale,
            mass,
            raw,
            centre,
            mean,
            centred,
            reference: [0.0; 4],
            gram: OnceLock::new(),
        };
        if settings.ridge == RidgeMode::Relative {
            local.reference = reference_variances(local.gram(), group.bones.len(), mass)
                .map_err(|source| FitError::Solve { vertex: VertexIndex::new(group.vertices[0] as usize), source })?;
        }
        Ok(local)
    }
}

impl Table {
    fn place(&self, bone: BoneIndex) -> usize {
        self.bones.binary_search(&bone).expect("the table holds the bones of its groups")
    }

    /// The Gram matrix of some columns of a group, from those all groups of this anchor share: the lower triangle, row
    /// after row.
    pub fn gram(&self, local: &Local, columns: &[usize], rows: EnvelopingForm) -> Vec<f64> {
        let packed = |entry: &dyn Fn(usize, usize) -> f64| {
            let rows = (0..columns.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            rows.map(|(i, j)| entry(columns[i], columns[j])).collect()
        };
        if !local.clusters.is_empty() {
            let gram = local.gram();
            return packed(&|i, j| gram[(i, j)]);
        }
        let grams = self.grams.get_or_init(|| match rows {
            EnvelopingForm::Full => vec![self.centred.transpose() * &self.centred],
            EnvelopingForm::Row => (0..3)
                .map(|axis| {
                    let own = |k: usize| 12 * (k / 4) + 4 * axis + k % 4;
                    let x = Mat::from_fn(self.centred.nrows(), 4 * self.bones.len(), |s, k| self.centred[(s, own(k))]);
                    x.transpose() * &x
                })
                .collect(),
        });
        let places: Vec<usize> = local.bones.iter().map(|bone| self.place(*bone)).collect();
        match rows {
            EnvelopingForm::Full => {
                let place = |c: usize| 12 * places[c / 12] + c % 12;
                packed(&|i, j| grams[0][(place(i), place(j))])
            }
            EnvelopingForm::Row => {
                let axis = columns.first().map_or(0, |c| (c % 12) / 4);
                let place = |c: usize| 4 * places[c / 12] + c % 4;
                packed(&|i, j| grams[axis][(place(i), place(j))])
            }
        }
    }
}

/// What is subtracted from features, and diag(r)(raw − that).
fn centred(raw: &Mat<f64>, scale: &[f64], centring: Centring) -> (Vec<f64>, Mat<f64>) {
    let mass: f64 = scale.iter().map(|r| r * r).sum();
    let mean: Vec<f64> = (0..raw.ncols())
        .map(|c| match centring {
            Centring::Rest => identity(c),
            Centring::Raw => 0.0,
            Centring::Mean | Centring::Paper if mass > 0.0 => {
                (0..scale.len()).map(|row| scale[row] * scale[row] * raw[(row, c)]).sum::<f64>() / mass
            }
            Centring::Mean | Centring::Paper => 0.0,
        })
        .collect();
    let centred = Mat::from_fn(raw.nrows(), raw.ncols(), |row, c| scale[row] * (raw[(row, c)] - mean[c]));
    (mean, centred)
}

/// The largest eigenvalue of the Gram matrix over the mass, for each axis' own columns and for all of them.
fn reference_variances(gram: &Mat<f64>, bones: usize, mass: f64) -> Result<[f64; 4], SolveError> {
    let mut reference = [0.0; 4];
    for (at, value) in reference.iter_mut().enumerate() {
        let columns: Vec<usize> = (0..12 * bones).filter(|c| at == 3 || (c % 12) / 4 == at).collect();
        let part = Mat::from_fn(columns.len(), columns.len(), |i, j| gram[(columns[i], columns[j])]);
        *value = principal_axes(part.as_ref())?.values.first().map_or(0.0, |v| v / mass);
    }
    Ok(reference)
}

/// Poses that agree: in pose order, a pose joins the first earlier leader whose features all lie within `tolerance`.
pub(super) fn clusters(features: MatRef<'_, f64>, tolerance: f64) -> Vec<Vec<u32>> {
    let poses = features.nrows();
    if tolerance < 0.0 {
        return (0..poses as u32).map(|s| vec![s]).collect();
    }
    if features.ncols() == 0 {
        return vec![(0..poses as u32).collect()];
    }
    let close =
        |a: usize, b: usize| (0..features.ncols()).all(|c| (features[(a, c)] - features[(b, c)]).abs() <= tolerance);
    // Leaders sorted by the column that varies most: only those within the tolerance there are compared in full.
    let spread = |c: usize| {
        let column = (0..poses).map(|s| features[(s, c)]);
        column.clone().fold(f64::NEG_INFINITY, f64::max) - column.fold(f64::INFINITY, f64::min)
    };
    let key = (0..features.ncols()).max_by(|&a, &b| spread(a).total_cmp(&spread(b))).unwrap_or(0);
    let mut clusters: Vec<Vec<u32>> = Vec::new();
    let mut leaders: Vec<(f64, usize)> = Vec::new();
    for s in 0..poses {
        let value = features[(s, key)];
        let from = leaders.partition_point(|&(x, _)| x < value - tolerance);
        let near = leaders[from..].iter().take_while(|(x, _)| *x <= value + tolerance);
        let leader = near.map(|&(_, at)| at).filter(|&at| close(clusters[at][0] as usize, s)).min();
        match leader {
            Some(at) => clusters[at].push(s as u32),
            None => {
                leaders.insert(leaders.partition_point(|&(x, _)| x < value), (value, clusters.len()));
                clusters.push(vec![s as u32]);
            }
        }
    }
    clusters
}

/// The r²-weighted mean over members.
fn weighted_mean(members: &[u32], importance: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    if let [only] = members {
        return value(*only as usize);
    }
    let mass: f64 = members.iter().map(|&s| importance[s as usize].powi(2)).sum();
    members.iter().map(|&s| importance[s as usize].powi(2) * value(s as usize)).sum::<f64>() / mass
}
