//! What providers take and want: a table of data rows, each with its source. Marks in comments are those of the
//! collection `provider-quirks.md` (D: the provider's documentation; L, O, C: seen in other programs; I: an issue; T: third
//! party; u: general knowledge).
//!
//! A row holds for its providers (ids or hosts) and its models; all rows that hold are applied in order.
use protocol::{Caps, Quirks, WireId};

use crate::provider::{host, is_loopback};

/// What this provider takes on this wire.
pub fn caps_for(provider: &str, base_url: &str, model: &str, wire: WireId) -> Caps {
    let mut caps = Caps::plain();
    let at = At::new(provider, base_url, model, wire);
    rows(&at).for_each(|row| (row.apply)(&at, &mut caps, &mut Quirks::default()));
    caps
}

/// What this provider wants done differently on this wire.
pub fn quirks_for(provider: &str, base_url: &str, model: &str, wire: WireId) -> Quirks {
    let mut quirks = Quirks::default();
    let at = At::new(provider, base_url, model, wire);
    rows(&at).for_each(|row| (row.apply)(&at, &mut Caps::plain(), &mut quirks));
    quirks
}

struct At<'a> {
    id: &'a str,
    host: String,
    /// Last part of the model's name, in lower case.
    model: String,
    wire: WireId,
}

impl<'a> At<'a> {
    fn new(id: &'a str, base_url: &str, model: &str, wire: WireId) -> At<'a> {
        let model = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        At { id, host: host(base_url), model, wire }
    }
    fn chat(&self) -> bool {
        self.wire == WireId::Chat
    }
    fn is(&self, starts: &[&str]) -> bool {
        starts.iter().any(|start| self.model.starts_with(start))
    }
}

struct Row {
    /// Provider ids, as built in or in the catalog.
    ids: &'static [&'static str],
    /// A host is one of these or below one of these; `localhost` stands for this machine.
    hosts: &'static [&'static str],
    /// Starts of model names, at any provider if `ids` and `hosts` are empty.
    models: &'static [&'static str],
    apply: fn(&At, &mut Caps, &mut Quirks),
}

fn rows(at: &At) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(|row| {
        let here = |&host: &&str| {
            at.host == host
                || at.host.strip_suffix(host).is_some_and(|rest| rest.ends_with('.'))
                || (host == "localhost" && is_loopback(&at.host))
        };
        let anywhere = row.ids.is_empty() && row.hosts.is_empty();
        (anywhere || row.ids.contains(&at.id) || row.hosts.iter().any(here))
            && (row.models.is_empty() || at.is(row.models))
    })
}

