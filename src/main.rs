//! `interpreter`: parse the command line and hand over.

fn main() {}
