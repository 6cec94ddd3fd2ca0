//! Reading tables of numbers.
