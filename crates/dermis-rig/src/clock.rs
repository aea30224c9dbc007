//! The time that passes while something runs: [`std::time::Instant`]. A browser gives the standard library no clock, so there the program
//! around Dermis hands one in.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use host::{Instant, set_clock};

#[cfg(any(test, all(target_family = "wasm", target_os = "unknown")))]
#[cfg_attr(test, allow(dead_code))]
mod host {
    use std::sync::OnceLock;
    use std::time::Duration;

    static CLOCK: OnceLock<fn() -> f64> = OnceLock::new();

    /// Tells the time from now on: a function that returns milliseconds since some moment. The first one stays. Until there is one, no
    /// time passes.
    pub fn set_clock(milliseconds: fn() -> f64) {
        let _ = CLOCK.set(milliseconds);
    }

    /// A moment, milliseconds on the host's clock.
    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    pub struct Instant(f64);

    impl Instant {
        /// Returns this moment.
        pub fn now() -> Self {
            Self(CLOCK.get().map_or(0.0, |milliseconds| milliseconds()))
        }

        /// Returns the time since this moment; zero if the clock was set back.
        pub fn elapsed(&self) -> Duration {
            Duration::try_from_secs_f64((Self::now().0 - self.0) / 1e3).unwrap_or_default()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::cell::Cell;

        thread_local! {
            static NOW: Cell<f64> = const { Cell::new(0.0) };
        }

        #[test]
        fn time_passes_by_the_clock_of_the_host() {
            let before = Instant::now();
            set_clock(|| NOW.get());
            assert_eq!(before.elapsed(), Duration::ZERO);
            NOW.set(1500.0);
            assert_eq!(before.elapsed(), Duration::from_millis(1500));
            let later = Instant::now();
            for back in [1499.0, f64::NAN] {
                NOW.set(back);
                assert_eq!(later.elapsed(), Duration::ZERO);
            }
        }
    }
}
