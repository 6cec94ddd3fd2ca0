//! Pictures and logs say what the report says.
