//! The dialect from outside.
