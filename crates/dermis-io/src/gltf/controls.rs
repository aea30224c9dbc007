//! Which meshes of a file move their morph targets together. A body and its clothes that have targets of the same names, at the same
//! weights, by the same keys, answer to one control: their targets are one of the whole character.

use super::clip::default_weights;
use super::document::Document;
use crate::contents::ReadError;
use serde_json::Value;
use std::collections::HashMap;

/// Keys of morph weights: the animation, the accessors of times and values, and the interpolation.
type Keys<'a> = (usize, u32, u32, Option<&'a str>);

/// What the morph targets of two nodes have in common that are one: names, weights without a clip, keys.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Control<'a> {
    names: Vec<&'a str>,
    weights: Vec<u64>,
    keys: Vec<Keys<'a>>,
}

/// The keys that move the morph targets of every node.
pub(super) struct Controls<'a> {
    document: &'a Document,
    keys: HashMap<u32, Vec<Keys<'a>>>,
}

impl<'a> Controls<'a> {
    pub fn read(document: &'a Document) -> Self {
        let mut keys: HashMap<u32, Vec<Keys<'a>>> = HashMap::new();
        for (at, animation) in document.root.animations.iter().enumerate() {
            for channel in animation.channels.iter().filter(|channel| channel.target.path == "weights") {
                let sampler = animation.samplers.get(channel.sampler as usize);
                if let (Some(node), Some(sampler)) = (channel.target.node, sampler) {
                    let own = (at, sampler.input, sampler.output, sampler.interpolation.as_deref());
                    keys.entry(node).or_default().push(own);
                }
            }
        }
        Self { document, keys }
    }

    /// The control of the `count` morph targets of a node; `None` where the file does not name them all.
    pub fn of(&self, node: u32, count: usize) -> Result<Option<Control<'a>>, ReadError> {
        let (document, keys) = (self.document, self.keys.get(&node));
        let Some(names) = target_names(document, node).filter(|names| names.len() >= count) else { return Ok(None) };
        // Many nodes may show one mesh, whose names stand in the file once.
        document.charge(count.max(keys.map_or(0, Vec::len)) as u64, 3, "names of morph targets")?;
        let Some(names) = names[..count].iter().map(Value::as_str).collect() else { return Ok(None) };
        let targets: Vec<(u32, usize)> = (0..count).map(|target| (node, target)).collect();
        // Adding zero makes −0 and 0 the same.
        let weights = default_weights(document, &targets).iter().map(|weight| (weight + 0.0).to_bits()).collect();
        Ok(Some(Control { names, weights, keys: keys.cloned().unwrap_or_default() }))
    }
}

/// The names of the morph targets of a node's mesh, as far as the file has a list of them.
pub(super) fn target_names(document: &Document, node: u32) -> Option<&[Value]> {
    let mesh = document.root.nodes.get(node as usize)?.mesh?;
    let names = document.root.meshes.get(mesh as usize)?.extras.get("targetNames")?;
    names.as_array().map(Vec::as_slice)
}
