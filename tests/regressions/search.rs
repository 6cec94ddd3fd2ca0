//! Fits: where they look, how they end, and what they obey.
