//! A fit that is kept, so that a change costs what it touches.

use super::axes::{VertexProblem, VertexSolution};
use super::blocks::{Blocks, Room, Rooms, Solved, Unsolved};
use super::scene::{Group, Local, Scene, Table, anchors};
use super::settings::{MweSettings, SolvePrecision, Solver, Strength};
use super::{Form, Mwe, MweReport, check, choose_form, forms, sampled, training_leverages};
use crate::training::{FitError, Progress, Ticker, Training, of_table, silent};
use dermis_deform::enveloping::{Enveloping, EnvelopingForm, Pair};
use dermis_deform::guard::BALL_FACTOR;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, VertexIndex};
use dermis_solve::simd::{LANES_F32, LANES_F64};
use rayon::prelude::*;

/// A fitted model and what it was fitted with.
///
/// Vertices are independent once the poses are known, so after a change of one influence map only the vertices whose
/// map changed are solved; after a change of s, of a pose's importance, or after adding a pose, all are, at a fixed s.
/// Nothing is scored again: the choice of s is made once, by [`Resolver::new`].
#[derive(Clone, Debug)]
pub struct Resolver {
    settings: MweSettings,
    maps: Influences,
    model: Mwe,
}

impl Resolver {
    /// Fits, and keeps what a later change needs.
    ///
    /// # Errors
    /// As [`fit_mwe`](super::fit_mwe).
    pub fn new(
        training: &Training<'_>,
        maps: &Influences,
        settings: &MweSettings,
        progress: Progress<'_>,
    ) -> Result<Self, FitError> {
        check(training, maps, settings)?;
        let included = training.included();
        let training = &training.with(&included);
        let prepared = Prepared::new(training, maps, settings)?;
        let vertices = prepared.scene.vertices();
        let looked_at = sampled(&prepared.groups, vertices, settings.sweep_vertices);
        let sweeps = match settings.strength {
            Strength::Given(_) if forms(settings).len() == 1 => 0,
            _ => forms(settings).len(),
        };
        let sample: usize = looked_at.iter().map(|group| group.vertices.len()).sum();
        let ticker = Ticker::new((training.rest.len() + sweeps * sample) as u64, progress);
        let Form { rows, s, sweep, left_out_share } =
            choose_form(&prepared.scene, &looked_at, &prepared.tables, &prepared.maps, settings, &ticker)?;
        let looked_at = sampled(&prepared.groups, vertices, LEVERAGE_VERTICES);
        let (leverages, variances) =
            training_leverages(&prepared.scene, &looked_at, &prepared.tables, &prepared.maps, settings, rows, s)?;
        let mut model = prepared.solve(rows, s, None, &ticker)?;
        model.report.sweep = sweep;
        model.report.principal_axes = variances.means();
        model.report.left_out_share = left_out_share;
        model.report.largest_leverage = leverages.last().copied().unwrap_or(0.0);
        model.report.leverage_p99 = leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0);
        Ok(Self { settings: settings.clone(), maps: maps.clone(), model })
    }

    /// The model as it is now. Sweep and leverages of its report are those of [`Resolver::new`], merged poses those of the last
    /// time all vertices were solved; the vertices solved by axes or in single precision are counted among those solved last.
    pub fn model(&self) -> &Mwe {
        &self.model
    }

    /// The model, nothing else.
    pub fn into_model(self) -> Mwe {
        self.model
    }

    /// Solves every vertex again, with another s.
    ///
    /// # Errors
    /// As [`fit_mwe`](super::fit_mwe).
    pub fn set_ridge(&mut self, training: &Training<'_>, s: f64) -> Result<(), FitError> {
        self.again(training, s)
    }

    /// Solves every vertex again after examples were added, removed or weighted anew.
    ///
    /// # Errors
    /// As [`fit_mwe`](super::fit_mwe).
    pub fn set_examples(&mut self, training: &Training<'_>) -> Result<(), FitError> {
        self.again(training, self.model.report.s)
    }

    /// Solves again the vertices whose influence maps differ from those before; the result is their number.
    ///
    /// # Errors
    /// As [`fit_mwe`](super::fit_mwe).
    pub fn set_maps(&mut self, training: &Training<'_>, maps: &Influences) -> Result<usize, FitError> {
        check(training, maps, &self.settings)?;
        let changed: Vec<bool> = (0..maps.vertices()).map(|v| maps.of(v) != self.maps.of(v)).collect();
        let included = training.included();
        let training = &training.with(&included);
        let prepared = Prepared::new(training, maps, &self.settings)?;
        let kept = Kept { correction: &self.model.correction, changed: &changed };
        let MweReport { rows, s, .. } = self.model.report;
        let mut made = prepared.solve(rows, s, Some(kept), &Ticker::new(0, &silent))?;
        made.report.merged = self.model.report.merged;
        self.replace(made);
        self.maps = maps.clone();
        Ok(changed.iter().filter(|changed| **changed).count())
    }

    /// Takes another model, with the sweep and leverages of the first.
    fn replace(&mut self, made: Mwe) {
        let old = std::mem::replace(&mut self.model, made).report;
        let report = &mut self.model.report;
        (report.sweep, report.left_out_share) = (old.sweep, old.left_out_share);
        report.principal_axes = old.principal_axes;
        (report.largest_leverage, report.leverage_p99) = (old.largest_leverage, old.leverage_p99);
    }

    fn again(&mut self, training: &Training<'_>, s: f64) -> Result<(), FitError> {
        let settings = MweSettings { strength: Strength::Given(s), ..self.settings.clone() };
        check(training, &self.maps, &settings)?;
        let included = training.included();
        let training = &training.with(&included);
        let prepared = Prepared::new(training, &self.maps, &settings)?;
        let made = prepared.solve(self.model.report.rows, s, None, &Ticker::new(0, &silent))?;
        self.replace(made);
        Ok(())
    }
}

