//! The hash by which an archive knows samples again: `MurmurHash3_x64_128` with the seed zero.
//!
//! Every sample stands behind its hash, so readers that cache samples need not look at them. Source: A. Appleby, MurmurHash3
//! (public domain); the Alembic project's `Util/Murmur3.cpp` says which variant and seed.

/// Returns the hash of `bytes`, its two words as they stand in a file.
pub(super) fn hash(bytes: &[u8]) -> [u8; 16] {
    const C: [u64; 2] = [0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f];
    let first = |k: u64| k.wrapping_mul(C[0]).rotate_left(31).wrapping_mul(C[1]);
    let second = |k: u64| k.wrapping_mul(C[1]).rotate_left(33).wrapping_mul(C[0]);
    let (blocks, tail) = bytes.as_chunks::<16>();
    let words = |block: &[u8; 16]| {
        let both = u128::from_le_bytes(*block);
        (both as u64, (both >> 64) as u64)
    };
    let (mut a, mut b) = (0u64, 0u64);
    for block in blocks {
        let (low, high) = words(block);
        a = (a ^ first(low)).rotate_left(27).wrapping_add(b).wrapping_mul(5).wrapping_add(0x52dc_e729);
        b = (b ^ second(high)).rotate_left(31).wrapping_add(a).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    let (low, high) = words(&last);
    a ^= first(low) ^ bytes.len() as u64; // of zero, first and second are zero
    b ^= second(high) ^ bytes.len() as u64;
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    (a, b) = (mixed(a), mixed(b));
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    (u128::from(a) | u128::from(b) << 64).to_le_bytes()
}

fn mixed(mut k: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        k = (k ^ k >> 33).wrapping_mul(factor);
    }
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: hashes that Blender 4.5, through the Alembic library, wrote before samples of these bytes.
    #[test]
    fn hashes_are_those_of_the_library() {
        let hex = |bytes: &[u8]| hash(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let flat = |numbers: &[f64]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let faces: Vec<u8> = [4i32; 6].iter().flat_map(|x| x.to_le_bytes()).collect();
        let tail: Vec<u8> = (1..6i32).flat_map(|x| x.to_le_bytes()).collect();
        for (bytes, expected) in [
            (vec![0], "b55cff6ee5ab10468335f878aa2d6251"),
            (vec![1], "16fe7483905cce7a85670e43e4678877"),
            (tail, "0bbcef46454e4ab3aa08886b85e7c5a8"),
            (faces, "4c85a29c1f189511cc2dd6c5fdfdf8cf"),
            (flat(&[-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]), "7d697629067355c655ad13052989dde6"),
        ] {
            assert_eq!(hex(&bytes), expected);
        }
    }
}
