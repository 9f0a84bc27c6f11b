//! The smaller tables of `config.toml`.
use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{Any, ConfigPath, Off, On, value::words};
use crate::project::TrustLevel;

/// A struct of a table: every key may be missing.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $field:ident : $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name { $($(#[$inner])* pub $field: $kind),* }
    };
}

table!(
    /// `[sandbox_workspace_write]`
    SandboxWorkspaceWrite {
        writable_roots: Vec<ConfigPath>,
        network_access: Off,
        exclude_tmpdir_env_var: Off,
        exclude_slash_tmp: Off,
    }
);
table!(
    /// `[sandbox_linux]`, ours
    SandboxLinux {
        /// Without namespaces: check `.git` and agent folders after each command instead of refusing new entries beside them.
        weak: Off,
    }
);
table!(
    /// `[shell_environment_policy]`; [`crate::child_environment`] applies it. Patterns are globs without regard to case.
    ShellEnvironmentPolicy {
        inherit: Inherit,
        /// false: names with KEY, SECRET or TOKEN are left out.
        ignore_default_excludes: On,
        exclude: Vec<String>,
        include_only: Vec<String>,
        set: BTreeMap<String, String>,
        filters: Option<Any>,
        experimental_use_profile: Option<bool>,
    }
);
words!(Inherit {
    #[default]
    All = "all",
    Core = "core",
    None = "none",
});
table!(
    /// `[projects."<path>"]`
    ProjectEntry { trust_level: Option<TrustLevel> }
);
words!(HarnessWords {
    #[default]
    Learned = "learned",
    Own = "own",
});
table!(
    /// `[roles.<role>]`, ours: who speaks for this role. None: as the main agent.
    Role {
        model_provider: Option<String>,
        model: Option<String>,
        harness: Option<String>,
        model_reasoning_effort: Option<String>,
    }
);
table!(
    /// `[gateway]`, ours
    Gateway {
        /// Model that a client of the gateway asks for → `provider/model` that answers.
        models: BTreeMap<String, String>,
    }
);
table!(
    /// `[sdk]`, ours
    Sdk {
        /// Model that an app asks for → `model` or `provider/model` that answers.
        model_map: BTreeMap<String, String>,
    }
);
table!(
    /// `[tools]`
    Tools {
        /// A boolean or a table.
        web_search: Option<WebSearchTool>,
        experimental_request_user_input: Option<Any>,
        web_fetch: WebFetch,
        update_plan: EnabledTable,
    }
);
table!(
    /// `[tools.web_fetch]`, ours
    WebFetch {
        /// Also pages of this machine and of private networks.
        allow_private: Off,
    }
);
table!(
    /// A table whose one key is `enabled`.
    EnabledTable { enabled: Option<bool> }
);
table!(
    /// `[auto_review]`
    AutoReview { policy: Option<String> }
);
table!(
    /// `[windows]`
    Windows { sandbox: Option<String> }
);
table!(
    /// `[history]`
    History {
        persistence: Persistence,
        max_bytes: Option<u64>,
    }
);
words!(Persistence {
    #[default]
    SaveAll = "save-all",
    None = "none",
});
table!(
    /// `[tui]`
    Tui {
        notifications: Option<Notifications>,
        notification_method: NotificationMethod,
        notification_condition: NotificationCondition,
        animations: On,
        show_tooltips: On,
        alternate_screen: AlternateScreen,
        status_line: Option<Vec<String>>,
        status_line_use_colors: On,
        terminal_title: Option<Vec<String>>,
        theme: Option<String>,
        keymap: BTreeMap<String, Any>,
        vim_mode_default: Off,
        raw_output_mode: Off,
        session_picker_view: Option<String>,
        resume_cwd: Option<ResumeCwd>,
        pet: Option<Any>,
        pet_anchor: Option<Any>,
        copy_on_select: Option<bool>,
        model_availability_nux: Option<Any>,
        terminal_resize_reflow_max_rows: Option<u64>,
    }
);
words!(NotificationMethod {
    #[default]
    Auto = "auto",
    Osc9 = "osc9",
    Osc777 = "osc777",
    Bel = "bel",
});
words!(NotificationCondition {
    #[default]
    Unfocused = "unfocused",
    Always = "always",
});
words!(AlternateScreen {
    #[default]
    Auto = "auto",
    Always = "always",
    Never = "never",
});
words!(ResumeCwd {
    #[default]
    Current = "current",
    Session = "session",
});
table!(
    /// `[skills]`
    Skills {
        config: Vec<SkillEntry>,
        bundled: EnabledTable,
        include_instructions: Option<bool>,
    }
);
table!(
    SkillEntry {
        path: Option<ConfigPath>,
        name: Option<String>,
        enabled: On,
    }
);
table!(
    /// `[memories]`
    Memories {
        generate_memories: Option<bool>,
        use_memories: Option<bool>,
        disable_on_external_context: Option<bool>,
        no_memories_if_mcp_or_web_search: Option<bool>,
        dedicated_tools: Option<bool>,
        max_raw_memories_for_consolidation: Option<u64>,
        max_unused_days: Option<i64>,
        max_rollout_age_days: Option<i64>,
        max_rollouts_per_startup: Option<u64>,
        min_rollout_idle_hours: Option<i64>,
        min_rate_limit_remaining_percent: Option<i64>,
        extract_model: Option<String>,
        consolidation_model: Option<String>,
    }
);
table!(
    /// `[notice]`: what the user does not want to be told again
    Notice {
        hide_full_access_warning: Option<bool>,
        hide_world_writable_warning: Option<bool>,
        hide_rate_limit_model_nudge: Option<bool>,
        hide_gpt5_1_migration_prompt: Option<bool>,
        fast_default_opt_out: Option<bool>,
        model_migrations: BTreeMap<String, String>,
        external_config_migration_prompts: Option<Any>,
    }
);
table!(
    /// `[otel]`
    Otel {
        environment: Option<String>,
        exporter: Option<Any>,
        trace_exporter: Option<Any>,
        metrics_exporter: Option<Any>,
        log_user_prompt: Option<bool>,
        span_attributes: Option<Any>,
        tracestate: Option<Any>,
    }
);
table!(
    /// `[apps._default]`, `[apps.<id>]`
    App {
        enabled: Option<bool>,
        destructive_enabled: Option<bool>,
        open_world_enabled: Option<bool>,
        default_tools_enabled: Option<bool>,
        default_tools_approval_mode: Option<String>,
        approvals_reviewer: Option<String>,
        tools: Option<Any>,
    }
);
table!(
    /// `[plugins.<id>]`
    Plugin {
        enabled: Option<bool>,
        mcp_servers: Option<Any>,
    }
);
table!(
    /// `[marketplaces.<name>]`
    Marketplace {
        source: Option<String>,
        source_type: Option<MarketplaceSource>,
        r#ref: Option<String>,
        sparse_paths: Option<Vec<String>>,
        last_updated: Option<Any>,
        last_revision: Option<Any>,
    }
);
words!(MarketplaceSource {
    #[default]
    Git = "git",
    Local = "local",
});
table!(
    /// `[tool_suggest]`
    ToolSuggest {
        discoverables: Option<Any>,
        disabled_tools: Option<Any>,
    }
);
table!(
    /// `[audio]`
    Audio {
        microphone: Option<String>,
        speaker: Option<String>,
    }
);

