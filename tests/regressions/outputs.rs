//! Signals, output files, and the words of the program.
