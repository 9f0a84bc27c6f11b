//! `approval_policy`: a word, or a table that says by kind what is asked about.
use std::fmt;

use protocol::ApprovalPolicy;
use serde::{Deserialize, Deserializer, Serialize, de};

/// All five kinds; what is false is refused unasked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GranularApproval {
    pub sandbox_approval: bool,
    pub rules: bool,
    pub mcp_elicitations: bool,
    pub request_permissions: bool,
    pub skill_approval: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalSetting {
    Granular(GranularApproval),
    #[serde(untagged)]
    Policy(ApprovalPolicy),
}

impl ApprovalSetting {
    /// The plain policy: a granular one asks on request.
    pub fn policy(self) -> ApprovalPolicy {
        match self {
            ApprovalSetting::Policy(policy) => policy,
            ApprovalSetting::Granular(_) => ApprovalPolicy::OnRequest,
        }
    }
}

impl<'de> Deserialize<'de> for ApprovalSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ApprovalSetting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`untrusted`, `on-failure`, `on-request`, `never` or a table `granular`")
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<ApprovalSetting, E> {
                ApprovalPolicy::deserialize(de::value::StrDeserializer::new(word)).map(ApprovalSetting::Policy)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ApprovalSetting, A::Error> {
                #[derive(Deserialize)]
                struct Table {
                    granular: GranularApproval,
                }
                let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ApprovalSetting::Granular(table.granular))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
