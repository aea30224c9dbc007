//! Springs of bone chains as a model holds them, and as a table for engines; docs/secondary.md defines every field of the table.

use crate::Format;
use crate::writing::WriteError;
use dermis_rig::Skeleton;
use dermis_rig::glam::DVec3;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// What tables of springs call themselves.
pub const SPRINGS: &str = "dermis-springs";
/// Their version.
pub const SPRINGS_VERSION: u32 = 1;
/// The direction of gravity, down.
pub(crate) const DOWN: [f64; 3] = [0.0, -1.0, 0.0];

/// Springs of a chain of bones, with the parameters of VRM 1.0: they mean something in steps of a sixtieth of a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChainSprings {
    /// The bones by name, the nearest to the root first; each is the parent of the next.
    pub bones: Vec<String>,
    /// Where the last bone ends at rest, metres in the world, Y up; without it the last bone is only the end of the one before, and does not
    /// swing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<[f64; 3]>,
    /// The radius of the skin about the chain, metres, for colliders.
    pub radius: f64,
    /// How far a second pulls a tail towards rest, m/s.
    pub stiffness: f64,
    /// The part of its move that a tail loses in a step, 0..=1.
    pub drag: f64,
    /// How far a second pulls a tail down, m/s.
    pub gravity: f64,
}

impl ChainSprings {
    /// What the chain is called: as its first bone.
    pub fn name(&self) -> &str {
        self.bones.first().map_or("", String::as_str)
    }

    /// Whether all numbers are finite and in range, and a bone can swing.
    pub fn is_usable(&self) -> bool {
        let numbers = [self.radius, self.stiffness, self.gravity];
        self.bones.len() + usize::from(self.tip.is_some()) >= 2
            && numbers.iter().all(|number| (0.0..=1e9).contains(number))
            && (0.0..=1.0).contains(&self.drag)
            && self.tip.is_none_or(|tip| DVec3::from_array(tip).is_finite())
    }

    /// Whether a skeleton has all its bones, each below the one before.
    pub fn serves(&self, skeleton: &Skeleton) -> bool {
        let found: Option<Vec<_>> = self.bones.iter().map(|name| skeleton.find(name)).collect();
        found.is_some_and(|bones| bones.windows(2).all(|pair| skeleton.parents()[pair[1]] == Some(pair[0])))
    }

    /// The way from the head of the last bone to the tip, in that bone's own axes, if there is a tip.
    pub(crate) fn end(&self, skeleton: &Skeleton) -> Option<DVec3> {
        let last = skeleton.find(self.bones.last()?)?;
        Some(skeleton.inverse_bind()[last].transform_point3(DVec3::from_array(self.tip?)))
    }
}

/// Writes the table of chains of a skeleton; `generator` is the program that does. Chains that it has not all bones of are left out.
///
/// # Errors
/// [`WriteError::CannotHold`] for numbers that are none, [`WriteError::Output`].
pub fn write(
    chains: &[ChainSprings],
    skeleton: &Skeleton,
    generator: &str,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    #[derive(Serialize)]
    struct File<'a> {
        format: &'a str,
        version: u32,
        generator: &'a str,
        step: f64,
        chains: Vec<Chain<'a>>,
    }
    #[derive(Serialize)]
    struct Chain<'a> {
        bones: &'a [String],
        end: Option<[f64; 3]>,
        radius: f64,
        stiffness: f64,
        drag: f64,
        gravity: f64,
        gravity_direction: [f64; 3],
    }
    let cannot = |what: String| WriteError::CannotHold { format: Format::Gltf, what };
    let mut rows = Vec::new();
    for chain in chains.iter().filter(|chain| chain.serves(skeleton)) {
        if !chain.is_usable() {
            return Err(cannot(format!("the springs of \"{:.60}\", whose numbers are out of range", chain.name())));
        }
        rows.push(Chain {
            bones: &chain.bones,
            end: chain.end(skeleton).map(|end| end.to_array()),
            radius: chain.radius,
            stiffness: chain.stiffness,
            drag: chain.drag,
            gravity: chain.gravity,
            gravity_direction: DOWN,
        });
    }
    let step = dermis_deform::secondary::STEP;
    let file = File { format: SPRINGS, version: SPRINGS_VERSION, generator, step, chains: rows };
    serde_json::to_writer(out, &file).map_err(|error| match error.is_io() {
        true => std::io::Error::from(error).into(),
        false => cannot(format!("a table of springs: {error}")),
    })
}
