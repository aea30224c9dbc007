//! One kernel at every set of vector instructions that this machine has. A test program of its own with one test: the
//! level is one for the process, and a test that compares bits beside it would see it change.

use dermis_solve::simd::{Fma, Kernel, LANES_F64, Level, LevelError, available, level, run, set_level};

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<F: Fma>(self) -> f64 {
        let mut sums = [0.0; LANES_F64];
        for (a, b) in self.0.chunks_exact(LANES_F64).zip(self.1.chunks_exact(LANES_F64)) {
            for l in 0..LANES_F64 {
                sums[l] = F::f64(a[l], b[l], sums[l]);
            }
        }
        sums.iter().sum()
    }
}

#[test]
fn every_level_of_the_machine_computes_the_same_sum() {
    let a: Vec<f64> = (0..800).map(|i| f64::from(i % 7)).collect();
    let exact: f64 = a.iter().map(|x| x * x).sum();
    let before = level();
    for each in available() {
        set_level(each).unwrap();
        assert_eq!(level(), each);
        assert_eq!(run(Dot(&a, &a)), exact, "{each}");
        assert_eq!(each.to_string().parse(), Ok(each));
    }
    set_level(before).unwrap();
    assert_eq!("sse9".parse::<Level>(), Err(LevelError::Unknown("sse9".into())));
}
