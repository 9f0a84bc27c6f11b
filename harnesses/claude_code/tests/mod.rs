//! The dialects from outside, over a world made of a map of files.
use super::generation::Generation;

pub(super) const GENERATIONS: [Generation; 5] =
    [Generation::V1_0, Generation::V2_0, Generation::V2_1, Generation::Classic, Generation::Current];
