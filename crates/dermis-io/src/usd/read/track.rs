//! Values over time.

use super::layer::Numbers;
use super::stage::Attribute;
use crate::contents::ReadError;
use crate::surface::around;
use dermis_rig::glam::DQuat;

/// The numbers of an attribute over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    /// Without a time.
    pub rest: Vec<f64>,
    /// Seconds, ascending; empty if the value never changes.
    pub times: Vec<f64>,
    pub values: Vec<Vec<f64>>,
}

impl Track {
    /// - `rate`: time codes per second
    pub fn read(attribute: &Attribute<'_>, rate: f64) -> Result<Self, ReadError> {
        let made = Self::sampled(attribute, rate)?;
        match &made.values[..] {
            [only] => Ok(Self { rest: only.clone(), ..Self::default() }),
            _ => Ok(made),
        }
    }

    /// The same of an animation, of which a single sample is a key. Without a time it says what the file says for none, or its only
    /// sample, and else nothing.
    pub fn of_animation(attribute: Option<Attribute<'_>>, rate: f64) -> Result<Self, ReadError> {
        let Some(attribute) = attribute else { return Ok(Self::default()) };
        let mut made = Self::sampled(&attribute, rate)?;
        if made.times.len() > 1 && !attribute.has_default() {
            made.rest.clear();
        }
        Ok(made)
    }

    fn sampled(attribute: &Attribute<'_>, rate: f64) -> Result<Self, ReadError> {
        let rest = attribute.rest()?.values;
        let times = attribute.times().into_iter().map(|time| time / rate).collect();
        let values =
            attribute.samples().map(|sample| sample.map(|own: Numbers| own.values)).collect::<Result<_, _>>()?;
        Ok(Self { rest, times, values })
    }

    /// The value at a time; `None`: without one.
    pub fn at(&self, time: Option<f64>) -> Vec<f64> {
        let Some(time) = time.filter(|_| !self.times.is_empty()) else { return self.rest.clone() };
        let (before, after, s) = around(&self.times, time);
        blend(&self.values[before], &self.values[after], s)
    }

    /// The same of quaternions w, x, y, z, which turn at constant speed.
    pub fn turn_at(&self, time: Option<f64>) -> Vec<f64> {
        let Some(time) = time.filter(|_| !self.times.is_empty()) else { return self.rest.clone() };
        let (before, after, s) = around(&self.times, time);
        let (a, b) = (&self.values[before], &self.values[after]);
        if s == 0.0 || a.len() != b.len() {
            return a.clone();
        }
        let pairs = a.as_chunks::<4>().0.iter().zip(b.as_chunks::<4>().0);
        pairs.flat_map(|(a, b)| slerp(a, b, s)).collect()
    }
}

/// What lies between two values; the first if they differ in length.
pub(super) fn blend(a: &[f64], b: &[f64], s: f64) -> Vec<f64> {
    match s == 0.0 || a.len() != b.len() {
        true => a.to_vec(),
        false => a.iter().zip(b).map(|(a, b)| a + (b - a) * s).collect(),
    }
}

/// A quaternion of w, x, y, z. One whose length is about 1 is taken as it is, as the format has it; no turn if it has no length.
pub(super) fn quaternion(wxyz: &[f64; 4]) -> DQuat {
    let [w, x, y, z] = *wxyz;
    let turn = DQuat::from_xyzw(x, y, z, w);
    match turn.length() {
        length if (length - 1.0).abs() < 1e-2 => turn,
        length if length.is_finite() && length > 1e-12 => turn / length,
        _ => DQuat::IDENTITY,
    }
}

/// The shorter way between two turns, at constant speed. Source: OpenUSD, `GfSlerp`.
fn slerp(a: &[f64; 4], b: &[f64; 4], s: f64) -> [f64; 4] {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let angle = dot.abs().min(1.0).acos();
    let (from, to) = match 1.0 - dot.abs() > 1e-5 {
        true => (((1.0 - s) * angle).sin() / angle.sin(), (s * angle).sin() / angle.sin()),
        false => (1.0 - s, s),
    };
    let to = if dot < 0.0 { -to } else { to };
    std::array::from_fn(|at| from * a[at] + to * b[at])
}
