//! Curves: a number over time, from keys.
//!
//! A [`Curve`] goes through its keys. Between two keys the earlier one says how ([`Ease`]); before the first and after the last
//! the curve is extrapolated ([`Beyond`]). Times are seconds.
//!
//! ```
//! use dermis_motion::{Beyond, Curve, Ease, Key};
//! let keys = [Key::new(0.0, 1.0).eased(Ease::Linear), Key::new(2.0, 5.0)];
//! let curve = Curve::new(&keys, Beyond::Hold, Beyond::Cycle)?;
//! assert_eq!((curve.value(0.5), curve.value(2.5), curve.value(-1.0)), (2.0, 2.0, 1.0));
//! # Ok::<(), dermis_motion::KeyFault>(())
//! ```

pub mod bezier;
mod tangents;

use bezier::Bezier;

/// How a curve goes from a key to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Ease {
    /// The key's value until the next key.
    Step,
    /// A straight line.
    #[default]
    Linear,
    /// A cubic Bézier curve in time and value, with the handles of the two keys.
    Bezier,
    /// The cubic with the slopes of the two keys' [`Tangent`]s.
    Hermite,
    /// The cubic with the slopes of [`Tangent::Automatic`], whatever the keys say.
    CatmullRom,
    /// The cubic of Kochanek and Bartels, with the parameters of each of the two keys. All zero is [`Ease::CatmullRom`].
    Tcb {
        /// One makes the curve straight near the key, minus one round.
        tension: f64,
        /// Other than zero makes a corner.
        continuity: f64,
        /// One leans to the side of the key before, minus one to that of the key after.
        bias: f64,
    },
}

/// The slope of a curve at a key, for [`Ease::Hermite`] and for Bézier handles that are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Tangent {
    /// From the key before to the key after; at the ends along the chord.
    #[default]
    Automatic,
    /// Zero.
    Flat,
    /// As automatic, but the curve never leaves the range of the two keys about it.
    Clamped,
    /// Value per second where the curve arrives at the key and where it leaves it.
    Slopes {
        /// From the left.
        arrive: f64,
        /// To the right.
        leave: f64,
    },
}

/// What a curve does before its first key or after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// It keeps the value of the key.
    #[default]
    Hold,
    /// It goes on with the slope that it has at the key.
    Linear,
    /// It begins again.
    Cycle,
    /// It begins again from the value where it ended.
    CycleOffset,
    /// It goes back and forth.
    Mirror,
}

/// A value at a time, and how to go on from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Seconds.
    pub time: f64,
    /// The value.
    pub value: f64,
    /// How the curve goes to the next key.
    pub ease: Ease,
    /// The slope at the key.
    pub tangent: Tangent,
    /// The Bézier handle before the key, as a point (seconds, value); from the slope if there is none.
    pub left: Option<[f64; 2]>,
    /// The Bézier handle after the key.
    pub right: Option<[f64; 2]>,
}

impl Key {
    /// A key with a straight line to the next.
    pub fn new(time: f64, value: f64) -> Self {
        Self { time, value, ease: Ease::Linear, tangent: Tangent::Automatic, left: None, right: None }
    }

    /// The same key with another way to the next.
    #[must_use]
    pub fn eased(self, ease: Ease) -> Self {
        Self { ease, ..self }
    }
}

/// Why keys make no curve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KeyFault {
    /// There are none.
    #[error("there are no keys")]
    None,
    /// A number that is not finite.
    #[error("key {at} holds a number that is not finite")]
    NotFinite {
        /// Which key, from zero.
        at: usize,
    },
    /// Times that do not ascend.
    #[error("key {at} is at {time} s, not after the one before it at {before} s")]
    Order {
        /// Which key, from zero.
        at: usize,
        /// Its time.
        time: f64,
        /// That of the key before.
        before: f64,
    },
    /// A handle on the wrong side of its key.
    #[error("the {side} handle of key {at} is at {handle} s, on the wrong side of its key at {time} s")]
    Handle {
        /// Which key, from zero.
        at: usize,
        /// Which of its handles.
        side: &'static str,
        /// Seconds of the handle.
        handle: f64,
        /// Seconds of the key.
        time: f64,
    },
}

