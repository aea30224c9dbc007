//! What an embedding costs: the penalties of Baran & Popović 2007, section 3.3, and how they are weighed.
//!
//! An embedding puts every landmark of a template into a ball of the medial graph. Lengths are divided by the body's, and
//! each penalty is a square, so that small deviations are nearly free:
//!
//! | penalty | of | what |
//! |---|---|---|
//! | direction | a bone | its angle to the template's, over 60° |
//! | length | a bone | the logarithm of its way through the graph over the template's |
//! | crooked | a bone | how much longer its way is than the straight line, beyond what it is in the template |
//! | dead end | an end | how far the graph goes on beyond it, over a tenth of the body |
//! | ground | an end that stands | its height over the ground, over a tenth of the body |
//! | fat | a chest, hips | what its ball lacks of the largest ones |
//! | bulb | a head | what its ball lacks of half the largest ones |
//! | middle | a landmark in the middle | its distance from the plane of symmetry, over a tenth of the body |
//! | mirror | a pair | the distance from its mirror image, over a fifth of the body |
//! | unequal | a pair | the logarithm of the ratio of its lengths |
//! | sharing | two ends | how much shorter the way between them is than through the template's bones, over three tenths of the body |
//! | order | two ends of a branch, in a template without sides | how far the line from one to the other points against the template's: −cos of the angle |
//! | backward | a whole embedding | 1 − tanh of how far feet point forward from the middle of their legs, over a twentieth of the leg |
//! | missing | an optional limb | that it is left out |
//!
//! Penalties of the plane of symmetry count as much as it is trusted.

/// How penalties are weighed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalties {
    /// Of directions.
    pub direction: f64,
    /// Of lengths.
    pub length: f64,
    /// Of detours.
    pub crooked: f64,
    /// Of ends where the graph goes on.
    pub dead_end: f64,
    /// Of feet above the ground.
    pub ground: f64,
    /// Of thin chests.
    pub fat: f64,
    /// Of thin heads.
    pub bulb: f64,
    /// Of a spine off the plane of symmetry.
    pub middle: f64,
    /// Of partners that are no images of each other.
    pub mirror: f64,
    /// Of partners of unequal length.
    pub unequal: f64,
    /// Of limbs that share a way.
    pub sharing: f64,
    /// Of fingers in another order.
    pub order: f64,
    /// Of feet that point backward.
    pub backward: f64,
    /// Of a limb left out.
    pub missing: f64,
}

impl Default for Penalties {
    fn default() -> Self {
        Self {
            direction: 1.0,
            length: 0.5,
            crooked: 0.5,
            dead_end: 1.5,
            ground: 0.5,
            fat: 0.6,
            bulb: 0.4,
            middle: 1.0,
            mirror: 1.0,
            unequal: 0.5,
            sharing: 0.6,
            order: 1.0,
            backward: 0.3,
            missing: 1.5,
        }
    }
}
