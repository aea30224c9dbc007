//! All vertices: λ is chosen, every vertex is solved, the model is put together.

use super::normal::{Sums, Vertices};
use super::rows::LEAST_SHARED;
use super::scene::{Group, Scene};
use super::settings::{JointFit, JointReport};
use super::solve::{Coefficients, FreePart, LeverageForm};
use super::{Form, Validation};
use crate::evidence::{Evidence, meeting};
use crate::mask::Said;
use crate::training::{FitError, Ticker, of_table};
use dermis_deform::guard::BALL_FACTOR;
use dermis_deform::joints::{CorrectionFrame, SharedTerm};
use dermis_rig::VertexIndex;
use dermis_rig::glam::DVec3;
use dermis_solve::faer::Mat;
use dermis_solve::{SolveError, cross_validation};
use rayon::prelude::*;
use std::ops::Range;

/// Vertices of a group that a task takes at a time: their matrices fit a core's cache.
const CHUNK: usize = 8;

/// Examples that a task looks at at a time: the features of a chunk of vertices fit a core's cache.
const AT_ONCE: usize = 128;

/// Folds of at least so many poses are subtracted from the sums; smaller ones are left out by their leverage.
const REFIT: usize = 4;

/// The least λ of the calm default: joints of sculpts that turn by a few degrees ask for one at which rounding counts.
const LEAST_CALM: f64 = 1e-3;

/// λ and how it was chosen.
pub struct Choice {
    pub lambda: f64,
    /// Rms over vertices and poses left out, at the best λ.
    pub error: f64,
    /// λ and the same error; empty where no pose shows what another one moves, so that λ is the largest that meets the examples.
    pub sweep: Vec<(f64, f64)>,
    pub vertices: usize,
}

