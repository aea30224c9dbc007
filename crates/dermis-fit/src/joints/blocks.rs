//! A fit in blocks of vertices, whose residuals are held one block at a time.

use super::scene::starts;
use super::solve::Coefficients;
use super::whole::Choice;
use super::{Form, JointFit, JointSettings, check};
use crate::training::{BasePoses, FitError, Progress, Ticker, Training, UNHELD, without_skin};
use dermis_rig::glam::DVec3;
use dermis_rig::{Example, Influences, Mirror};
use dermis_solve::cross_validation::Folds;
use dermis_solve::faer::Mat;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// What is known so far.
pub(crate) struct BlockFit {
    form: Form,
    /// Coefficients of the vertices solved, with the largest norm of their shared features.
    solved: Vec<(usize, Coefficients, f64)>,
    largest_residuals: Vec<f64>,
}

impl BlockFit {
    /// Chooses λ and the sides. The residuals of every `settings.stride`-th vertex and of its mirror image are held.
    pub fn choose(
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
        progress: Progress<'_>,
    ) -> Result<Self, FitError> {
        check(training, weights, settings)?;
        let included = training.grouped();
        let training = &training.with(&included);
        let vertices = training.rest.len();
        let dealt = Dealt::of(training, settings);
        let (training, settings) = dealt.or(training, settings);
        let form = Form::choose(&training, weights, settings, &Ticker::new(vertices as u64, progress))?;
        Ok(Self { form, solved: Vec::with_capacity(vertices), largest_residuals: vec![0.0; vertices] })
    }

    /// All vertices in the order in which they are to be solved: those that share their factors one after another, each beside
    /// its mirror image.
    pub fn order(
        &self,
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
    ) -> Result<Vec<usize>, FitError> {
        let included = training.grouped();
        let training = &training.with(&included);
        let scene = self.form.scene(training, weights, settings)?;
        let mut taken = vec![false; training.rest.len()];
        let mut order = Vec::with_capacity(taken.len());
        let groups = scene.groups();
        for v in groups.iter().flat_map(|group| group.vertices.iter().copied()) {
            let image = scene.mirror.and_then(|mirror| mirror.vertices[v]).map(|v| v as usize);
            for v in std::iter::once(v).chain(image) {
                if !std::mem::replace(&mut taken[v], true) {
                    order.push(v);
                }
            }
        }
        Ok(order)
    }

    /// Whether mirror images take part.
    pub fn is_mirrored(&self) -> bool {
        self.form.mirrored
    }

    /// Solves a block. The residuals of its vertices are held, and those of their mirror images if these take part.
    pub fn solve(
        &mut self,
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
        block: &[usize],
        progress: Progress<'_>,
    ) -> Result<(), FitError> {
        check(training, weights, settings)?;
        let included = training.grouped();
        let training = &training.with(&included);
        let vertices = training.rest.len();
        let ticker = Ticker::new(vertices as u64, progress);
        ticker.tick(self.solved.len() as u64)?;
        let scene = self.form.scene(training, weights, settings)?;
        let mut of_block = vec![false; vertices];
        block.iter().for_each(|&v| of_block[v] = true);
        let mut groups = scene.groups();
        groups.iter_mut().for_each(|group| group.vertices.retain(|&v| of_block[v]));
        groups.retain(|group| !group.vertices.is_empty());
        let stride = settings.stride(vertices, training.examples.len());
        self.solved.extend(scene.solve(&groups, self.form.choice.lambda, stride, &ticker)?);
        for &v in block {
            let residuals = (0..training.examples.len()).map(|s| training.residual(s, v).length());
            self.largest_residuals[v] = residuals.fold(0.0, f64::max);
        }
        Ok(())
    }

    /// The form that was chosen.
    pub fn form(&self) -> JointForm {
        let Form { choice, mirrored, other_sweep, .. } = &self.form;
        JointForm {
            lambda: choice.lambda,
            sweep: choice.sweep.clone(),
            sweep_vertices: choice.vertices,
            mirrored: *mirrored,
            other_sweep: other_sweep.clone(),
        }
    }

