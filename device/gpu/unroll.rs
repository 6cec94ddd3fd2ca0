//! Loops that are written out: an index that varies at run time would put an array into a thread's local
//! memory, and the compiler does not write out loops of this size by itself.

/// Repeats the body with `$index` each of the numbers, a constant.
macro_rules! unroll {
    ($index:ident in [$($value:literal)*] $body:block) => { $(
        {
            const $index: usize = $value;
            $body
        }
    )* };
}

pub(crate) use unroll;
