//! Reading graphs, and asking for distances.