impl KeyFault {
    /// Which key it is, from zero, if it is one of them.
    pub fn key(&self) -> Option<usize> {
        match *self {
            Self::None => None,
            Self::NotFinite { at } | Self::Order { at, .. } | Self::Handle { at, .. } => Some(at),
        }
    }
}

/// A number over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    times: Vec<f64>,
    values: Vec<f64>,
    /// One less than there are keys.
    pieces: Vec<Piece>,
    before: Beyond,
    after: Beyond,
    /// Value per second at the first key and at the last.
    slopes: [f64; 2],
}

/// What is between two keys.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Step,
    Linear,
    /// Slopes at the two keys, value per second.
    Hermite([f64; 2]),
    Bezier(Bezier),
}

impl Curve {
    /// A curve through keys.
    ///
    /// # Errors
    /// [`KeyFault`], naming the key by its place.
    pub fn new(keys: &[Key], before: Beyond, after: Beyond) -> Result<Self, KeyFault> {
        check(keys)?;
        let pieces: Vec<Piece> = (1..keys.len()).map(|to| piece(keys, to - 1)).collect();
        let times: Vec<f64> = keys.iter().map(|key| key.time).collect();
        let values: Vec<f64> = keys.iter().map(|key| key.value).collect();
        let slopes = [end_slope(keys, &pieces, End::First), end_slope(keys, &pieces, End::Last)];
        Ok(Self { times, values, pieces, before, after, slopes })
    }

    /// The value at a time, seconds.
    pub fn value(&self, time: f64) -> f64 {
        let (first, last) = (self.times[0], self.times[self.times.len() - 1]);
        let beyond = match time {
            t if t < first => self.before,
            t if t > last => self.after,
            _ => return self.inside(time),
        };
        let (inside, cycles) = inside(time, first, last, beyond);
        match beyond {
            Beyond::Linear => {
                let (at, slope) =
                    if time < first { (0, self.slopes[0]) } else { (self.times.len() - 1, self.slopes[1]) };
                self.values[at] + slope * (time - self.times[at])
            }
            Beyond::CycleOffset => self.inside(inside) + cycles * (self.values[self.values.len() - 1] - self.values[0]),
            _ => self.inside(inside),
        }
    }

    /// Seconds of the first key and of the last.
    pub fn span(&self) -> [f64; 2] {
        [self.times[0], self.times[self.times.len() - 1]]
    }

    fn inside(&self, time: f64) -> f64 {
        let after = self.times.partition_point(|&key| key <= time + AT_KEY);
        let (Some(from), true) = (after.checked_sub(1), after < self.times.len()) else {
            return self.values[after.saturating_sub(1)];
        };
        let (a, b) = (self.values[from], self.values[after]);
        let dt = self.times[after] - self.times[from];
        let s = ((time - self.times[from]) / dt).max(0.0);
        match &self.pieces[from] {
            Piece::Step => a,
            Piece::Linear => a + (b - a) * s,
            Piece::Hermite([leave, arrive]) => hermite(a, dt * leave, b, dt * arrive, s),
            Piece::Bezier(bezier) => bezier.value(time),
        }
    }
}

/// A time that is nearer to a key is the key's, seconds: cycles leave rounding of this kind behind, and a step shows it.
pub(crate) const AT_KEY: f64 = 1e-9;

/// The cubic on 0..1 with values a, b and slopes m, n at its ends.
fn hermite(a: f64, m: f64, b: f64, n: f64, s: f64) -> f64 {
    let (s2, s3) = (s * s, s * s * s);
    (2.0 * s3 - 3.0 * s2 + 1.0) * a + (s3 - 2.0 * s2 + s) * m + (3.0 * s2 - 2.0 * s3) * b + (s3 - s2) * n
}