/// Vertices whose leverages the report is made of, at most: each costs as much as hundreds that are only solved.
pub(super) const LEVERAGE_VERTICES: usize = 128;

/// Everything but the answer.
pub(super) struct Prepared<'a> {
    pub scene: Scene<'a>,
    pub settings: &'a MweSettings,
    pub maps: Influences,
    pub anchors: Vec<Option<BoneIndex>>,
    pub groups: Vec<Group>,
    pub pairs: Vec<Pair>,
    pub tables: Vec<Table>,
}

/// What vertices that did not change keep.
struct Kept<'a> {
    correction: &'a Enveloping,
    changed: &'a [bool],
}

/// What a solve tells of a vertex besides its coefficients.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside {
    pub vertex: u32,
    pub constant: [f64; 3],
    /// Of the ball; zero for a vertex that needs no correction.
    pub radius: f64,
    pub by_axes: bool,
    pub in_single: bool,
    pub dropped: usize,
}

impl<'a> Prepared<'a> {
    fn new(training: &'a Training<'a>, maps: &Influences, settings: &'a MweSettings) -> Result<Self, FitError> {
        let scene = Scene::new(training, settings);
        let anchors = anchors(training, maps, settings);
        let maps = scene.welded_maps(maps)?;
        let (groups, pairs, tables) = scene.groups(&maps, &anchors, settings)?;
        Ok(Self { scene, settings, maps, anchors, groups, pairs, tables })
    }

    /// Coefficients of every vertex at one s, straight into the arrays of the correction.
    fn solve(
        &self,
        rows: EnvelopingForm,
        s: f64,
        kept: Option<Kept<'_>>,
        ticker: &Ticker<'_>,
    ) -> Result<Mwe, FitError> {
        let (vertices, size) = (self.anchors.len(), rows.coefficients());
        let mut bones = vec![0; vertices];
        self.groups.iter().for_each(|g| g.vertices.iter().for_each(|&v| bones[v as usize] = g.bones.len()));
        let mut coefficients = vec![0.0; size * bones.iter().sum::<usize>()];
        let mut rest = coefficients.as_mut_slice();
        let mut places: Vec<Option<&mut [f64]>> = Vec::with_capacity(vertices);
        for count in &bones {
            let (own, after) = rest.split_at_mut(size * count);
            places.push(Some(own));
            rest = after;
        }
        let mut of_group = |group: &Group| -> Vec<&mut [f64]> {
            group.vertices.iter().filter_map(|&v| places[v as usize].take()).collect()
        };
        let tasks: Vec<(&Group, Vec<&mut [f64]>)> = self.groups.iter().map(|g| (g, of_group(g))).collect();
        let solved: Vec<(usize, Vec<Beside>)> = tasks
            .into_par_iter()
            .map(|(group, places)| self.solve_group(group, places, rows, s, kept.as_ref(), ticker))
            .collect::<Result<_, _>>()?;
        self.assemble(rows, s, coefficients, &bones, solved)
    }