    /// What was solved so far.
    pub fn solved(self) -> Vec<SolvedVertex> {
        let Self { solved, largest_residuals, .. } = self;
        let of_vertex = |(vertex, coefficients, norm): (usize, Coefficients, f64)| SolvedVertex {
            vertex,
            free: coefficients.u.col_iter().flat_map(|column| column.iter().copied().collect::<Vec<_>>()).collect(),
            shared: coefficients.q,
            norm,
            leverage: coefficients.leverage,
            squares: coefficients.squares,
            largest_residual: largest_residuals[vertex],
        };
        solved.into_iter().map(of_vertex).collect()
    }

    /// A fit of a form whose vertices were solved elsewhere; `None` unless they are all vertices, each once and with the coefficients
    /// that this form has.
    pub fn of_solved(
        form: JointForm,
        vertices: Vec<SolvedVertex>,
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
    ) -> Result<Option<Self>, FitError> {
        settings.check()?;
        let JointForm { lambda, sweep, sweep_vertices, mirrored, other_sweep } = form;
        let choice = Choice { lambda, error: 0.0, sweep, vertices: sweep_vertices };
        let form = Form { choice, mirrored, other_sweep, beta: settings.beta, prior: None, left_out_share: None };
        let included = training.grouped();
        let training = &training.with(&included);
        let scene = form.scene(training, weights, settings)?;
        let count = training.rest.len();
        let mut free = vec![None; count];
        for group in scene.groups() {
            group.vertices.iter().for_each(|&v| free[v] = Some(scene.free_count(&group)));
        }
        let (mut solved, mut largest_residuals) = (Vec::with_capacity(count), vec![0.0; count]);
        for SolvedVertex { vertex, free: u, shared, norm, leverage, squares, largest_residual } in vertices {
            let Some(m) = free.get_mut(vertex).and_then(Option::take) else { return Ok(None) };
            // Vertices that no pose moves beside their frame have no shared features.
            let shared_as_scene = shared.is_empty() || shared.len() == 4 * scene.bone_relevance[vertex].len();
            if u.len() != 3 * m || !shared_as_scene {
                return Ok(None);
            }
            let u = Mat::from_fn(m, 3, |i, axis| u[axis * m + i]);
            solved.push((vertex, Coefficients { u, q: shared, leverage, squares }, norm));
            largest_residuals[vertex] = largest_residual;
        }
        let whole = solved.len() == count;
        Ok(whole.then_some(Self { form, solved, largest_residuals }))
    }

    /// Makes the model, once all vertices are solved. No residuals are read.
    pub fn finish(
        self,
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
    ) -> Result<JointFit, FitError> {
        let included = training.grouped();
        let training = &training.with(&included);
        let scene = self.form.scene(training, weights, settings)?;
        let groups = scene.groups();
        scene.assemble(&groups, self.solved, &self.largest_residuals, self.form)
    }
}

/// What a fit chose: λ, and whether mirrored examples take part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointForm {
    /// λ.
    pub lambda: f64,
    /// λ of the grid and the cross-validated error it leaves; empty if λ was fixed.
    pub sweep: Vec<(f64, f64)>,
    /// Vertices that the choice looked at.
    pub sweep_vertices: usize,
    /// Whether mirrored examples take part.
    pub mirrored: bool,
    /// The sweep of the alternative.
    pub other_sweep: Vec<(f64, f64)>,
}

/// What a fit found of one vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedVertex {
    /// The vertex.
    pub vertex: usize,
    /// Coefficients of the free features, axis after axis.
    pub free: Vec<f64>,
    /// Coefficients of the shared features.
    pub shared: Vec<f64>,
    /// Largest norm of the shared features.
    pub norm: f64,
    /// Largest leverage of a pose, where it was computed.
    pub leverage: Option<f64>,
    /// Sum of the squared residuals.
    pub squares: f64,
    /// Largest residual of the base, metres.
    pub largest_residual: f64,
}

