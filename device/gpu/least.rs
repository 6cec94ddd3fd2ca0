//! The lesser of two numbers, in one instruction. Two in a row are one on Hopper and later, for integers.

use super::target;

/// Of integers without a sign.
#[inline(always)]
pub fn unsigned(a: u32, b: u32) -> u32 {
    target::least_unsigned(a, b)
}

/// Of integers with a sign.
#[inline(always)]
pub fn signed(a: i32, b: i32) -> i32 {
    target::least_signed(a, b)
}

/// Of numbers that are not NaN. Which zero results from two is not specified.
#[inline(always)]
pub fn float(a: f32, b: f32) -> f32 {
    target::least_float(a, b)
}

#[cfg(test)]
mod tests {
    #[test]
    fn signs_count_where_there_are_some() {
        assert_eq!(super::unsigned(u32::MAX, 1), 1);
        assert_eq!(super::signed(-1, 1), -1);
        assert_eq!(super::float(-1.0, f32::INFINITY), -1.0);
    }
}
