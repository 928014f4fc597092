//! Secrets, and their removal from any text by value.