/// `tui.notifications`: all, none, or those named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Notifications {
    All(bool),
    Named(Vec<String>),
}

impl<'de> Deserialize<'de> for Notifications {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Notifications;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or an array of strings")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Notifications, E> {
                Ok(Notifications::All(on))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Notifications, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Notifications::Named)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// `tools.web_search`: on, off, or on with settings (which are kept as they are).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum WebSearchTool {
    Enabled(bool),
    Settings(BTreeMap<String, Any>),
}

impl WebSearchTool {
    pub fn enabled(&self) -> bool {
        match self {
            WebSearchTool::Enabled(on) => *on,
            WebSearchTool::Settings(_) => true,
        }
    }
}

impl<'de> Deserialize<'de> for WebSearchTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = WebSearchTool;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a table")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<WebSearchTool, E> {
                Ok(WebSearchTool::Enabled(on))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<WebSearchTool, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(WebSearchTool::Settings)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A value of `[features]`: a boolean, or a table of settings that is on unless its `enabled` is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct FeatureSetting(pub bool);

impl<'de> Deserialize<'de> for FeatureSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = FeatureSetting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<FeatureSetting, E> {
                Ok(FeatureSetting(on))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<FeatureSetting, A::Error> {
                let settings = BTreeMap::<String, Any>::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(FeatureSetting(settings.get("enabled").and_then(Any::as_bool).unwrap_or(true)))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
