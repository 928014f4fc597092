//! The gateway's decisions held against RFC 9111 and RFC 9211, row by row, and against what must hold whatever comes.

mod gate;
