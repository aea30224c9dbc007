//! From sums to a model: what was welded, the choice of s on the vertices that were kept, and the solve.

use super::super::axes::Variances;
use super::super::blocks::{Blocks, Room, Rooms, WIDEST};
use super::super::resolve::{Beside, LEVERAGE_VERTICES, Prepared};
use super::super::scene::{BonesOf, Group, Scene, Table};
use super::super::settings::{MweSettings, Strength};
use super::super::{Form, Mwe, Swept, choose_among, forms, sampled, sweep, training_leverages};
use super::{Accumulator, Seen, Statistics};
use crate::training::{BasePoses, FitError, Progress, Ticker, Training, table};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_deform::guard::BALL_FACTOR;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneIndex, Example, Influences, VertexIndex};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use dermis_solve::simd::LANES_F64 as LANES;
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;
use std::mem::take;

impl Accumulator {
    /// Fits the model to all that was summed. Memory beyond the sums: those poses and kept residuals in `f64`, and the
    /// model; clone the accumulator to go on with it.
    ///
    /// # Errors
    /// [`FitError`]: no examples, numbers that fail, cancellation.
    pub fn finish(mut self, progress: Progress<'_>) -> Result<Mwe, FitError> {
        let poses = take(&mut self.sums.poses);
        if poses.is_empty() {
            return Err(FitError::NoExamples);
        }
        let vertices = self.anchors.len();
        let kept: Vec<usize> = (0..vertices).step_by(self.sums.stride).collect();
        let examples: Vec<Example> = poses
            .into_iter()
            .map(|pose| Example {
                label: String::new(),
                time: None,
                transforms: pose.transforms,
                positions: pose.residuals.chunks_exact(3).map(|x| Vec3::from_slice(x).as_dvec3()).collect(),
                importance: pose.importance,
                local: None,
            })
            .collect();
        let training = Training {
            skeleton: &self.skeleton,
            rest: &vec![DVec3::ZERO; kept.len()],
            length: self.length,
            examples: &examples,
            base: BasePoses::Computed(&|_, _| DVec3::ZERO),
        };
        let settings = &MweSettings { duplicates: -1.0, ..self.settings.clone() };
        let scene = Scene::new(&training, settings);
        let maps = scene.welded_maps(&take(&mut self.maps))?;
        let (groups, pairs, bones_of) = scene.find_groups(&maps, &self.anchors, settings)?;
        let rows_of_kept = kept.iter().map(|&v| maps.of(v).to_vec());
        let kept_maps = table("the maps of the vertices kept", rows_of_kept)?;
        let stride = self.sums.stride;
        let place = |v: &&u32| (**v as usize).is_multiple_of(stride);
        let at_kept =
            |group: &Group| group.of(group.vertices.iter().filter(place).map(|v| v / stride as u32).collect());
        let kept_groups: Vec<Group> = groups.iter().map(at_kept).filter(|group| !group.vertices.is_empty()).collect();
        let chooses = !(matches!(settings.strength, Strength::Given(_)) && forms(settings).len() == 1);
        let sweeps = if chooses { forms(settings).len() } else { 0 };
        let ticker = Ticker::new((vertices + sweeps * kept.len()) as u64, progress);
        let looked_at = Looked { scene: &scene, bones_of: &bones_of, settings };
        let Form { rows, s, sweep: points, .. } =
            choose_among(settings, examples.len() * kept.len(), false, |grid, rows| {
                let mut total = Swept::new(grid);
                looked_at.each_anchor(&kept_groups, |groups, tables| {
                    total.join(sweep(&scene, groups, tables, &kept_maps, settings, grid, rows, &ticker)?);
                    Ok(())
                })?;
                Ok(total)
            })?;
        let (mut leverages, mut variances) = (Vec::new(), Variances::default());
        looked_at.each_anchor(&sampled(&kept_groups, kept.len(), LEVERAGE_VERTICES), |groups, tables| {
            let (more, of_anchor) = training_leverages(&scene, groups, tables, &kept_maps, settings, rows, s)?;
            leverages.extend(more);
            variances.join(of_anchor);
            Ok(())
        })?;
        leverages.sort_by(f64::total_cmp);
        let Self { sums, offsets, terms, tables, anchors, .. } = self;
        let solver = Solver { scene: &scene, maps: &maps, tables: &tables, offsets: &offsets, terms: &terms, rows, s };
        let (coefficients, solved) = solver.solve(sums, &groups, &anchors, &ticker)?;
        let mut bones = vec![0; vertices];
        groups.iter().for_each(|g| g.vertices.iter().for_each(|&v| bones[v as usize] = g.bones.len()));
        let prepared =
            Prepared { scene, settings, maps: Influences::default(), anchors, groups, pairs, tables: vec![] };
        let mut model = prepared.assemble(rows, s, coefficients, &bones, vec![(0, solved)])?;
        model.report.touched = vertices;
        model.report.sweep = points;
        model.report.principal_axes = variances.means();
        model.report.largest_leverage = leverages.last().copied().unwrap_or(0.0);
        model.report.leverage_p99 = leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0);
        Ok(model)
    }
}