/// The time in `first..=last` whose value is shown at `time`, and how many cycles are between: negative before the first key. Where
/// one cycle ends and the next begins after the last key, the end is shown, as in Blender.
pub(crate) fn inside(time: f64, first: f64, last: f64, beyond: Beyond) -> (f64, f64) {
    let length = last - first;
    if (first..=last).contains(&time) {
        return (time, 0.0);
    }
    let held = if time < first { first } else { last };
    if length <= 0.0 || matches!(beyond, Beyond::Hold | Beyond::Linear) {
        return (held, 0.0);
    }
    let passed = (time - first) / length;
    let near = (AT_KEY / length).min(0.5);
    let cycles = if time > last { (passed - near).ceil() - 1.0 } else { (passed + near).floor() };
    let along = ((passed - cycles) * length).clamp(0.0, length);
    let back = beyond == Beyond::Mirror && cycles.rem_euclid(2.0) == 1.0;
    (if back { last - along } else { first + along }, cycles)
}

fn check(keys: &[Key]) -> Result<(), KeyFault> {
    if keys.is_empty() {
        return Err(KeyFault::None);
    }
    for (at, key) in keys.iter().enumerate() {
        let points = [key.left, key.right].into_iter().flatten().flatten();
        let tangent = match key.tangent {
            Tangent::Slopes { arrive, leave } => [arrive, leave],
            _ => [0.0; 2],
        };
        let tcb = match key.ease {
            Ease::Tcb { tension, continuity, bias } => [tension, continuity, bias],
            _ => [0.0; 3],
        };
        let numbers = [key.time, key.value].into_iter().chain(points).chain(tangent).chain(tcb);
        if numbers.into_iter().any(|x| !x.is_finite()) {
            return Err(KeyFault::NotFinite { at });
        }
        if let Some(before) = at.checked_sub(1).map(|before| keys[before].time).filter(|before| key.time <= *before) {
            return Err(KeyFault::Order { at, time: key.time, before });
        }
        for (side, handle, wrong) in [
            ("left", key.left, key.left.is_some_and(|[time, _]| time > key.time)),
            ("right", key.right, key.right.is_some_and(|[time, _]| time < key.time)),
        ] {
            if let (true, Some([handle, _])) = (wrong, handle) {
                return Err(KeyFault::Handle { at, side, handle, time: key.time });
            }
        }
    }
    Ok(())
}

