//! Bytes as a table's file, in whatever format they seem to be: rows of finite numbers or a sentence.
#![no_main]

use flockwork::{
    Error,
    io::{Wanted, parse_columns},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (choices, bytes) = input;
    let wanted = Wanted {
        skip_missing: choices & 1 != 0,
        header: (choices & 2 != 0).then_some(choices & 4 != 0),
        decimal_comma: choices & 8 != 0,
        skip_lines: usize::from(choices >> 6),
        ..Wanted::default()
    };
    match parse_columns(bytes, "some.file".as_ref(), &wanted) {
        Ok(read) => {
            assert_eq!(read.x.len(), read.y.len() * (read.names.len() - 1));
            assert!(read.x.iter().chain(&read.y).all(|number| number.is_finite()));
        }
        Err(Error::Memory { .. }) => {}
        Err(error) => assert!(error.to_string().starts_with("some.file: "), "{error}"),
    }
});