/// The poses as anchors see them.
struct Looked<'a> {
    scene: &'a Scene<'a>,
    bones_of: &'a BonesOf,
    settings: &'a MweSettings,
}

impl Looked<'_> {
    /// Does something with the groups of each anchor and its table, one anchor after another: a table of thousands of
    /// poses is large.
    fn each_anchor(
        &self,
        groups: &[Group],
        mut task: impl FnMut(&[Group], &[Table]) -> Result<(), FitError>,
    ) -> Result<(), FitError> {
        for of_anchor in groups.chunk_by(|a, b| a.table == b.table) {
            let (anchor, bones) = &self.bones_of[of_anchor[0].table];
            let table = self.scene.table(*anchor, bones.clone(), self.settings);
            let own = |g: &Group| Group {
                table: 0,
                anchor: g.anchor,
                bones: g.bones.clone(),
                pairs: g.pairs.clone(),
                said: vec![],
                vertices: g.vertices.clone(),
            };
            task(&of_anchor.iter().map(own).collect::<Vec<_>>(), std::slice::from_ref(&table))?;
        }
        Ok(())
    }
}

/// Every vertex from its sums.
struct Solver<'a> {
    scene: &'a Scene<'a>,
    maps: &'a Influences,
    tables: &'a [Seen],
    offsets: &'a [usize],
    terms: &'a [u32],
    rows: EnvelopingForm,
    s: f64,
}

impl Solver<'_> {
    /// Coefficients where the sums were, vertex after vertex.
    fn solve(
        &self,
        sums: Statistics,
        groups: &[Group],
        anchors: &[Option<BoneIndex>],
        ticker: &Ticker<'_>,
    ) -> Result<(Vec<f64>, Vec<Beside>), FitError> {
        let mut moments = sums.moments;
        let sums = Statistics { moments: vec![], ..sums };
        let (from, to) = (sums.form.coefficients(), self.rows.coefficients());
        let mut rest = moments.as_mut_slice();
        let mut places: Vec<Option<&mut [f64]>> = Vec::with_capacity(anchors.len());
        for pair in self.offsets.windows(2) {
            let (own, after) = rest.split_at_mut(from * (pair[1] - pair[0]));
            places.push(Some(own));
            rest = after;
        }
        let mut of_group =
            |g: &Group| -> Vec<&mut [f64]> { g.vertices.iter().filter_map(|&v| places[v as usize].take()).collect() };
        let tasks: Vec<(&Group, Vec<&mut [f64]>)> = groups.iter().map(|g| (g, of_group(g))).collect();
        let solved: Vec<Vec<Beside>> = tasks
            .into_par_iter()
            .map(|(group, places)| self.solve_group(group, places, &sums, ticker))
            .collect::<Result<_, _>>()?;
        // Welded bones have no coefficients: what remains moves to where the correction wants it.
        let mut counts = vec![0; anchors.len()];
        groups.iter().for_each(|g| g.vertices.iter().for_each(|&v| counts[v as usize] = to * g.bones.len()));
        let mut end = 0;
        for (v, count) in counts.into_iter().enumerate() {
            let start = from * self.offsets[v];
            moments.copy_within(start..start + count, end);
            end += count;
        }
        moments.truncate(end);
        Ok((moments, solved.concat()))
    }

    fn solve_group(
        &self,
        group: &Group,
        mut places: Vec<&mut [f64]>,
        sums: &Statistics,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Beside>, FitError> {
        let at = self.tables.partition_point(|table| table.anchor < group.anchor);
        let table = &self.tables[at];
        let root = |bone: BoneIndex| self.scene.representative[bone.get()];
        // Parents come first, so the first of the bones that are welded together is the topmost that was summed.
        let lacking = |bone: &BoneIndex| FitError::NoSums { bone: bone.get() };
        let stands_for =
            |bone: &BoneIndex| table.bones.iter().position(|b| root(*b) == *bone).ok_or_else(|| lacking(bone));
        let columns: Vec<usize> = group.bones.iter().map(stands_for).collect::<Result<_, _>>()?;
        let gram = |a: usize, b: usize| {
            let place = |c: usize| 12 * columns[c / 12] + c % 12;
            table.gram(sums, place(a), place(b))
        };
        let blocks = (self.s > 0.0).then(|| Blocks::summed(group.bones.len(), self.rows, self.s, gram));
        let of_block = |room: &mut Room<f64>, vertices: &[u32], places: &mut [&mut [f64]]| {
            ticker.tick(0)?;
            let mut slots: Vec<Vec<f64>> = Vec::with_capacity(LANES);
            let mut maps: Vec<Vec<f64>> = Vec::with_capacity(LANES);
            for (&v, place) in vertices.iter().zip(&*places) {
                let own = &self.terms[self.offsets[v as usize]..self.offsets[v as usize + 1]];
                let term = |bone: &BoneIndex| {
                    own.iter().position(|&t| root(table.bones[t as usize]) == *bone).ok_or_else(|| lacking(bone))
                };
                let terms: Vec<usize> = group.bones.iter().map(term).collect::<Result<_, _>>()?;
                slots.push(terms.into_iter().flat_map(|term| self.moments(sums.form, place, term)).collect());
                maps.push(group.bones.iter().map(|&bone| self.maps.value(v as usize, bone)).collect());
            }
            let refused = match &blocks {
                Some(blocks) => blocks.solve_summed(&maps, &mut slots, room),
                None => [true; WIDEST],
            };
            let mut beside = Vec::with_capacity(vertices.len());
            for (lane, &v) in vertices.iter().enumerate() {
                let mut dropped = 0;
                if refused[lane] && !group.bones.is_empty() {
                    dropped = by_axes(&gram, &maps[lane], self.rows, self.s, &mut slots[lane])
                        .map_err(|source| FitError::Solve { vertex: VertexIndex::new(v as usize), source })?;
                }
                places[lane][..slots[lane].len()].copy_from_slice(&slots[lane]);
                let radius = BALL_FACTOR * sums.largest[v as usize].sqrt();
                beside.push(Beside { vertex: v, radius, by_axes: refused[lane], dropped, ..Beside::default() });
            }
            ticker.tick(vertices.len() as u64)?;
            Ok(beside)
        };
        let tasks = group.vertices.par_chunks(LANES).zip(places.par_chunks_mut(LANES));
        let parts = tasks.map(|(vertices, places)| Rooms::lent(|rooms| of_block(&mut rooms.double, vertices, places)));
        Ok(parts.collect::<Result<Vec<_>, FitError>>()?.concat())
    }

    /// The sums of one term of a vertex, as the form that is solved lays them out.
    fn moments(&self, form: EnvelopingForm, sums: &[f64], term: usize) -> Vec<f64> {
        let own = &sums[form.coefficients() * term..form.coefficients() * (term + 1)];
        match (form, self.rows) {
            (EnvelopingForm::Full, EnvelopingForm::Row) => (0..12).map(|entry| own[12 * (entry / 4) + entry]).collect(),
            _ => own.to_vec(),
        }
    }
}

