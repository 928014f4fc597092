//! The real door: reqwest with rustls.
