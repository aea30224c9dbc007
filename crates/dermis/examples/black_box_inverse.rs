//! My deformer is a function I cannot look into: which shape at rest makes the sculpt in a pose?
//!
//! `cargo run --release -p dermis --example black_box_inverse`

use dermis::glam::DVec3;
use dermis::internals::fitting::inverse::{InverseSettings, invert};
use std::convert::Infallible;

/// A bend followed by a twist, as a program of the caller's own would do it.
fn deform(points: &[DVec3], out: &mut [DVec3]) -> Result<(), Infallible> {
    for (p, out) in points.iter().zip(out) {
        let (sin, cos) = (0.9 * p.x).sin_cos();
        let bent = DVec3::new(sin * (1.0 - p.y) / 0.9, 1.0 - cos * (1.0 - p.y), p.z);
        let (sin, cos) = (0.5 * p.x).sin_cos();
        *out = DVec3::new(bent.x, cos * bent.y - sin * bent.z, sin * bent.y + cos * bent.z);
    }
    Ok(())
}

/// Prints how often the deformer was called and how close the sculpt is met.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rest: Vec<DVec3> =
        (0..2000).map(|at| DVec3::new(f64::from(at % 50) / 50.0, 0.1, f64::from(at / 50) / 400.0)).collect();
    let mut sculpt = vec![DVec3::ZERO; rest.len()];
    deform(&rest, &mut sculpt)?;
    // The artist pulls a bump out of the posed skin.
    for (p, rest) in sculpt.iter_mut().zip(&rest) {
        *p += DVec3::Y * 0.05 * (-((rest.x - 0.5) / 0.1).powi(2)).exp();
    }
    let found = invert(&mut deform, &rest, &sculpt, &InverseSettings::new(1.0))?;
    println!("{} calls for {} vertices, {} unresolved", found.calls.all(), rest.len(), found.unresolved);

    let shape: Vec<DVec3> = rest.iter().zip(&found.displacements).map(|(p, d)| *p + *d).collect();
    let mut posed = vec![DVec3::ZERO; rest.len()];
    deform(&shape, &mut posed)?;
    let farthest = posed.iter().zip(&sculpt).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    println!("farthest vertex {farthest:.1e}");
    assert!(farthest < 1e-9 && found.unresolved == 0);
    Ok(())
}
