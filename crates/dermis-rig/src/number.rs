//! Numbers in texts for people. A file may hold any number, and 1e300 as Rust shows it is a line of 301 digits.

/// From here on, measured numbers are shown with an exponent, and numbers that somebody wrote.
const LARGE: (f64, f64) = (1e9, 1e16);

/// `value` with so many digits after the point; from a billion on with an exponent.
pub fn decimal(value: f64, digits: usize) -> String {
    match value.is_finite() && value.abs() >= LARGE.0 {
        true => format!("{value:.1e}"),
        false => format!("{value:.digits$}"),
    }
}

/// `value` with as few digits as tell it from its neighbours; with an exponent from 1e16 on, and below a millionth.
pub fn shortest(value: f64) -> String {
    match value != 0.0 && value.is_finite() && !(1e-6..LARGE.1).contains(&value.abs()) {
        true => format!("{value:e}"),
        false => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_longer_than_a_word() {
        assert_eq!(decimal(1.0 / 3.0, 3), "0.333");
        assert_eq!(decimal(-2e300, 6), "-2.0e300");
        assert_eq!(decimal(f64::NAN, 2), "NaN");
        assert_eq!(shortest(29.97), "29.97");
        assert_eq!(shortest(0.0), "0");
        assert_eq!(shortest(1e300), "1e300");
        assert_eq!(shortest(-4.9e-324), "-5e-324");
        for exponent in -308..=308 {
            let value = 10_f64.powi(exponent) / 3.0;
            assert!(decimal(value, 6).len() <= 17 && shortest(value).len() <= 24, "{exponent}");
            assert_eq!(shortest(value).parse::<f64>().unwrap(), value);
        }
    }
}
