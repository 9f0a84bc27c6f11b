//! What the user set and where: the layers of `config.toml`, project trust, `-c`, AGENTS.md, and the paths of our home.
//!
//! [`load`] reads every layer once and gives a [`Loaded`]: the typed [`Config`], the warnings to show, and the origin of each
//! value. The serde types under [`schema`] are the only list of keys: the reader learns known names and allowed values from them.
mod agents_md;
mod debug;
mod edit;
mod effective;
mod environment;
mod error;
mod features;
mod layers;
mod nearest;
mod node;
mod overrides;
mod parse;
mod paths;
mod project;
mod read;
pub mod schema;
mod skills;
mod validate;

pub use agents_md::{Cut, Doc, DocScope, Docs, discover};
pub use debug::{render_json, render_table};
pub use edit::{set, set_trust, unset};
pub use effective::{effective_approval, effective_sandbox};
pub use environment::child_environment;
pub use error::{ConfigError, Place, Warning, WarningKind};
pub use features::{FEATURES, Stage, feature};
pub use layers::{Layer, LayerKind, LayerState, Loaded, Request, load};
pub use node::{Node, Origin, Value};
pub use overrides::{FlagSetting, Override, feature_flag};
pub use paths::{Home, default_system_file};
pub use project::{Project, Trust, TrustLevel, git_root};
pub use schema::Config;
pub use skills::{
    SKILL_FILE, Skill, SkillArguments, SkillScope, Skills, discover_skills, skill_arguments, skill_body, skill_text,
};