fn piece(keys: &[Key], from: usize) -> Piece {
    let (a, b) = (&keys[from], &keys[from + 1]);
    match a.ease {
        Ease::Step => Piece::Step,
        Ease::Linear => Piece::Linear,
        Ease::Hermite => Piece::Hermite([tangents::of_key(keys, from)[1], tangents::of_key(keys, from + 1)[0]]),
        Ease::CatmullRom => Piece::Hermite([tangents::automatic(keys, from), tangents::automatic(keys, from + 1)]),
        Ease::Tcb { .. } => Piece::Hermite([tangents::tcb(keys, from)[1], tangents::tcb(keys, from + 1)[0]]),
        Ease::Bezier => {
            let third = (b.time - a.time) / 3.0;
            let leave = || [a.time + third, a.value + third * tangents::of_key(keys, from)[1]];
            let arrive = || [b.time - third, b.value - third * tangents::of_key(keys, from + 1)[0]];
            let points =
                [[a.time, a.value], a.right.unwrap_or_else(leave), b.left.unwrap_or_else(arrive), [b.time, b.value]];
            Piece::Bezier(Bezier::new(points))
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    First,
    Last,
}

/// The slope with which a curve goes on beyond its end. As in Blender, the key at the end says it: none after a step, that of the chord
/// where lines are, that of its outer handle where Bézier curves are and it has one; else the slope of the curve there.
fn end_slope(keys: &[Key], pieces: &[Piece], end: End) -> f64 {
    let (key, piece, outer) = match end {
        End::First => (&keys[0], pieces.first(), keys[0].left),
        End::Last => (&keys[keys.len() - 1], pieces.last(), keys[keys.len() - 1].right),
    };
    let Some(piece) = piece else {
        return match outer.filter(|handle| key.ease == Ease::Bezier && handle[0] != key.time) {
            Some([time, value]) => (value - key.value) / (time - key.time),
            None => 0.0,
        };
    };
    let chord = tangents::secant(keys, if end == End::First { 0 } else { keys.len() - 2 });
    match (key.ease, piece, outer) {
        (Ease::Step, ..) => 0.0,
        (Ease::Linear, ..) => chord,
        (Ease::Bezier, _, Some([time, value])) if time != key.time => (value - key.value) / (time - key.time),
        (_, Piece::Step, _) => 0.0,
        (_, Piece::Linear, _) => chord,
        (_, Piece::Hermite([leave, arrive]), _) => {
            if end == End::First {
                *leave
            } else {
                *arrive
            }
        }
        (_, Piece::Bezier(bezier), _) => bezier.end_slopes()[usize::from(end == End::Last)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(keys: &[Key]) -> Curve {
        Curve::new(keys, Beyond::Hold, Beyond::Hold).unwrap()
    }

    #[test]
    fn steps_and_lines() {
        let keys = [Key::new(0.0, 1.0).eased(Ease::Step), Key::new(1.0, 3.0), Key::new(3.0, -1.0)];
        let curve = curve(&keys);
        let found = [-1.0, 0.0, 0.999, 1.0, 1.5, 3.0, 9.0].map(|t| curve.value(t));
        assert_eq!(found, [1.0, 1.0, 1.0, 3.0, 2.0, -1.0, -1.0]);
    }

    /// x(t) = t³ − 2t² + 5 on keys that are not evenly spread: a cubic with its own slopes reproduces it.
    #[test]
    fn hermite_with_the_slopes_of_a_cubic_is_the_cubic() {
        let x = |t: f64| t * t * t - 2.0 * t * t + 5.0;
        let slope = |t: f64| 3.0 * t * t - 4.0 * t;
        let key = |t: f64| Key {
            ease: Ease::Hermite,
            tangent: Tangent::Slopes { arrive: slope(t), leave: slope(t) },
            ..Key::new(t, x(t))
        };
        let curve = curve(&[1.0, 3.0, 4.0].map(key));
        for t in [1.0, 1.3, 2.0, 2.9, 3.0, 3.5, 4.0] {
            assert!((curve.value(t) - x(t)).abs() < 1e-12, "{t}");
        }
    }

    /// A parabola has its mean slope over an interval in the middle of it: Catmull–Rom on even keys is exact inside.
    #[test]
    fn catmull_rom_reproduces_a_parabola_and_tcb_of_zeros_is_it() {
        let x = |t: f64| 0.5 * t * t - t + 2.0;
        let keys = |ease: Ease| [0.0, 1.0, 2.0, 3.0, 4.0].map(|t| Key::new(t, x(t)).eased(ease));
        let rom = curve(&keys(Ease::CatmullRom));
        for t in [1.0, 1.25, 1.9, 2.5, 3.0] {
            assert!((rom.value(t) - x(t)).abs() < 1e-12, "{t}");
        }
        let uneven = |ease: Ease| [0.0, 0.5, 2.0, 2.25, 4.0].map(|t: f64| Key::new(t, t.sin()).eased(ease));
        let (rom, tcb) =
            (curve(&uneven(Ease::CatmullRom)), curve(&uneven(Ease::Tcb { tension: 0.0, continuity: 0.0, bias: 0.0 })));
        (0..=80).map(|i| f64::from(i) * 0.05).for_each(|t| assert!((rom.value(t) - tcb.value(t)).abs() < 1e-14, "{t}"));
    }

    /// Kochanek and Bartels 1984: tension one makes both slopes zero; bias one is the chord before, minus one that after;
    /// continuity minus one makes each side its own chord.
    #[test]
    fn tension_continuity_and_bias_do_what_the_paper_says() {
        let slopes = |tension, continuity, bias| {
            let ease = Ease::Tcb { tension, continuity, bias };
            tangents::tcb(&[Key::new(0.0, 0.0), Key::new(1.0, 1.0).eased(ease), Key::new(2.0, 5.0)], 1)
        };
        assert_eq!(slopes(1.0, 0.0, 0.0), [0.0, 0.0]);
        assert_eq!(slopes(0.0, 0.0, 1.0), [1.0, 1.0]);
        assert_eq!(slopes(0.0, 0.0, -1.0), [4.0, 4.0]);
        assert_eq!(slopes(0.0, -1.0, 0.0), [1.0, 4.0]);
        assert_eq!(slopes(0.0, 0.0, 0.0), [2.5, 2.5]);
    }

    #[test]
    fn clamped_tangents_never_overshoot_and_flat_ones_are_flat() {
        let values = [0.0, 10.0, 10.5, 3.0, 3.0, 4.0];
        let keys: Vec<Key> = (values.iter().enumerate())
            .map(|(at, &value)| Key {
                ease: Ease::Hermite,
                tangent: Tangent::Clamped,
                ..Key::new([0.0, 1.0, 1.2, 3.0, 4.0, 9.0][at], value)
            })
            .collect();
        let clamped = curve(&keys);
        for pair in keys.windows(2) {
            let (low, high) = (pair[0].value.min(pair[1].value), pair[0].value.max(pair[1].value));
            for s in 0..=50 {
                let value = clamped.value(pair[0].time + (pair[1].time - pair[0].time) * f64::from(s) / 50.0);
                assert!((low - 1e-12..=high + 1e-12).contains(&value), "{value} in {low}..{high}");
            }
        }
        let flat: Vec<Key> = keys.iter().map(|key| Key { tangent: Tangent::Flat, ..*key }).collect();
        let flat = curve(&flat);
        let h = 1e-5;
        assert!(((flat.value(1.2 + h) - flat.value(1.2 - h)) / (2.0 * h)).abs() < 1e-2);
    }

    #[test]
    fn beyond_the_keys() {
        let keys = [Key::new(1.0, 2.0), Key::new(3.0, 6.0)];
        let with = |beyond| Curve::new(&keys, beyond, beyond).unwrap();
        let at = |beyond: Beyond| [-2.0, 0.5, 3.5, 6.5].map(|t| with(beyond).value(t));
        assert_eq!(at(Beyond::Hold), [2.0, 2.0, 6.0, 6.0]);
        assert_eq!(at(Beyond::Linear), [-4.0, 1.0, 7.0, 13.0]);
        assert_eq!(at(Beyond::Cycle), [4.0, 5.0, 3.0, 5.0]);
        assert_eq!(at(Beyond::CycleOffset), [-4.0, 1.0, 7.0, 13.0], "a line goes on as a line");
        assert_eq!(at(Beyond::Mirror), [4.0, 3.0, 5.0, 5.0]);
        let single = Curve::new(&keys[..1], Beyond::Cycle, Beyond::Mirror).unwrap();
        assert_eq!([0.0, 1.0, 9.0].map(|t| single.value(t)), [2.0; 3]);
    }

    #[test]
    fn keys_that_make_no_curve_are_named() {
        let fault = |keys: &[Key]| Curve::new(keys, Beyond::Hold, Beyond::Hold).unwrap_err();
        assert_eq!(fault(&[]), KeyFault::None);
        assert_eq!(fault(&[Key::new(0.0, f64::NAN)]), KeyFault::NotFinite { at: 0 });
        assert!(matches!(fault(&[Key::new(1.0, 0.0), Key::new(1.0, 0.0)]), KeyFault::Order { at: 1, .. }));
        let key = Key { right: Some([-1.0, 0.0]), ..Key::new(0.0, 0.0) };
        assert!(matches!(fault(&[key]), KeyFault::Handle { at: 0, side: "right", .. }));
    }
}