impl Scene<'_> {
    /// Returns groups with some of their vertices at a time, taking every `stride`-th vertex of the mesh.
    pub fn chunks<'g>(&self, groups: &'g [Group], stride: usize) -> Vec<(&'g Group, Vec<usize>)> {
        let mut chunks = Vec::new();
        for group in groups {
            let taken: Vec<usize> = group.vertices.iter().copied().filter(|v| v.is_multiple_of(stride)).collect();
            chunks.extend(taken.chunks(CHUNK).map(|part| (group, part.to_vec())));
        }
        chunks
    }

    /// Runs `together` on some vertices of a group at a time, in parallel, and returns the results in order. In the rest frame,
    /// whose axes do not separate, `direct` takes them.
    fn for_chunks<T: Send>(
        &self,
        groups: &[Group],
        stride: usize,
        ticker: &Ticker<'_>,
        together: impl Fn(&Group, &[usize]) -> Result<T, SolveError> + Sync,
        direct: impl Fn(&Group, &[usize]) -> Result<T, SolveError> + Sync,
    ) -> Result<Vec<T>, FitError> {
        self.chunks(groups, stride)
            .into_par_iter()
            .map(|(group, vertices)| {
                ticker.tick(0)?;
                let result = if self.settings.frame == CorrectionFrame::Rest {
                    direct(group, &vertices)
                } else {
                    together(group, &vertices)
                };
                ticker.tick(vertices.len() as u64)?;
                result.map_err(|source| FitError::Solve { vertex: VertexIndex::new(vertices[0]), source })
            })
            .collect()
    }

    /// Returns the sums of squared residuals on the poses left out, at every λ of every vertex looked at. `which` says of every
    /// fold of a group whether it is left out; none counts where it is not.
    fn left_out(
        &self,
        groups: &[Group],
        stride: usize,
        grid: &[f64],
        which: impl Fn(&Group) -> Vec<bool> + Sync,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Vec<f64>>, FitError> {
        let parts = self.for_chunks(
            groups,
            stride,
            ticker,
            |group, vertices| {
                if self.fold_ranges().iter().any(|fold| fold.len() >= REFIT) {
                    return self.left_out_summed(group, vertices, grid, &which(group));
                }
                let vertices = self.vertices(group, vertices, 0..self.own).0;
                let (folds, free) = (some(self.folds(group), &which(group)), FreePart::of(&vertices)?);
                let vertices = LeverageForm::new(&free, &vertices);
                grid.iter().map(|&lambda| vertices.left_out(lambda, &folds)).collect::<Result<Vec<_>, _>>()
            },
            |group, vertices| {
                let (folds, mut sums) = (some(self.folds(group), &which(group)), vec![vec![]; grid.len()]);
                for &v in vertices {
                    let (problem, _) = self.direct(group, v);
                    for (sums, &lambda) in sums.iter_mut().zip(grid) {
                        sums.push(problem.left_out(lambda, &folds)?);
                    }
                }
                Ok(sums)
            },
        )?;
        let at_lambda = |i: usize| parts.iter().flat_map(|part| part[i].iter().copied()).collect();
        Ok((0..grid.len()).map(at_lambda).collect())
    }

    /// Returns the sums of squared residuals on folds left out, at every λ of each vertex. Each fold is subtracted from the sums.
    fn left_out_summed(
        &self,
        group: &Group,
        vertices: &[usize],
        grid: &[f64],
        marked: &[bool],
    ) -> Result<Vec<Vec<f64>>, SolveError> {
        let ranges = self.fold_ranges();
        let folds: Vec<Summed> = ranges.into_iter().map(|fold| self.summed(group, vertices, fold, &[])).collect();
        let Some((first, others)) = folds.split_first() else { return Ok(vec![vec![]; grid.len()]) };
        let mut all = first.sums.clone();
        others.iter().for_each(|fold| all.add(&fold.sums));
        let (of, mut left) = (&first.of, vec![vec![0.0; vertices.len()]; grid.len()]);
        for (fold, _) in folds.iter().zip(marked).filter(|(_, marked)| **marked) {
            let kept = all.without(&fold.sums);
            for (left, &lambda) in left.iter_mut().zip(grid) {
                let factor = of.factor(&kept, lambda)?;
                for (at, left) in left.iter_mut().enumerate() {
                    *left += of.squares_of(&fold.sums, &of.solve(&kept, lambda, &factor, at)?, at);
                }
            }
        }
        Ok(left)
    }

    /// Sums vertices of a group over some examples, which are looked at a few at a time; products of free features are taken from
    /// `grams`, if there are any.
    fn summed(&self, group: &Group, vertices: &[usize], examples: Range<usize>, grams: &[Mat<f64>]) -> Summed {
        let sums_of = |of: &Vertices| match grams {
            [] => of.sums(0..of.poses()),
            _ => of.moments(0..of.poses()),
        };
        let mut parts = parts_of(examples).map(|part| self.vertices(group, vertices, part));
        let (of, mut largest) = parts.next().unwrap_or_else(|| self.vertices(group, vertices, 0..0));
        let mut sums = sums_of(&of);
        for (part, norms) in parts {
            sums.add(&sums_of(&part));
            largest.iter_mut().zip(norms).for_each(|(largest, norm)| *largest = largest.max(norm));
        }
        if !grams.is_empty() {
            sums.take_grams(grams.iter().map(|gram| self.free_gram(group, gram)));
        }
        Summed { of, sums, largest }
    }

    /// Returns the errors on the poses left out over the vertices looked at, each at the λ that is best for it. Of local sculpts what
    /// they touched counts. The search goes downhill from the middle of the grid.
    pub fn validated(&self, groups: &[Group], stride: usize, ticker: &Ticker<'_>) -> Result<Validation, FitError> {
        let grid = &self.settings.grid;
        let (vertices, rows) = self.looked_at(groups, stride);
        // How many examples touched each vertex, in the order of the sums.
        let touched: Vec<f64> =
            self.chunks(groups, stride).iter().flat_map(|(g, of)| vec![self.touching(g) as f64; of.len()]).collect();
        let mut errors: Vec<Option<Validation>> = vec![None; grid.len()];
        let all = |group: &Group| vec![true; self.folds(group).len()];
        let mut search = |of: fn(&Validation) -> f64| {
            let mut at = grid.len() / 2;
            loop {
                let around = at.saturating_sub(1)..(at + 2).min(grid.len());
                let missing: Vec<usize> = around.clone().filter(|&i| errors[i].is_none()).collect();
                let lambdas: Vec<f64> = missing.iter().map(|&i| grid[i]).collect();
                if !missing.is_empty() {
                    for (i, sums) in missing.into_iter().zip(self.left_out(groups, stride, &lambdas, all, ticker)?) {
                        let root = |(sum, rows): (&f64, &f64)| (sum / rows.max(1.0)).sqrt();
                        errors[i] = Some(Validation {
                            rms: (sums.iter().sum::<f64>() / rows.max(1) as f64).sqrt(),
                            mean: sums.iter().zip(&touched).map(root).sum::<f64>() / vertices.max(1) as f64,
                        });
                    }
                }
                let error = |i: usize| errors[i].as_ref().map_or(f64::INFINITY, of);
                let best = around.fold(at, |best, i| if error(i) < error(best) { i } else { best });
                if best == at {
                    return Ok::<f64, FitError>(error(at));
                }
                at = best;
            }
        };
        Ok(Validation { rms: search(|v| v.rms)?, mean: search(|v| v.mean)? })
    }

    /// Returns the sums of squared residuals that the fit leaves of the examples, at every λ, over the vertices looked at.
    fn trained(
        &self,
        groups: &[Group],
        stride: usize,
        grid: &[f64],
        ticker: &Ticker<'_>,
    ) -> Result<Vec<f64>, FitError> {
        let parts = self.for_chunks(
            groups,
            stride,
            ticker,
            |group, vertices| {
                let problem = self.vertices(group, vertices, 0..self.own).0;
                let all = 0..problem.poses();
                let sums = problem.sums(all.clone());
                let at = |&lambda: &f64| {
                    let factor = problem.factor(&sums, lambda)?;
                    let of_vertex =
                        |at: usize| Ok(problem.squares(&problem.solve(&sums, lambda, &factor, at)?, at, all.clone()));
                    (0..vertices.len()).map(of_vertex).sum::<Result<f64, SolveError>>()
                };
                grid.iter().map(at).collect::<Result<Vec<_>, _>>()
            },
            |group, vertices| {
                let mut sums = vec![0.0; grid.len()];
                for &v in vertices {
                    let (problem, _) = self.direct(group, v);
                    for (sum, &lambda) in sums.iter_mut().zip(grid) {
                        *sum += problem.solve(lambda, 0, self.own, |row| group.touched(row))?.squares;
                    }
                }
                Ok(sums)
            },
        )?;
        Ok((0..grid.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect())
    }

    /// Returns what the base leaves of the vertices looked at, by whether a pose counts in the choice of λ.
    fn evidence_of(&self, groups: &[Group], stride: usize) -> Evidence {
        let chunks = self.chunks(groups, stride);
        let of_chunk = |(group, vertices): (&Group, Vec<usize>)| self.evidence(group, &vertices, &self.counted(group));
        let parts: Vec<Evidence> = chunks.into_par_iter().map(of_chunk).collect();
        parts.into_iter().fold(Evidence::default(), |mut sum, part| {
            sum.join(part);
            sum
        })
    }

    /// Returns the number of examples that touched the vertices of a group.
    fn touching(&self, group: &Group) -> usize {
        (0..self.own).filter(|&s| group.touched(s)).count()
    }

    /// Returns the vertices looked at, and the pairs of one of them and an example that touched it.
    fn looked_at(&self, groups: &[Group], stride: usize) -> (usize, usize) {
        if self.masks.is_none() {
            let vertices = self.training.rest.len().div_ceil(stride);
            return (vertices, vertices * self.own);
        }
        let chunks = self.chunks(groups, stride);
        let vertices = chunks.iter().map(|(_, of)| of.len()).sum();
        (vertices, chunks.iter().map(|(group, of)| of.len() * self.touching(group)).sum())
    }

    /// Returns ϱ, the least error over the grid on touched rows that are left out, over what the base leaves of them. A row whose movement
    /// no other shows keeps what the base leaves; 1 where too few show any. Rows that nobody touched must not count: what was shown there holds what a model knew
    /// of the rows left out.
    pub fn left_out_share(&self, groups: &[Group], stride: usize, ticker: &Ticker<'_>) -> Result<f64, FitError> {
        let evidence = self.evidence_of(groups, stride);
        if evidence.is_missing() || evidence.counted == 0.0 {
            return Ok(1.0);
        }
        let sums = self.left_out(groups, stride, &self.settings.grid, |group| self.counted(group), ticker)?;
        let least = sums.iter().map(|of_vertices| of_vertices.iter().sum::<f64>()).fold(f64::INFINITY, f64::min);
        Ok(((least + evidence.others) / evidence.all()).sqrt())
    }

    /// Returns the λ at which a sculpt is met half: ½ the median over touched rows of Σ_e a_e k(φ_e, φ_e).
    pub fn calm(&self, groups: &[Group], stride: usize) -> f64 {
        let mut strengths: Vec<f64> = Vec::new();
        for (group, vertices) in self.chunks(groups, stride) {
            for s in (0..self.own).filter(|&s| group.touched(s)) {
                let strength: f64 = self.free_row(group, &self.poses[s]).map(|z| z * z).sum();
                strengths.extend(vertices.iter().map(|_| strength));
            }
        }
        strengths.sort_by(f64::total_cmp);
        let median = strengths.get(strengths.len() / 2).copied().unwrap_or(0.0);
        (0.5 * median).max(LEAST_CALM)
    }

    /// Chooses λ by the error on the poses left out whose movement others show, or by what meets the examples if there are none
    /// ([`evidence`](crate::evidence)). In the errors, the other poses count with what the base leaves of them.
    pub fn choose(&self, groups: &[Group], stride: usize, ticker: &Ticker<'_>) -> Result<Choice, FitError> {
        let grid = &self.settings.grid;
        let (vertices, rows) = self.looked_at(groups, stride);
        let rms = |sum: f64| (sum / rows.max(1) as f64).sqrt();
        let evidence = self.evidence_of(groups, stride);
        if evidence.is_missing() {
            let met = meeting(&self.trained(groups, stride, grid, ticker)?, evidence.all());
            return Ok(Choice { lambda: grid[met], error: rms(evidence.all()), sweep: vec![], vertices });
        }
        let counted: Vec<f64> = self
            .left_out(groups, stride, grid, |group| self.counted(group), ticker)?
            .iter()
            .map(|of_vertices| of_vertices.iter().sum())
            .collect();
        let chosen = cross_validation::choose(&counted, self.settings.tolerance).unwrap_or(0);
        let sums: Vec<f64> = counted.iter().map(|sum| sum + evidence.others).collect();
        Ok(Choice {
            lambda: grid[chosen],
            error: sums.iter().copied().map(rms).fold(f64::INFINITY, f64::min),
            sweep: grid.iter().zip(&sums).map(|(&lambda, &sum)| (lambda, rms(sum))).collect(),
            vertices,
        })
    }

    /// Returns the coefficients of every vertex in the order of groups, with the largest norm of its shared features. The leverage is
    /// that of every `stride`-th vertex.
    pub fn solve(
        &self,
        groups: &[Group],
        lambda: f64,
        stride: usize,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<(usize, Coefficients, f64)>, FitError> {
        let grams = self.free_grams();
        let parts = self.for_chunks(
            groups,
            1,
            ticker,
            |group, vertices| self.solve_summed(group, vertices, (lambda, stride), &grams),
            |group, vertices| self.solve_direct(group, vertices, lambda),
        )?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// Solves vertices of a group from sums over the examples, which are looked at a few at a time.
    fn solve_summed(
        &self,
        group: &Group,
        vertices: &[usize],
        (lambda, stride): (f64, usize),
        grams: &[Mat<f64>],
    ) -> Result<Vec<(usize, Coefficients, f64)>, SolveError> {
        let Summed { of, sums, largest } = self.summed(group, vertices, 0..self.own, grams);
        let factor = of.factor(&sums, lambda)?;
        let of_vertex = |(at, (&v, norm)): (usize, (&usize, f64))| {
            let solution = of.solve(&sums, lambda, &factor, at)?;
            // Features that are rounding say nothing.
            let shared = if norm < LEAST_SHARED { 0 } else { of.shared[at] };
            let mut coefficients = Coefficients {
                u: solution.u.get(..self.free_count(group), ..).to_owned(),
                q: (0..shared).map(|k| solution.q[(k, 0)]).collect(),
                leverage: None,
                squares: 0.0,
            };
            let (seen, masked) = (v.is_multiple_of(stride), !group.said.is_empty());
            if !masked {
                coefficients.squares = of.squares_of(&sums, &solution, at);
            }
            for part in parts_of(0..self.own).filter(|_| seen || masked) {
                let (problem, _) = self.vertices(group, &[v], part.clone());
                if seen {
                    let leverage = problem.largest_leverage(&solution, &factor, 0);
                    coefficients.leverage = Some(coefficients.leverage.map_or(leverage, |most| most.max(leverage)));
                }
                if masked {
                    let touched = part.clone().filter(|&s| group.touched(s)).map(|s| s - part.start);
                    coefficients.squares += touched.map(|s| problem.squares(&solution, 0, s..s + 1)).sum::<f64>();
                }
            }
            Ok((v, coefficients, norm))
        };
        vertices.iter().zip(largest).enumerate().map(of_vertex).collect()
    }

    /// Solves vertices of a group whose axes do not separate.
    fn solve_direct(
        &self,
        group: &Group,
        vertices: &[usize],
        lambda: f64,
    ) -> Result<Vec<(usize, Coefficients, f64)>, SolveError> {
        let sides = if group.mirrored { 2 } else { 1 };
        let of_vertex = |&v: &usize| {
            let (problem, largest) = self.direct(group, v);
            let free = self.free_count(group);
            let mut coefficients = problem.solve(lambda, sides * free, self.own, |row| group.touched(row))?;
            // What follows is the other side's own part.
            coefficients.u = coefficients.u.get(..free, ..).to_owned();
            coefficients.q.truncate(4 * self.bone_relevance[v].len());
            Ok((v, coefficients, largest))
        };
        vertices.iter().map(of_vertex).collect()
    }

    /// Returns the largest residual of each vertex over the examples that touched it.
    pub fn touched_residuals(&self) -> Vec<f64> {
        let Some(masks) = &self.masks else { return self.training.largest_residuals() };
        let of_vertex = |v: usize| {
            let touched = (0..self.own).filter(|&s| masks.at(s, v) == Said::Touched);
            touched.map(|s| self.training.residual(s, v).length()).fold(0.0, f64::max)
        };
        (0..self.training.rest.len()).into_par_iter().map(of_vertex).collect()
    }

    /// Returns ρ, the largest residual of each vertex, from those of the examples: mirror images included.
    fn largest_residuals(&self, own: &[f64]) -> Vec<f64> {
        let image = |v: usize| self.mirror.and_then(|mirror| mirror.vertices[v]).map_or(0.0, |m| own[m as usize]);
        (0..own.len()).map(|v| own[v].max(image(v))).collect()
    }

    /// Makes the model and its report from the coefficients and largest residuals of all vertices.
    ///
    /// # Errors
    /// [`FitError::Table`] for more terms than 32 bits can count.
    pub fn assemble(
        mut self,
        groups: &[Group],
        solved: Vec<(usize, Coefficients, f64)>,
        largest_residuals: &[f64],
        form: Form,
    ) -> Result<JointFit, FitError> {
        let Form { choice, other_sweep, prior, left_out_share, .. } = form;
        let touched = groups.iter().map(|group| group.vertices.len()).sum();
        let rows = self.looked_at(groups, 1).1;
        let dealt = self.settings.dealt(self.different_poses()).filter(|_| self.masks.is_none());
        let vertices = self.training.rest.len();
        let mut group_of = vec![0; vertices];
        for (g, group) in groups.iter().enumerate() {
            group.vertices.iter().for_each(|&v| group_of[v] = g);
        }
        let mut place: Vec<Option<(Coefficients, f64)>> = (0..vertices).map(|_| None).collect();
        for (v, coefficients, largest) in solved {
            place[v] = Some((coefficients, largest));
        }
        let residuals = self.largest_residuals(largest_residuals);
        let radii = match self.settings.ball {
            true => residuals.iter().map(|rho| BALL_FACTOR * rho).collect(),
            false => vec![],
        };
        let (mut leverages, mut squares, mut corrected) = (Vec::with_capacity(vertices), 0.0, 0);
        let root = self.settings.beta.sqrt();
        let model = &mut self.model;
        for (v, solution) in place.into_iter().enumerate() {
            let untouched = || (Coefficients { u: Mat::zeros(0, 3), q: vec![], leverage: None, squares: 0.0 }, 0.0);
            let (Coefficients { u, q, leverage, squares: left }, largest) = solution.unwrap_or_else(untouched);
            let still = u.norm_max() == 0.0 && q.iter().all(|q| *q == 0.0);
            let (mut terms, mut coefficients, mut shared) = (Vec::new(), Vec::new(), Vec::new());
            if !still {
                let mut at = 0;
                for &(joint, relevance) in &groups[group_of[v]].joints {
                    let count = self.numbers[joint as usize];
                    terms.push(joint);
                    for axis in 0..3 {
                        coefficients.extend((at..at + count).map(|i| relevance * u[(i, axis)]));
                    }
                    at += count;
                }
                for (q, &(bone, relevance)) in q.chunks_exact(4).zip(&self.bone_relevance[v]) {
                    let offset = DVec3::from_slice(q) * root;
                    shared.push(SharedTerm { bone, relevance, offset, weight: q[3] * root });
                }
            }
            corrected += usize::from(!still);
            model.terms.push(terms).map_err(of_table("free terms"))?;
            model.coefficients.push(coefficients).map_err(of_table("free coefficients"))?;
            model.shared.push(shared).map_err(of_table("shared terms"))?;
            if self.settings.shared_limit && self.settings.limit.is_finite() {
                model.shared_limits.push(self.settings.limit * largest);
            }
            leverages.extend(leverage);
            squares += left;
        }
        model.radii = radii;
        leverages.sort_by(f64::total_cmp);
        let report = JointReport {
            lambda: choice.lambda,
            sweep: choice.sweep,
            other_sweep,
            beta: self.settings.beta,
            prior,
            left_out_share,
            touched,
            mirrored: self.mirror.is_some(),
            sweep_vertices: choice.vertices,
            joints: self.summaries,
            eta: self.settings.composites,
            kernel: self.model.kernel,
            gravity: self.model.gravity.clone(),
            composites: self.composites,
            products_eta: self.settings.products,
            products: self.products,
            swing_twist: self.settings.swing_twist,
            groups: groups.len(),
            dealt,
            train: (squares / rows.max(1) as f64).sqrt(),
            largest_residual: residuals.into_iter().fold(0.0, f64::max),
            largest_leverage: leverages.last().copied().unwrap_or(0.0),
            leverage_p99: leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0),
            corrected,
        };
        Ok(JointFit { correction: self.model, report })
    }
}

/// Vertices of a group, summed over some examples.
struct Summed {
    /// The vertices in some of the examples.
    of: Vertices,
    sums: Sums,
    /// The largest norm of the shared features of each.
    largest: Vec<f64>,
}

/// The parts of some examples that are looked at together.
fn parts_of(examples: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = examples.end;
    examples.step_by(AT_ONCE).map(move |start| start..(start + AT_ONCE).min(end))
}

/// The folds that are marked.
fn some<T>(folds: Vec<T>, marked: &[bool]) -> Vec<T> {
    folds.into_iter().zip(marked).filter_map(|(fold, &counts)| counts.then_some(fold)).collect()
}