    /// Vertices of one group; how many poses were merged around it.
    fn solve_group(
        &self,
        group: &Group,
        places: Vec<&mut [f64]>,
        rows: EnvelopingForm,
        s: f64,
        kept: Option<&Kept<'_>>,
        ticker: &Ticker<'_>,
    ) -> Result<(usize, Vec<Beside>), FitError> {
        if let Some(kept) = kept
            && group.vertices.iter().all(|&v| !kept.changed[v as usize])
        {
            let copied = group.vertices.iter().zip(places).map(|(&v, place)| kept.copy(v, place));
            return Ok((0, copied.collect()));
        }
        let table = &self.tables[group.table];
        let local = self.scene.local(group, table, self.settings)?;
        let blocks = match self.settings.solver {
            Solver::Batched => Blocks::new(&local, table, self.settings, rows, s),
            Solver::Axes => None,
        };
        let single = match self.settings.solve_in {
            SolvePrecision::Single => blocks.as_ref().map(Blocks::single),
            SolvePrecision::Double => None,
        };
        let in_double = |room: &mut Room<f64>, block: &mut [Unsolved<'_>], beside: &mut Vec<Beside>| {
            let solved = blocks.as_ref().map(|b| b.solve(&self.scene, &local, table, &self.maps, block, room));
            for (lane, (v, place)) in block.iter_mut().enumerate() {
                beside.push(match &solved {
                    Some(solved) if !solved.refused[lane] => solved.beside(lane, *v),
                    _ => self.by_axes(&local, table, *v, rows, s, place)?,
                });
            }
            Ok(())
        };
        let in_single =
            |rooms: &mut Rooms, blocks: &Blocks<f32>, block: &mut [Unsolved<'_>], beside: &mut Vec<Beside>| {
                let solved = blocks.solve(&self.scene, &local, table, &self.maps, block, &mut rooms.single);
                for lane in 0..block.len() {
                    match solved.refused[lane] {
                        true => in_double(&mut rooms.double, &mut block[lane..=lane], beside)?,
                        false => beside.push(Beside { in_single: true, ..solved.beside(lane, block[lane].0) }),
                    }
                }
                Ok(())
            };
        let of_block = |block: &mut [Unsolved<'_>], single: Option<&Blocks<f32>>| {
            ticker.tick(0)?;
            let mut beside = Vec::with_capacity(block.len());
            Rooms::lent(|rooms| match single {
                Some(single) => in_single(rooms, single, block, &mut beside),
                None => in_double(&mut rooms.double, block, &mut beside),
            })?;
            ticker.tick(block.len() as u64)?;
            Ok(beside)
        };
        // Lanes are filled with what is to be solved, whoever the neighbours are: a lane does not see the others.
        let mut parts = Vec::new();
        let mut unsolved: Vec<Unsolved<'_>> = group.vertices.iter().copied().zip(places).collect();
        if let Some(kept) = kept {
            let (changed, same): (Vec<_>, Vec<_>) = unsolved.into_iter().partition(|(v, _)| kept.changed[*v as usize]);
            parts.push(same.into_iter().map(|(v, place)| kept.copy(v, place)).collect());
            unsolved = changed;
        }
        if let (Some(blocks), Some(single)) = (&blocks, &single) {
            let suits = |(v, _): &Unsolved<'_>| blocks.suits_single(&local, self.maps.of(*v as usize));
            let (mut suited, others): (Vec<_>, Vec<_>) = unsolved.into_iter().partition(suits);
            let solved = suited.par_chunks_mut(LANES_F32).map(|block| of_block(block, Some(single)));
            parts.extend(solved.collect::<Result<Vec<_>, FitError>>()?);
            unsolved = others;
        }
        let solved = unsolved.par_chunks_mut(LANES_F64).map(|block| of_block(block, None));
        parts.extend(solved.collect::<Result<Vec<_>, FitError>>()?);
        Ok((local.merged(), parts.concat()))
    }