const ROWS: &[Row] = &[
    // OpenAI and Azure (D, O): everything of Responses; on chat, reasoning models take no temperature and no `max_tokens`.
    Row {
        ids: &["openai", "azure"],
        hosts: &["api.openai.com", "openai.azure.com", "cognitiveservices.azure.com", "chatgpt.com"],
        models: &[],
        apply: |at, caps, quirks| {
            let responses = at.wire == WireId::Responses;
            caps.custom_tools = responses;
            caps.server_tools = responses;
            caps.developer_role = true;
            caps.late_instructions = true;
            caps.images_in_results = responses;
            caps.documents = true;
            quirks.max_completion_tokens = at.chat();
            quirks.no_temperature = at.is(&["gpt-5", "gpt-6", "gpt-daybreak", "codex-", "o1", "o3", "o4"]);
        },
    },
    // Anthropic (C, O; claude-code.md).
    Row {
        ids: &["anthropic"],
        hosts: &["api.anthropic.com"],
        models: &[],
        apply: |at, caps, quirks| {
            quirks.safe_ids = true;
            let messages = at.wire == WireId::Messages;
            caps.images_in_results = messages;
            caps.documents = messages;
            caps.cache_marks = messages;
            caps.counts_tokens = messages;
        },
    },
    // Servers of the Messages wire that keep `cache_control` (L).
    Row {
        ids: &["minimax", "minimax-cn", "zai", "zai-coding-plan", "zai-zcode", "zhipuai", "openrouter"],
        hosts: &[
            "minimax.io",
            "minimaxi.com",
            "z.ai",
            "bigmodel.cn",
            "dashscope.aliyuncs.com",
            "dashscope-intl.aliyuncs.com",
            "maas.aliyuncs.com",
            "openrouter.ai",
        ],
        models: &[],
        apply: |at, caps, _| caps.cache_marks = at.wire == WireId::Messages,
    },
    // DeepSeek (D, L): only text contents; after calls every assistant message needs its reasoning; `strict` only at /beta.
    Row {
        ids: &["deepseek"],
        hosts: &["api.deepseek.com"],
        models: &[],
        apply: |at, caps, quirks| {
            caps.images = false;
            if at.chat() {
                quirks.string_content = true;
                quirks.no_strict = true;
                quirks.reasoning_field = Some("thinking".into());
                if !at.is(&["deepseek-chat"]) {
                    quirks.reasoning_required = Some("reasoning_content".into());
                }
            }
        },
    },
    // Moonshot and Kimi Code (L, C, T): reasoning goes back with calls, a schema's root is a plain object, no `strict`.
    Row {
        ids: &["moonshotai", "moonshotai-cn", "kimi-for-coding"],
        hosts: &["moonshot.ai", "moonshot.cn", "api.kimi.com", "api.kimi.ai"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.max_completion_tokens = true;
                quirks.no_strict = true;
                let plan = at.id == "kimi-for-coding" || at.host.starts_with("api.kimi.");
                let field = match (at.is(&["kimi-k3", "k3"]), plan) {
                    (true, true) => "thinking_effort",
                    (true, false) => "reasoning_effort",
                    _ if at.is(&["kimi-k2.7"]) => "none",
                    _ => "thinking",
                };
                quirks.reasoning_field = Some(field.into());
                if at.is(&["kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k3", "k3", "kimi-for-coding"]) {
                    quirks.reasoning_required = Some("reasoning_content".into());
                }
            }
        },
    },
    // Kimi K2.5 and later refuse any temperature but 1 (L), K3 has neither it nor `top_p` (C), wherever they run.
    Row {
        ids: &[],
        hosts: &[],
        models: &["kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k3", "k3", "kimi-for-coding"],
        apply: |at, _, quirks| {
            quirks.no_temperature = true;
            if at.is(&["kimi-k3", "k3"]) {
                quirks.drop.push("top_p".into());
            }
        },
    },
    // Z.AI and BigModel (D): `thinking: {type}`.
    Row {
        ids: &["zai", "zai-coding-plan", "zhipuai", "zhipuai-coding-plan"],
        hosts: &["z.ai", "bigmodel.cn"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.reasoning_field = Some("thinking".into());
            }
        },
    },
    // GLM-5.3 cannot be switched off and takes an effort (T).
    Row {
        ids: &[],
        hosts: &["z.ai", "bigmodel.cn"],
        models: &["glm-5.3"],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.reasoning_field = Some("reasoning_effort".into());
            }
        },
    },
    // DashScope (D, L) and SiliconFlow (D): `enable_thinking` at top level.
    Row {
        ids: &[
            "alibaba",
            "alibaba-cn",
            "alibaba-coding-plan",
            "alibaba-coding-plan-cn",
            "siliconflow",
            "siliconflow-cn",
        ],
        hosts: &["aliyuncs.com", "siliconflow.com", "siliconflow.cn"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.reasoning_field = Some("enable_thinking".into());
            }
        },
    },
    // MiniMax chat (C, L, D): thinking comes in tags and goes back in them; there is no effort.
    Row {
        ids: &["minimax", "minimax-cn"],
        hosts: &["minimax.io", "minimaxi.com"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.think_tags = true;
                quirks.reasoning_field = Some("none".into());
            }
        },
    },
    // Mistral (I, O, T): nine-character ids, no user message straight behind results, no empty messages; usage comes unasked.
    Row {
        ids: &["mistral"],
        hosts: &["mistral.ai"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.short_ids = true;
                quirks.bridge_results = true;
                quirks.no_stream_options = true;
                let thinks =
                    at.is(&["mistral-medium-3.5", "mistral-medium-3-5", "mistral-small-2603", "mistral-large-4"]);
                quirks.reasoning_field = Some(if thinks { "reasoning_effort" } else { "none" }.into());
            }
        },
    },
    // xAI (L, D): no `strict`; asks for encrypted reasoning on Responses as everyone does.
    Row {
        ids: &["xai"],
        hosts: &["api.x.ai"],
        models: &[],
        apply: |at, caps, quirks| {
            quirks.no_strict = at.chat();
            caps.images_in_results = false;
        },
    },
    // OpenRouter (L, D): `reasoning: {effort}`.
    Row {
        ids: &["openrouter"],
        hosts: &["openrouter.ai"],
        models: &[],
        apply: |at, _, quirks| {
            if at.chat() {
                quirks.reasoning_field = Some("reasoning".into());
            }
        },
    },
    // Groq refuses nulls in assistant messages (L).
    Row {
        ids: &["groq"],
        hosts: &["api.groq.com"],
        models: &[],
        apply: |at, _, quirks| quirks.empty_content = at.chat(),
    },
    // Cerebras answers `parallel_tool_calls` with 400 (T).
    Row {
        ids: &["cerebras"],
        hosts: &["api.cerebras.ai"],
        models: &[],
        apply: |_, _, quirks| quirks.drop.push("parallel_tool_calls".into()),
    },
    // Servers that run open weights may leave the thinking in the text (u); local ones take no effort for most models,
    // Ollama does (D).
    Row {
        ids: &[
            "ollama",
            "lmstudio",
            "together",
            "fireworks-ai",
            "huggingface",
            "siliconflow",
            "siliconflow-cn",
            "nvidia",
        ],
        hosts: &["localhost", "together.xyz", "fireworks.ai", "huggingface.co", "siliconflow.com", "siliconflow.cn"],
        models: &[],
        apply: |at, _, quirks| quirks.think_tags = at.chat(),
    },
    // Anthropic's servers and clones need no encrypted reasoning; the field does not exist there.
    Row {
        ids: &[],
        hosts: &[],
        models: &[],
        apply: |at, caps, _| caps.encrypted_reasoning = at.wire == WireId::Responses,
    },
];

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const OPENAI: &str = "https://api.openai.com/v1";

    #[test]
    fn openai_takes_all_of_its_own_wire() {
        let all = Caps {
            custom_tools: true,
            server_tools: true,
            developer_role: true,
            late_instructions: true,
            images_in_results: true,
            documents: true,
            ..Caps::plain()
        };
        assert_eq!(caps_for("openai", "http://127.0.0.1:1/v1", "gpt-5.5", WireId::Responses), all);
        assert_eq!(caps_for("mine", OPENAI, "gpt-5.5", WireId::Responses), all);
        assert_eq!(caps_for("mine", "https://r.openai.azure.com/openai/v1", "d", WireId::Responses), all);
        let quirks = Quirks { max_completion_tokens: true, no_temperature: true, ..Quirks::default() };
        assert_eq!(quirks_for("openai", OPENAI, "gpt-5.5", WireId::Chat), quirks);
    }

    /// known-failures.md 20: servers that are not known to accept them get function tools only.
    #[test]
    fn others_get_what_all_take() {
        for (id, base) in [
            ("ollama", "http://localhost:11434/v1"),
            ("lmstudio", "http://localhost:1234/v1"),
            ("mine", "https://notopenai.com.example.org/v1"),
            ("mine", "https://evilapi.openai.com.example.org/v1"),
        ] {
            assert_eq!(caps_for(id, base, "gpt-5.5", WireId::Responses), Caps::plain(), "{id} {base}");
        }
    }

    #[test]
    fn anthropic() {
        let caps = caps_for("anthropic", "https://api.anthropic.com", "claude-opus-5", WireId::Messages);
        let expected = Caps {
            images_in_results: true,
            documents: true,
            cache_marks: true,
            encrypted_reasoning: false,
            counts_tokens: true,
            ..Caps::plain()
        };
        assert_eq!(caps, expected);
    }

    #[test]
    fn chat_rows() {
        let check = |id: &str, base: &str, model: &str, expected: Quirks| {
            assert_eq!(quirks_for(id, base, model, WireId::Chat), expected, "{id} {model}");
        };
        let some = |text: &str| Some(text.to_owned());
        check("x", "https://example.org/v1", "m", Quirks::default());
        check(
            "deepseek",
            "https://api.deepseek.com",
            "deepseek-v4-pro",
            Quirks {
                string_content: true,
                no_strict: true,
                reasoning_required: some("reasoning_content"),
                reasoning_field: some("thinking"),
                ..Quirks::default()
            },
        );
        check(
            "x",
            "https://api.moonshot.cn/v1",
            "kimi-k3",
            Quirks {
                max_completion_tokens: true,
                no_strict: true,
                no_temperature: true,
                drop: vec!["top_p".into()],
                reasoning_required: some("reasoning_content"),
                reasoning_field: some("reasoning_effort"),
                ..Quirks::default()
            },
        );
        check(
            "mistral",
            "https://api.mistral.ai/v1",
            "devstral-2",
            Quirks {
                short_ids: true,
                bridge_results: true,
                no_stream_options: true,
                reasoning_field: some("none"),
                ..Quirks::default()
            },
        );
        check(
            "x",
            "https://openrouter.ai/api/v1",
            "moonshotai/kimi-k2.5",
            Quirks { no_temperature: true, reasoning_field: some("reasoning"), ..Quirks::default() },
        );
        check("ollama", "http://localhost:11434/v1", "qwen3", Quirks { think_tags: true, ..Quirks::default() });
        check(
            "x",
            "https://api.z.ai/api/paas/v4",
            "glm-4.7",
            Quirks { reasoning_field: some("thinking"), ..Quirks::default() },
        );
    }
}
