//! Which frame of a take each row of a text is, by the number and the time that the row begins with.

use super::damaged;
use crate::ReadError;
use crate::contents::Flaw;
use crate::flaws::Flaws;
use dermis_rig::number::{decimal, shortest};

/// Number and time of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub frame: f64,
    /// Seconds.
    pub time: f64,
    /// What the last printed digit of the time is worth, seconds.
    pub digit: f64,
}

impl Row {
    /// A row's first two cells; `None` if they are no numbers.
    pub fn parse(frame: &str, time: &str) -> Option<Self> {
        let decimals = time.split_once('.').map_or(0, |(_, part)| part.bytes().take_while(u8::is_ascii_digit).count());
        let digit = 0.1f64.powi(decimals.min(300) as i32);
        Some(Self { frame: frame.parse().ok()?, time: time.parse().ok()?, digit })
    }
}

/// Frames per second, whether the times of the rows say so, and the place of every row in the take, ascending from 0. Rows that are
/// missing leave places free.
///
/// Times are believed if they ascend. Where they agree with the stated rate, places go by the numbers of the
/// frames, else by the order of the rows, else by the times themselves; where they disagree with it but have a rate of their
/// own, that one is taken. Times that do not ascend, or are uneven, are left out. Whatever is not believed is counted.
///
/// - `stated`: frames per second that times are held against
/// - `untimed`: frames per second of rows whose times say nothing
/// - `most`: places that the file may fill
///
/// # Errors
/// [`ReadError::Damaged`] if the frames that are missing are more than that.
pub(super) fn places(
    rows: &[Row],
    (stated, untimed): (f64, f64),
    most: usize,
    flaws: &mut Flaws,
) -> Result<(f64, bool, Vec<usize>), ReadError> {
    let (rate, is_timed, places) = match timed(rows, (stated, untimed), flaws) {
        Some((rate, places)) => (rate, true, places),
        None => (untimed, false, numbered(rows).unwrap_or_else(|| in_order(rows))),
    };
    let Some(last) = places.last() else { return Ok((rate, is_timed, Vec::new())) };
    if *last >= most as f64 {
        return Err(damaged(format!("its {} rows are numbered or timed as {} frames", rows.len(), last + 1.0)));
    }
    let missing = *last as usize + 1 - rows.len();
    let before = places.windows(2).position(|two| two[1] > two[0] + 1.0).map_or(0, |at| at + 1);
    flaws.many(Flaw::FramesMissing, missing, || {
        format!("before row {}, at {} s", before + 1, shortest(rows[before].time))
    });
    Ok((rate, is_timed, places.into_iter().map(|place| place as usize).collect()))
}

/// Rate and places by the times of the rows; `None` if they say nothing.
fn timed(rows: &[Row], (stated, untimed): (f64, f64), flaws: &mut Flaws) -> Option<(f64, Vec<f64>)> {
    let [first, .., last] = rows else { return None };
    let ascend = rows.iter().all(|row| row.time.is_finite()) && rows.windows(2).all(|two| two[0].time < two[1].time);
    let (said, taken) = (shortest(stated), shortest(untimed));
    if !ascend {
        let same = rows.iter().all(|row| row.time == first.time);
        flaws.many(Flaw::TimesLeftOut, rows.len(), || match same {
            true => format!("all are {} s; {taken} frames per second are taken", shortest(first.time)),
            false => format!("{taken} frames per second are taken"),
        });
        return None;
    }
    let digit = rows.iter().map(|row| row.digit).fold(1.0, f64::min);
    let frames_at = |rate: f64| rows.iter().map(move |row| (row.time - first.time) * rate);
    // A quarter of a frame, and what the two times lose that are printed with so many digits.
    let fits = |places: &[f64], rate: f64| {
        frames_at(rate).zip(places).all(|(at, place)| (at - place).abs() <= 0.25 + digit * rate)
    };
    let nearest = |rate: f64| {
        let places: Vec<f64> = frames_at(rate).map(f64::round).collect();
        let ascend = digit * rate < 0.25 && places.windows(2).all(|two| two[0] < two[1]);
        // Where most rows leave frames out, the times have another rate, or another unit.
        let follow = places.windows(2).filter(|two| two[1] == two[0] + 1.0).count();
        (ascend && 2 * follow >= rows.len() - 1 && fits(&places, rate)).then_some(places)
    };
    let numbered = numbered(rows);
    if let Some(places) = numbered.as_ref().filter(|places| fits(places, stated)) {
        return Some((stated, places.clone()));
    }
    let by_time = Some(in_order(rows)).filter(|places| fits(places, stated)).or_else(|| nearest(stated));
    if let Some(places) = by_time {
        if numbered.is_some() {
            flaws.many(Flaw::TimesDisagree, 1, || "with the numbers of the frames; the times are believed".into());
        }
        return Some((stated, places));
    }
    // Markers are seen ten to ten thousand times a second: other clocks do not count seconds.
    let own = |rate: &f64| (1.0..=1e5).contains(rate);
    let seconds = last.time - first.time;
    let even = numbered.into_iter().chain([in_order(rows)]).find_map(|places| {
        let rate = Some(places[places.len() - 1] / seconds).filter(own)?;
        fits(&places, rate).then_some((rate, places))
    });
    let found = even.or_else(|| {
        let mut steps: Vec<f64> = rows.windows(2).map(|two| two[1].time - two[0].time).collect();
        let middle = steps.len() / 2;
        let rate = Some(1.0 / *steps.select_nth_unstable_by(middle, f64::total_cmp).1).filter(own)?;
        // The whole take says the rate more exactly than one step.
        let places = nearest(rate)?;
        let rate = places[places.len() - 1] / seconds;
        fits(&places, rate).then_some((rate, places))
    });
    flaws.many(Flaw::TimesDisagree, 1, || match &found {
        Some((rate, _)) => {
            format!("with {said} frames per second, as stated; {}, of the times, are taken", decimal(*rate, 6))
        }
        None => format!("with {said} frames per second, and are uneven; {taken} frames per second are taken"),
    });
    found
}

/// Places by the numbers of the frames, if these are whole and ascend.
fn numbered(rows: &[Row]) -> Option<Vec<f64>> {
    let first = rows.first()?.frame;
    let whole = rows.iter().all(|row| row.frame.is_finite() && row.frame.fract() == 0.0);
    let ascend = rows.windows(2).all(|two| two[0].frame < two[1].frame);
    (whole && ascend).then(|| rows.iter().map(|row| row.frame - first).collect())
}

/// One place after another.
fn in_order(rows: &[Row]) -> Vec<f64> {
    (0..rows.len()).map(|at| at as f64).collect()
}