    /// A vertex by its principal axes.
    fn by_axes(
        &self,
        local: &Local,
        table: &Table,
        v: u32,
        rows: EnvelopingForm,
        s: f64,
        place: &mut [f64],
    ) -> Result<Beside, FitError> {
        let (y, means) = self.scene.targets(local, table, &[v], self.settings.centring);
        let mut solution = VertexSolution::new(local.bones.len(), rows);
        for problem in VertexProblem::all(local, &self.maps, v as usize, rows) {
            let targets = y.get(.., problem.first_axis..problem.last_axis);
            problem
                .solve(local, self.settings, s, targets, &mut solution)
                .map_err(|source| FitError::Solve { vertex: VertexIndex::new(v as usize), source })?;
        }
        place.copy_from_slice(&solution.coefficients);
        (0..3).for_each(|j| solution.constant[j] += means[j]);
        let radius = BALL_FACTOR * self.scene.residuals(local, table, v as usize, |_, _| ());
        let VertexSolution { constant, dropped, .. } = solution;
        Ok(Beside { vertex: v, constant, radius, by_axes: true, dropped, ..Beside::default() })
    }

    /// Puts the answers into one correction. Vertices whose examples agree with the base have no coefficients.
    ///
    /// # Errors
    /// [`FitError::Table`] for more terms than 32 bits can count.
    pub fn assemble(
        &self,
        rows: EnvelopingForm,
        s: f64,
        mut coefficients: Vec<f64>,
        bones: &[usize],
        solved: Vec<(usize, Vec<Beside>)>,
    ) -> Result<Mwe, FitError> {
        let vertices = self.anchors.len();
        let size = rows.coefficients();
        let mut beside = vec![Beside::default(); vertices];
        let merged = solved.iter().map(|(merged, _)| merged).sum();
        for one in solved.iter().flat_map(|(_, of_group)| of_group) {
            beside[one.vertex as usize] = *one;
        }
        let mut group_of: Vec<&[u32]> = vec![&[]; vertices];
        self.groups.iter().for_each(|g| g.vertices.iter().for_each(|&v| group_of[v as usize] = &g.pairs));
        let mut correction = Enveloping {
            weld: self.scene.weld.clone(),
            origin: self.scene.origin,
            pairs: self.pairs.clone(),
            anchors: self.anchors.clone(),
            ..Enveloping::empty(rows, self.scene.unit)
        };
        let (mut from, mut to) = (0, 0);
        for v in 0..vertices {
            let count = size * bones[v];
            let mut terms: &[u32] = &[];
            if beside[v].radius > 0.0 {
                if from != to {
                    coefficients.copy_within(from..from + count, to);
                }
                to += count;
                terms = group_of[v];
            }
            from += count;
            correction.terms.push(terms.iter().copied()).map_err(of_table("enveloping terms"))?;
        }
        coefficients.truncate(to);
        coefficients.shrink_to_fit();
        correction.coefficients = coefficients;
        if beside.iter().any(|b| b.constant != [0.0; 3]) {
            correction.constants = beside.iter().map(|b| DVec3::from_array(b.constant)).collect();
        }
        if self.settings.guard {
            correction.radii = beside.iter().map(|b| b.radius).collect();
        }
        let report = MweReport {
            s,
            rows,
            sweep: vec![],
            left_out_share: None,
            touched: self.scene.vertices(),
            welded: self.scene.weld.frozen().collect(),
            groups: self.groups.len(),
            merged,
            by_axes: beside.iter().filter(|b| b.by_axes).count(),
            in_single: beside.iter().filter(|b| b.in_single).count(),
            axes_dropped: beside.iter().map(|b| b.dropped).sum(),
            largest_leverage: 0.0,
            leverage_p99: 0.0,
            corrected: correction.terms.iter().filter(|terms| !terms.is_empty()).count(),
            principal_axes: None,
        };
        Ok(Mwe { correction, report })
    }
}

impl Solved {
    fn beside(&self, lane: usize, vertex: u32) -> Beside {
        let (constant, radius) = (self.constants[lane], BALL_FACTOR * self.largest[lane]);
        Beside { vertex, constant, radius, ..Beside::default() }
    }
}

impl Kept<'_> {
    /// A vertex as it was.
    fn copy(&self, v: u32, place: &mut [f64]) -> Beside {
        let (c, at) = (self.correction, v as usize);
        let size = c.rows.coefficients();
        let terms = c.terms.range(at);
        let old = &c.coefficients[terms.start * size..terms.end * size];
        if old.len() == place.len() {
            place.copy_from_slice(old);
        }
        let radius = match c.radii.get(at) {
            Some(radius) => *radius,
            None => f64::from(u8::from(!old.is_empty())),
        };
        Beside {
            vertex: v,
            constant: c.constants.get(at).map_or([0.0; 3], |c| c.to_array()),
            radius,
            ..Beside::default()
        }
    }
}
