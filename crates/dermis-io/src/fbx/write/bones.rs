//! Bones as nodes, the skin that hangs on them, and the pose that it was bound in.

use super::document::{Node, Properties};
use super::objects::{Id, Objects};
use crate::WriteError;
use crate::skinned_scene::motion::{Place, Stage};
use dermis_rig::glam::{DAffine3, DMat4, DVec3};
use dermis_rig::{Influences, Skeleton};
use std::ops::Range;

/// The nodes of a skeleton.
#[derive(Default)]
pub(super) struct Bones {
    /// The node of every bone.
    pub(super) nodes: Vec<Id>,
    /// The node above a bone that shears: the bone's own has a rotation alone.
    pub(super) upper: Vec<Option<Id>>,
    /// Where every node was bound, in the file's world.
    pub(super) bound: Vec<(Id, DAffine3)>,
    /// Bind matrices in the file's world.
    pub(super) binds: Vec<DAffine3>,
    /// Where they are without a clip.
    pub(super) places: Vec<Place<DVec3>>,
    /// Whether each stands there as it was bound.
    pub(super) is_at_bind: Vec<bool>,
}

/// The record of a node: where it stands, whether it is shown.
pub(super) fn model(record: Node, place: Option<&Place<DVec3>>, visible: bool) -> Node {
    let of = |get: fn(&Place<DVec3>) -> DVec3, default: DVec3| place.map_or(default, get).to_array();
    let properties = Properties::default()
        .choice("InheritType", 1) // the parent's whole matrix, scale included, before the node's own
        .integer("DefaultAttributeIndex", 0)
        .place("Lcl Translation", of(|p| p.translation, DVec3::ZERO))
        .place("Lcl Rotation", of(|p| p.rotation, DVec3::ZERO))
        .place("Lcl Scaling", of(|p| p.scale, DVec3::ONE))
        .visibility(visible);
    record
        .holding(Node::of("Version", 232))
        .holding(properties.node())
        .holding(Node::of("MultiLayer", 0))
        .holding(Node::of("MultiTake", 0))
        .holding(Node::of("Shading", true))
        .holding(Node::of("Culling", "CullingOff"))
}

impl Bones {
    /// Writes the nodes of `skeleton`.
    ///
    /// - `names`: of the bones
    /// - `more`: a name for what stands above several roots, then one for each bone that shears
    pub(super) fn write(
        stage: &Stage<'_>,
        skeleton: &Skeleton,
        names: &[String],
        more: &[String],
        objects: &mut Objects,
    ) -> Result<Self, WriteError> {
        let mut made = Self { places: stage.rest_places(), is_at_bind: stage.is_at_bind(), ..Self::default() };
        let turn = DAffine3::from_mat3(stage.turn);
        let scaled = |m: DAffine3| DAffine3 { translation: m.translation / stage.metres, ..m };
        let mut more = more.iter();
        let roots = skeleton.parents().iter().filter(|parent| parent.is_none()).count();
        let mut top = Id::SCENE;
        if let Some(name) = more.next().filter(|_| roots > 1) {
            let (id, record) = objects.make("Model", name, "Model", "Null");
            objects.add(model(record, None, true));
            objects.connect(id, Id::SCENE);
            made.bound.push((id, DAffine3::IDENTITY));
            top = id;
        }
        for (bone, parent) in skeleton.parents().enumerate() {
            let at = bone.get();
            let place = &made.places[at];
            let numbers = [place.translation, place.rotation, place.scale, place.lower];
            if numbers.iter().any(|v| !v.is_finite()) {
                return Err(WriteError::NotFinite {
                    what: format!("the place of bone \"{}\"", skeleton.names()[bone]),
                });
            }
            let mut above = parent.map_or(top, |parent| made.nodes[parent.get()]);
            let bind = scaled(turn * skeleton.bind()[bone] * DAffine3::from_mat3(stage.sizes[at]));
            let mut own = place.clone();
            let mut upper = None;
            if let Some(name) = stage.shears[at].then(|| more.next()).flatten() {
                let (id, record) = objects.make("Model", name, "Model", "Null");
                objects.add(model(record, Some(place), true));
                objects.connect(id, above);
                made.bound.push((id, bind));
                (own.translation, own.rotation, own.scale) = (DVec3::ZERO, place.lower, DVec3::ONE);
                (above, upper) = (id, Some(id));
            }
            let (id, record) = objects.make("Model", &names[at], "Model", "LimbNode");
            objects.add(model(record, Some(&own), true));
            objects.connect(id, above);
            let (attribute, record) = objects.make("NodeAttribute", &names[at], "NodeAttribute", "LimbNode");
            objects.add(record.holding(Node::of("TypeFlags", "Skeleton")));
            objects.connect(attribute, id);
            made.nodes.push(id);
            made.upper.push(upper);
            made.binds.push(bind);
            made.bound.push((id, bind));
        }
        Ok(made)
    }