/// The answer of one vertex by principal axes of D XᵀX D, in place of its Xᵀ y; how many axes were dropped.
fn by_axes(
    gram: &dyn Fn(usize, usize) -> f64,
    maps: &[f64],
    rows: EnvelopingForm,
    s: f64,
    slot: &mut [f64],
) -> Result<usize, SolveError> {
    let parts: &[(usize, usize)] = match rows {
        EnvelopingForm::Full => &[(0, 3)],
        EnvelopingForm::Row => &[(0, 1), (1, 1), (2, 1)],
    };
    let mut dropped = 0;
    for &(first, axes) in parts {
        let columns: Vec<usize> = (0..12 * maps.len()).filter(|c| axes == 3 || (c % 12) / 4 == first).collect();
        let size = columns.len();
        let mu = |i: usize| maps[columns[i] / 12];
        let found =
            principal_axes(Mat::from_fn(size, size, |i, j| gram(columns[i], columns[j]) * mu(i) * mu(j)).as_ref())?;
        let largest = found.values.first().copied().unwrap_or(0.0);
        let kept = found.values.iter().filter(|g| **g > 1e-9 * largest && **g > 1e-12).count();
        dropped += size - kept;
        for axis in 0..axes {
            let place = |c: usize| match rows {
                EnvelopingForm::Full => 36 * (c / 12) + 12 * axis + c % 12,
                EnvelopingForm::Row => c,
            };
            let mut u = vec![0.0; size];
            for h in 0..kept {
                let e = |i: usize| found.vectors[(i, h)];
                let along: f64 = (0..size).map(|i| e(i) * mu(i) * slot[place(columns[i])]).sum();
                (0..size).for_each(|i| u[i] += e(i) * along / (found.values[h] + s));
            }
            (0..size).for_each(|i| slot[place(columns[i])] = mu(i) * u[i]);
        }
    }
    Ok(dropped)
}
