//! What a fit reports besides its parameters.
