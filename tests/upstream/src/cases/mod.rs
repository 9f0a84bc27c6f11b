//! All cases, by what they are about.
mod commands;
mod errors;
mod events;
mod human;
mod input;
mod patches;
mod results;
mod sessions;
mod settings;
mod starts;
mod truncation;

use crate::case::Case;

/// In the order in which they are run.
pub(crate) fn all() -> Vec<Case> {
    let rooms = [
        events::cases,
        commands::cases,
        results::cases,
        patches::cases,
        truncation::cases,
        errors::cases,
        starts::cases,
        input::cases,
        settings::cases,
        sessions::cases,
        human::cases,
    ];
    rooms.iter().flat_map(|room| room()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let mut names = HashSet::new();
        for case in super::all() {
            assert!(names.insert(case.name), "{}", case.name);
            assert!(!case.runs.is_empty(), "{} does nothing", case.name);
        }
    }
}
