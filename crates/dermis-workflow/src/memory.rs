//! How much memory the program needed.

/// The largest resident memory of this process so far, bytes; where the system says (Linux). In a browser, all memory of the engine,
/// which never shrinks.
pub fn peak() -> Option<u64> {
    #[cfg(target_arch = "wasm32")]
    return Some(core::arch::wasm32::memory_size(0) as u64 * 65_536);
    #[cfg(not(target_arch = "wasm32"))]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
    }
}