    /// Writes the pose in which the meshes of `models` were bound.
    pub(super) fn write_pose(&self, models: &[Id], name: &str, objects: &mut Objects) {
        let (_, record) = objects.make("Pose", name, "Pose", "BindPose");
        let still = models.iter().map(|model| (*model, DAffine3::IDENTITY));
        let nodes: Vec<(Id, DAffine3)> = still.chain(self.bound.iter().copied()).collect();
        let node = |(id, matrix): &(Id, DAffine3)| {
            Node::new("PoseNode").holding(Node::of("Node", *id)).holding(matrix_node("Matrix", matrix))
        };
        objects.add(
            record
                .holding(Node::of("Type", "BindPose"))
                .holding(Node::of("Version", 100))
                .holding(Node::of("NbPoseNodes", nodes.len() as i32))
                .holding_all(nodes.iter().map(node)),
        );
    }

    /// Writes the skin of the vertices `range`, which hangs on `geometry`: a cluster for every bone that has weight there, and with
    /// `every` for all others as well, so that the file says where they were bound.
    pub(super) fn write_skin(
        &self,
        (weights, range, every): (&Influences, Range<usize>, bool),
        names: &[String],
        (geometry, name): (Id, &str),
        objects: &mut Objects,
    ) {
        let (skin, record) = objects.make("Deformer", name, "Deformer", "Skin");
        let accuracy = Node::of("Link_DeformAcuracy", 50.0);
        objects.add(
            record.holding(Node::of("Version", 101)).holding(accuracy).holding(Node::of("SkinningType", "Linear")),
        );
        objects.connect(skin, geometry);
        let mut clusters = vec![(Vec::new(), Vec::new()); self.nodes.len()];
        for (at, vertex) in range.enumerate() {
            for &(bone, weight) in weights.of(vertex).iter().filter(|(_, weight)| *weight != 0.0) {
                let (vertices, own): &mut (Vec<i32>, Vec<f64>) = &mut clusters[bone.get()];
                vertices.push(at as i32);
                own.push(weight);
            }
        }
        for (bone, (vertices, own)) in
            clusters.iter().enumerate().filter(|(_, (vertices, _))| every || !vertices.is_empty())
        {
            let (id, mut record) = objects.make("Deformer", &names[bone], "SubDeformer", "Cluster");
            record = record.holding(Node::of("Version", 100)).holding(Node::of("UserData", "").with(""));
            if !vertices.is_empty() {
                record = record.holding(Node::of("Indexes", &vertices[..])).holding(Node::of("Weights", &own[..]));
            }
            let bind = &self.binds[bone];
            // From the mesh to the bone; the mesh stands in the world.
            record = record.holding(matrix_node("Transform", &bind.inverse()));
            objects.add(record.holding(matrix_node("TransformLink", bind)));
            objects.connect(id, skin);
            objects.connect(self.nodes[bone], id);
        }
    }
}

fn matrix_node(name: &'static str, matrix: &DAffine3) -> Node {
    Node::of(name, &DMat4::from(*matrix).to_cols_array()[..])
}
