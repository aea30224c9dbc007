//! What a body has, carried to another mesh: clothes, levels of detail, remeshed copies.

use crate::{Error, Model, Rig};
use dermis_deform::{DeformerError, RiggedDeformer};
use dermis_rig::{Influences, Mesh};
use dermis_transfer::{Body, Island, Operator, Settings, TransferError, carried_model, carried_weights};

/// How a mesh gets what a body has.
#[derive(Clone, Debug)]
pub struct CarrySettings {
    /// Connected pieces smaller than this are rigid, metres on a body of 1.7 m; none at 0.
    pub stiff_islands: f64,
    /// The distance over which corrections fade off the body, metres on a body of 1.7 m; they do not by default.
    pub falloff: Option<f64>,
    /// Influences per vertex, at most; as many as the body has by default.
    pub influences: Option<usize>,
    /// Skinning weights that the mesh keeps; those of the body are carried by default.
    pub weights: Option<Influences>,
}

impl Default for CarrySettings {
    fn default() -> Self {
        Self { stiff_islands: Settings::default().stiff, falloff: None, influences: None, weights: None }
    }
}

/// What a mesh got from a body that it lies on. The example `dress_a_body` carries a model to trousers.
///
/// The operator is that of [`dermis_transfer::operator`]: every vertex is a mean of vertices of the body, with weights that are never negative
/// and sum to one.
#[derive(Clone, Debug)]
pub struct Carried {
    operator: Operator,
    body_vertices: usize,
    weights: Influences,
    model: Option<Model>,
}

impl Carried {
    fn new(
        body: &dermis_rig::Rig,
        mesh: &Mesh,
        settings: &CarrySettings,
        model: impl FnOnce(&Operator, &Influences, f64) -> Result<Option<Model>, Error>,
    ) -> Result<Self, Error> {
        let of_body = body.weights().ok_or(TransferError::Unskinned)?;
        let skin = Body::new(body.mesh()).ok_or(TransferError::NoSurface)?;
        let lengths = Settings { stiff: settings.stiff_islands, falloff: settings.falloff, ..Settings::default() };
        let operator = Operator::new(&skin, mesh, &lengths)?;
        let most = settings.influences.unwrap_or_else(|| of_body.largest_count().max(1));
        let vertices = mesh.positions.len();
        let weights = match &settings.weights {
            Some(own) if own.vertices() != vertices => {
                let (part, found) = ("skinning weights", own.vertices());
                return Err(TransferError::from(DeformerError::Vertices { part, expected: vertices, found }).into());
            }
            Some(own) => own.clone(),
            None => carried_weights(&operator, of_body, most)?,
        };
        let model = model(&operator, &weights, skin.unit())?;
        Ok(Self { operator, body_vertices: of_body.vertices(), weights, model })
    }

    /// The skinning weights of the mesh.
    pub fn weights(&self) -> &Influences {
        &self.weights
    }

    /// The model of the mesh, if that of a body was carried.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// How far the match of every vertex is trusted, 0 to 1. A vertex that is not trusted follows its neighbours.
    pub fn trust(&self) -> &[f64] {
        self.operator.trust()
    }

    /// Distance of every vertex from the body, metres.
    pub fn distances(&self) -> &[f64] {
        self.operator.distances()
    }

    /// Vertices without a match, which follow the nearest one that has one.
    pub fn unmatched(&self) -> &[u32] {
        self.operator.unmatched()
    }

    /// The connected pieces of the mesh.
    pub fn islands(&self) -> &[Island] {
        self.operator.islands()
    }

    /// Numbers of the body on the mesh, such as the displacements of a shape: `width` numbers per vertex, vertex after vertex.
    ///
    /// # Errors
    /// [`Error::Transfer`] for another count of numbers.
    pub fn apply(&self, width: usize, numbers: &[f64]) -> Result<Vec<f64>, Error> {
        let expected = self.body_vertices * width;
        if numbers.len() != expected {
            return Err(TransferError::Numbers { expected, found: numbers.len() }.into());
        }
        Ok(self.operator.carry(width, |v, share, row| {
            row.iter_mut().zip(&numbers[v * width..]).for_each(|(sum, x)| *sum += share * x);
        })?)
    }
}

impl Model {
    /// Carries the model to a mesh that stands where its body rests: weights, corrections and bounds. The result needs no body.
    ///
    /// - `mesh`: rest world, metres
    ///
    /// # Errors
    /// [`Error::Transfer`]: a mesh that does not lie on the body, and a model whose numbers belong to its own vertices.
    pub fn carried_to(&self, mesh: &Mesh, settings: &CarrySettings) -> Result<Carried, Error> {
        let of_body = self.rigged();
        let deformer = of_body.baked().widened().map_err(TransferError::from)?;
        Carried::new(of_body.rig(), mesh, settings, |operator, weights, unit| {
            let replaced = of_body.rig().weights().filter(|_| settings.weights.is_some());
            let carried = carried_model(&deformer, operator, (mesh, weights), replaced, unit)?;
            let rig = dermis_rig::Rig::new(mesh.clone(), of_body.rig().skeleton().clone(), Some(weights.clone()));
            let rig = rig.map_err(TransferError::from)?;
            let baked = carried.into_baked().with_precision(of_body.baked().precision());
            let model =
                RiggedDeformer::new(rig, None, baked, of_body.training().cloned()).map_err(TransferError::from)?;
            Ok(Some(self.carried(model)))
        })
    }
}

impl Rig {
    /// Carries the skinning weights to a mesh that stands where the body rests.
    ///
    /// - `mesh`: rest world, metres
    ///
    /// # Errors
    /// [`Error::Transfer`]: a rig without weights, and a mesh that does not lie on the body.
    pub fn carried_to(&self, mesh: &Mesh, settings: &CarrySettings) -> Result<Carried, Error> {
        Carried::new(self, mesh, settings, |_, _, _| Ok(None))
    }
}
