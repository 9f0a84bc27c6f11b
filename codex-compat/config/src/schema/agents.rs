//! `[agents]`: limits of sub-agents, and beside them one table per role.
use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{Any, ConfigPath, On};

/// Every key that is no limit is the name of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Agents {
    pub enabled: On,
    pub max_threads: Option<u64>,
    pub max_depth: Option<u64>,
    pub max_concurrent_threads_per_session: Option<u64>,
    pub job_max_runtime_seconds: Option<u64>,
    pub interrupt_message: Option<Any>,
    pub default_subagent_model: Option<String>,
    pub default_subagent_reasoning_effort: Option<String>,
    pub roles: BTreeMap<String, AgentRole>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRole {
    pub description: Option<String>,
    pub config_file: Option<ConfigPath>,
    pub nickname_candidates: Option<Vec<String>>,
    pub developer_instructions: Option<String>,
    pub model: Option<String>,
    pub model_reasoning_effort: Option<String>,
    pub sandbox_mode: Option<protocol::SandboxMode>,
    pub mcp_servers: Option<Any>,
}

impl<'de> Deserialize<'de> for Agents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Agents;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Agents, A::Error> {
                let mut agents = Agents::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "enabled" => agents.enabled = map.next_value()?,
                        "max_threads" => agents.max_threads = map.next_value()?,
                        "max_depth" => agents.max_depth = map.next_value()?,
                        "max_concurrent_threads_per_session" => {
                            agents.max_concurrent_threads_per_session = map.next_value()?;
                        }
                        "job_max_runtime_seconds" => agents.job_max_runtime_seconds = map.next_value()?,
                        "interrupt_message" => agents.interrupt_message = map.next_value()?,
                        "default_subagent_model" => agents.default_subagent_model = map.next_value()?,
                        "default_subagent_reasoning_effort" => {
                            agents.default_subagent_reasoning_effort = map.next_value()?;
                        }
                        _ => drop(agents.roles.insert(key, map.next_value()?)),
                    }
                }
                Ok(agents)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
