//! The node tree: parents, an order that puts them first, and transforms at the file's default pose.

use super::VISIBILITY;
use super::document::{Document, Node, damaged};
use crate::contents::ReadError;
use dermis_rig::glam::{DAffine3, DMat4, DQuat, DVec3};

/// The nodes of a file as a forest.
pub(super) struct Nodes {
    pub parents: Vec<Option<u32>>,
    /// Every node, parents first, otherwise as a reader would meet them.
    pub order: Vec<u32>,
    /// Where each node stands in `order`.
    pub rank: Vec<u32>,
    pub locals: Vec<Local>,
    /// Node to world at the default pose.
    pub world: Vec<DAffine3>,
    /// Whether the scene that the file shows holds the node.
    pub shown: Vec<bool>,
}

/// A node's transform relative to its parent.
#[derive(Clone, Copy)]
pub(super) enum Local {
    Matrix(DAffine3),
    Trs { translation: DVec3, rotation: DQuat, scale: DVec3 },
}

impl Local {
    pub fn affine(&self) -> DAffine3 {
        match *self {
            Self::Matrix(matrix) => matrix,
            Self::Trs { translation, rotation, scale } => {
                DAffine3::from_scale_rotation_translation(scale, rotation, translation)
            }
        }
    }

    fn read(node: &Node, at: usize) -> Result<Self, ReadError> {
        if let Some(matrix) = &node.matrix {
            let matrix =
                affine(matrix.as_slice()).ok_or_else(|| damaged(format!("the matrix of node {at} is projective")))?;
            return Ok(Self::Matrix(matrix));
        }
        let [x, y, z, w] = node.rotation.as_deref().copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let rotation =
            unit(DQuat::from_xyzw(x, y, z, w)).ok_or_else(|| damaged(format!("node {at} has a zero rotation")))?;
        let vector = |v: &Option<Box<[f64; 3]>>, or: DVec3| v.as_deref().map_or(or, |v| DVec3::from_array(*v));
        let (translation, scale) = (vector(&node.translation, DVec3::ZERO), vector(&node.scale, DVec3::ONE));
        Ok(Self::Trs { translation, rotation, scale })
    }
}

/// A quaternion of length one, or `None` where it has no direction.
pub(super) fn unit(q: DQuat) -> Option<DQuat> {
    let length = q.length();
    (length.is_finite() && length > 1e-6).then(|| q / length)
}

/// Sixteen numbers, column after column, as an affine map; `None` if the last row is not (0, 0, 0, 1).
pub(super) fn affine(columns: &[f64]) -> Option<DAffine3> {
    let matrix = DMat4::from_cols_array(columns.try_into().ok()?);
    let last = matrix.row(3);
    let projective = (0..4).any(|at| (last[at] - f64::from(u8::from(at == 3))).abs() > 1e-5);
    (!projective).then(|| DAffine3::from_mat4(matrix))
}

impl Nodes {
    /// # Errors
    /// [`ReadError::Damaged`] for children that do not exist, nodes with two parents, cycles.
    pub fn read(document: &Document) -> Result<Self, ReadError> {
        let nodes = &document.root.nodes;
        let mut parents = vec![None; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            for &child in &node.children {
                let slot = parents.get_mut(child as usize);
                let slot =
                    slot.ok_or_else(|| damaged(format!("node {at} names child {child} of {} nodes", nodes.len())))?;
                if let Some(other) = slot.replace(at as u32) {
                    return Err(damaged(format!("node {child} is a child of node {other} and of node {at}")));
                }
            }
        }
        let mut order = Vec::with_capacity(nodes.len());
        for root in (0..nodes.len()).filter(|&at| parents[at].is_none()) {
            let mut open = vec![root as u32];
            while let Some(at) = open.pop() {
                order.push(at);
                open.extend(nodes[at as usize].children.iter().rev());
            }
        }
        if order.len() < nodes.len() {
            // With one parent each, whatever no root leads to goes in circles.
            return Err(damaged(format!("{} nodes are their own ancestors", nodes.len() - order.len())));
        }
        let locals = nodes.iter().enumerate().map(|(at, node)| Local::read(node, at)).collect::<Result<Vec<_>, _>>()?;
        let mut rank = vec![0; nodes.len()];
        for (at, &node) in order.iter().enumerate() {
            rank[node as usize] = at as u32;
        }
        let mut made = Self { parents, order, rank, locals, world: Vec::new(), shown: Vec::new() };
        made.world = made.to_world(|at| made.locals[at].affine());
        made.shown = made.shown(document)?;
        Ok(made)
    }

    /// Products of `local` along the way from the root.
    fn to_world(&self, local: impl Fn(usize) -> DAffine3) -> Vec<DAffine3> {
        let mut world = vec![DAffine3::IDENTITY; self.parents.len()];
        for &at in &self.order {
            let at = at as usize;
            world[at] = match self.parents[at] {
                Some(parent) => world[parent as usize] * local(at),
                None => local(at),
            };
        }
        world
    }

    fn shown(&self, document: &Document) -> Result<Vec<bool>, ReadError> {
        let scenes = &document.root.scenes;
        let mut shown = vec![scenes.is_empty(); self.parents.len()];
        if let Some(chosen) = document.root.scene.or((!scenes.is_empty()).then_some(0)) {
            let scene = scenes.get(chosen as usize);
            let scene =
                scene.ok_or_else(|| damaged(format!("scene {chosen} is shown, but there are {}", scenes.len())))?;
            for &root in &scene.nodes {
                let slot = shown.get_mut(root as usize);
                *slot.ok_or_else(|| damaged(format!("the scene names node {root} of {}", self.parents.len())))? = true;
            }
            for &at in &self.order {
                if let Some(parent) = self.parents[at as usize] {
                    shown[at as usize] |= shown[parent as usize];
                }
            }
        }
        Ok(shown)
    }

    /// Whether the file shows each node where the scene holds it: neither it nor a node above it is hidden by the extension
    /// [`VISIBILITY`].
    pub fn visible(&self, document: &Document) -> Vec<bool> {
        let mut visible = vec![true; self.parents.len()];
        for &at in &self.order {
            let (at, own) = (at as usize, document.root.nodes[at as usize].extensions.as_deref());
            let hidden =
                own.and_then(|own| own.get(VISIBILITY)?.get("visible")).is_some_and(|visible| visible == false);
            visible[at] = !hidden && self.parents[at].is_none_or(|parent| visible[parent as usize]);
        }
        visible
    }

    /// For every node the nearest node above it, itself included, for which `is` holds.
    pub fn nearest(&self, is: impl Fn(u32) -> bool) -> Vec<Option<u32>> {
        let mut nearest: Vec<Option<u32>> = vec![None; self.parents.len()];
        for &at in &self.order {
            let above = self.parents[at as usize].and_then(|parent| nearest[parent as usize]);
            nearest[at as usize] = if is(at) { Some(at) } else { above };
        }
        nearest
    }
}
