//! How much memory may be asked for.

/// What a program with addresses of 32 bits, as in a browser, asks for at most: 1 GB of its 4.
const OF_32_BITS: u64 = 1 << 30;

/// Returns a limit of `bytes`, as far as addresses reach.
pub const fn at_most(bytes: u64) -> usize {
    if usize::BITS > 32 || bytes < OF_32_BITS { bytes as usize } else { OF_32_BITS as usize }
}
