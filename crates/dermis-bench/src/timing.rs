//! Clocks, threads, memory.

use std::time::Instant;

/// Seconds of each run: at most `most` runs, and no other once `budget` seconds are spent.
pub fn runs<T>(most: usize, budget: f64, mut work: impl FnMut() -> T) -> (Vec<f64>, T) {
    let start = Instant::now();
    let mut seconds = Vec::new();
    loop {
        let clock = Instant::now();
        let result = work();
        seconds.push(clock.elapsed().as_secs_f64());
        if seconds.len() >= most || start.elapsed().as_secs_f64() >= budget {
            return (seconds, result);
        }
    }
}

/// As [`runs`] of two works alternately, so that whatever else the machine does slows both.
pub fn alternated<T>(most: usize, budget: f64, works: [&dyn Fn() -> T; 2]) -> [Vec<f64>; 2] {
    let mut seconds = [vec![], vec![]];
    runs(most, budget, || {
        for (seconds, work) in seconds.iter_mut().zip(works) {
            seconds.extend(runs(1, 0.0, work).0);
        }
    });
    seconds
}

/// The shortest of `most` runs, in seconds.
pub fn best(most: usize, work: impl FnMut()) -> f64 {
    runs(most, f64::INFINITY, work).0.into_iter().fold(f64::INFINITY, f64::min)
}

/// One, two, four, … and all cores.
pub fn thread_counts() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts: Vec<usize> = (0..).map(|power| 1 << power).take_while(|count| *count < all).collect();
    counts.push(all);
    counts
}

/// Runs `work` in a pool of so many threads.
pub fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("the system has threads").install(work)
}

/// Lets [`peak_memory`] start again from what is held now, where the system can.
pub fn forget_peak_memory() {
    // Linux: 5 resets the high water mark. Elsewhere the peak stays that of the whole process.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The largest memory this process held, in bytes; `None` where the system does not tell.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.split_whitespace().next()?.parse::<u64>().ok()?)
}