/// What a choice looks at where poses are too many to be left out one by one: the examples dealt to parts, without skins, and the
/// residuals at some vertices.
pub(super) struct Dealt(Option<(Vec<Example>, Held, JointSettings)>);

impl Dealt {
    /// The examples of one pose stand one after another.
    pub fn of(training: &Training<'_>, settings: &JointSettings) -> Self {
        let starts = starts(training);
        let poses = starts.len() - 1;
        let parts = settings.dealt(poses).filter(|_| training.examples.iter().all(|example| example.local.is_none()));
        let Some(parts) = parts else { return Self(None) };
        let vertices = training.rest.len();
        let stride = settings.stride(vertices, training.examples.len());
        let mut held =
            Held::new((0..vertices).step_by(stride), settings.mirror.as_ref(), vertices, training.examples.len());
        let mut examples = Vec::with_capacity(training.examples.len());
        for pose in (0..parts).flat_map(|part| (part..poses).step_by(parts)) {
            for s in starts[pose]..starts[pose + 1] {
                examples.push(without_skin(&training.examples[s]));
                held.push(|v| training.residual(s, v));
            }
        }
        Self(Some((examples, held, JointSettings { folds: Folds::Blocks(parts), ..settings.clone() })))
    }

    /// The training and the settings of the choice.
    pub fn or<'a>(&'a self, training: &Training<'a>, settings: &'a JointSettings) -> (Training<'a>, &'a JointSettings) {
        match &self.0 {
            Some((examples, held, settings)) => (Training { examples, base: held.residuals(), ..*training }, settings),
            None => (*training, settings),
        }
    }
}

/// Vectors at some vertices of a mesh, a list per example: positions, or residuals.
pub(crate) struct Held {
    vertices: Vec<usize>,
    /// Where each vertex of the mesh stands in a list.
    places: Vec<u32>,
    /// The list of each example, in order.
    order: Vec<usize>,
    /// One list after the other.
    values: Vec<DVec3>,
}

impl Held {
    /// Nothing yet of some vertices and their mirror images, in a mesh of `all`, with room for so many examples.
    pub fn new(vertices: impl Iterator<Item = usize>, mirror: Option<&Mirror>, all: usize, examples: usize) -> Self {
        let image = |v: usize| mirror.and_then(|mirror| mirror.vertices[v]).map(|v| v as usize);
        let mut vertices: Vec<usize> = vertices.flat_map(|v| std::iter::once(v).chain(image(v))).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut places = vec![UNHELD; all];
        vertices.iter().enumerate().for_each(|(at, &v)| places[v] = at as u32);
        let values = Vec::with_capacity(vertices.len() * examples);
        Self { vertices, places, order: vec![], values }
    }

    /// Nothing yet of the same vertices.
    pub fn none(&self) -> Self {
        Self { vertices: self.vertices.clone(), places: self.places.clone(), order: vec![], values: vec![] }
    }

    /// Takes what belongs to it from the next example.
    pub fn push(&mut self, of: impl Fn(usize) -> DVec3) {
        self.order.push(self.order.len());
        self.values.extend(self.vertices.iter().map(|&v| of(v)));
    }

    /// The vector of a vertex that is held.
    pub fn at(&self, example: usize, v: usize) -> DVec3 {
        self.values[example * self.vertices.len() + self.places[v] as usize]
    }

    /// Changes every vector by example and vertex.
    pub fn map(&self, of: impl Fn(usize, usize, DVec3) -> DVec3 + Sync) -> Self {
        let count = self.vertices.len().max(1);
        let residual = |(at, value): (usize, &DVec3)| of(at / count, self.vertices[at % count], *value);
        let values = self.values.par_iter().enumerate().map(residual).collect();
        Self { order: self.order.clone(), values, ..self.none() }
    }

    /// The vectors as residuals.
    pub fn residuals(&self) -> BasePoses<'_> {
        BasePoses::Residuals {
            places: &self.places,
            order: &self.order,
            values: &self.values,
            held: self.vertices.len(),
        }
    }
}
