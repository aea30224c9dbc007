//! λ and β where some examples are local sculpts.
//!
//! Few local sculpts do not predict each other: left out, a sculpt keeps what the base leaves of it whatever λ is, so that the sweep
//! goes to the edge of its grid. So the choice goes by what leaving out knows at all, on touched rows alone,
//!
//! ```text
//! ϱ(β) = least over the grid of (rms of touched rows left out) / (rms of what the base leaves of them),   ϱ = min(ϱ(1), ϱ(β₀))
//!
//! ϱ ≥ .85   the calm default: λ = ½ median of Σ_e a_e k(φ_e, φ_e) over touched rows, at least 1e-3; β = 1, or β₀ where ϱ(β₀) ≤ .95 ϱ(1)
//! ϱ ≤ .70   λ by leaving out, β = β₀
//! between   log λ and log β linear in ϱ
//! ```
//!
//! with β₀ the β of the settings. A row whose movement no other row shows ([`evidence`](crate::evidence)) keeps what the base leaves. The calm λ is an angle as every λ of this model: that of the poses that were sculpted.

use super::scene::Scene;
use super::settings::{JointSettings, Prior};
use super::whole::Choice;
use super::{Form, check, stride};
use crate::evidence::unknown;
use crate::training::{FitError, Progress, Ticker, Training};
use dermis_rig::Influences;

/// β of the calm default: with 10 a change of weights carries a sculpt too far, 3.8 % more error in a step of a walk.
const CALM_BETA: f64 = 1.0;
/// The β of the settings is taken with the calm λ if it lowers ϱ by this factor: it lies between 0.90 (a fox smoothed, whose
/// sculpts a change of weights explains) and 0.97 (its flesh).
const LEAST_GAIN: f64 = 0.95;

/// What leaving sculpts out knows.
struct Known {
    /// ϱ.
    share: f64,
    /// λ of the calm default, and its β.
    lambda: f64,
    beta: f64,
}

impl Known {
    fn of(
        training: &Training<'_>,
        weights: &Influences,
        settings: &JointSettings,
        ticker: &Ticker<'_>,
    ) -> Result<Self, FitError> {
        let stride = stride(training, settings);
        let share = |beta: f64| {
            let settings = JointSettings { untouched: 0.0, beta, ..settings.clone() };
            let scene = Scene::new(training, weights, &settings, settings.mirror.as_ref())?;
            let groups = scene.groups();
            Ok::<_, FitError>((scene.left_out_share(&groups, stride, ticker)?, scene.calm(&groups, stride)))
        };
        let ((calm, lambda), (stated, _)) = (share(CALM_BETA)?, share(settings.beta)?);
        let beta = if stated <= LEAST_GAIN * calm { settings.beta } else { CALM_BETA };
        Ok(Self { share: calm.min(stated), lambda, beta })
    }
}

/// Returns whether local sculpts predict each other well enough that leaving them out chooses.
///
/// # Errors
/// As [`fit_joints`](super::fit_joints).
pub fn sculpts_tell(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    progress: Progress<'_>,
) -> Result<bool, FitError> {
    check(training, weights, settings)?;
    let included = training.grouped();
    let training = &training.with(&included);
    let ticker = Ticker::new(training.rest.len() as u64, progress);
    Ok(unknown(Known::of(training, weights, settings, &ticker)?.share) == 0.0)
}

/// Chooses λ, β and whether mirrored examples take part. With the calm default they do: nothing else is known of the other side.
pub(super) fn choose(
    training: &Training<'_>,
    weights: &Influences,
    settings: &JointSettings,
    ticker: &Ticker<'_>,
) -> Result<Form, FitError> {
    let Known { share: known, lambda, beta } = Known::of(training, weights, settings, ticker)?;
    let calm = unknown(known);
    if calm == 1.0 {
        let choice = Choice { lambda, error: 0.0, sweep: vec![], vertices: 0 };
        let mirrored = settings.mirror.is_some();
        return Ok(Form {
            choice,
            mirrored,
            beta,
            prior: Some(Prior::Calm),
            left_out_share: Some(known),
            other_sweep: vec![],
        });
    }
    let of_touched = JointSettings { untouched: 0.0, ..settings.clone() };
    let mut form = Form::by_left_out(training, weights, &of_touched, ticker)?;
    let between = |left_out: f64, prior: f64| (left_out.ln() * (1.0 - calm) + prior.ln() * calm).exp();
    form.left_out_share = Some(known);
    form.prior = Some(Prior::LeftOut);
    if calm > 0.0 {
        form.choice.lambda = between(form.choice.lambda, lambda);
        form.beta = between(settings.beta, beta);
        form.prior = Some(Prior::Between);
    }
    Ok(form)
}
