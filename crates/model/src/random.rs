//! Named streams of random numbers from one seed: for models of what is not known, never for a
//! decision.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A generator of its own for every purpose (`noun`) and thing (`key`): one draw more for one
/// noun shifts no other, and a job draws the same whatever batch it is in.
pub fn stream(seed: u64, noun: &str, key: u64) -> Pcg64Mcg {
    // FNV-1a over the noun, then the generator's own way of spreading 64 bits.
    let name = noun
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let mixed = spread(spread(seed) ^ name);
    Pcg64Mcg::seed_from_u64(spread(mixed ^ key))
}

/// The finaliser of SplitMix64: a bijection in which every input bit moves every output bit.
fn spread(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A whole number within `low..=high`, each equally likely; `low` if the range is empty.
pub fn within(rng: &mut Pcg64Mcg, low: i64, high: i64) -> i64 {
    if low >= high { low } else { rng.random_range(low..=high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_noun_and_key_and_repeat() {
        let draw = |seed, noun, key| within(&mut stream(seed, noun, key), 0, i64::MAX);
        let all =
            [draw(1, "price", 0), draw(2, "price", 0), draw(1, "budget", 0), draw(1, "price", 1)];
        assert_eq!(all[0], draw(1, "price", 0));
        for i in 0..4 {
            assert!((0..i).all(|j| all[i] != all[j]));
        }
        assert_eq!(within(&mut stream(1, "x", 0), 3, 3), 3);
    }
}
