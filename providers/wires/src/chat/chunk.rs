//! A chunk of the stream as servers send it, borrowed from the event.
use std::{borrow::Cow, fmt, marker::PhantomData};

use protocol::Usage;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::lenient::{Args, First, Num, RawRef, Str};

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Str<'a>,
    #[serde(borrow, default)]
    pub(super) choices: First<Choice<'a>>,
    #[serde(borrow, default)]
    pub(super) usage: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) error: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) x_groq: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) base_resp: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) object: Str<'a>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) delta: Option<Piecewise<'a>>,
    /// Of an answer that is no stream.
    #[serde(borrow, default)]
    pub(super) message: Option<Piecewise<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Str<'a>,
    /// Moonshot.
    #[serde(borrow, default)]
    pub(super) usage: RawRef<'a>,
    /// OpenRouter.
    #[serde(borrow, default)]
    pub(super) error: RawRef<'a>,
}

#[derive(Deserialize)]
pub(super) struct Piecewise<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Str<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<FunctionPiece<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: RawRef<'a>,
}

#[derive(Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default)]
    pub(super) index: Num,
    #[serde(borrow, default)]
    pub(super) id: Str<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionPiece<'a>>,
    #[serde(borrow, default)]
    pub(super) custom: Option<FunctionPiece<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: RawRef<'a>,
}

#[derive(Deserialize, Default)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    pub(super) name: Str<'a>,
    #[serde(borrow, default, alias = "input")]
    pub(super) arguments: Args<'a>,
}

/// A string, or (Mistral) a list of text and thinking.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Str<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Thinking<'a>,
}

/// A list of texts, or one.
#[derive(Default)]
pub(super) struct Thinking<'a>(pub(super) Vec<Cow<'a, str>>);

impl Default for Content<'_> {
    fn default() -> Self {
        Content::Text(Cow::Borrowed(""))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content<'a>, D::Error> {
        struct Reads<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reads<'a> {
            type Value = Content<'a>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("content")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'a>, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'a>, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Content<'a>, E> {
                Ok(Content::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Content<'a>, E> {
                Ok(Content::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'a>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content<'a>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Content::default())
            }
        }
        deserializer.deserialize_any(Reads(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Thinking<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Thinking<'a>, D::Error> {
        Ok(Thinking(match Content::deserialize(deserializer)? {
            Content::Text(text) if text.is_empty() => Vec::new(),
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts.into_iter().map(|part| part.text.0).collect(),
        }))
    }
}

#[derive(Deserialize, Default)]
pub(super) struct UsageBody {
    #[serde(default)]
    prompt_tokens: Num,
    #[serde(default)]
    completion_tokens: Num,
    #[serde(default)]
    total_tokens: Num,
    /// Moonshot.
    #[serde(default)]
    cached_tokens: Num,
    /// DeepSeek.
    #[serde(default)]
    prompt_cache_hit_tokens: Num,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Deserialize, Default)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Num,
    #[serde(default)]
    cache_write_tokens: Num,
    #[serde(default)]
    cache_creation_input_tokens: Num,
}

#[derive(Deserialize, Default)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Num,
}

impl UsageBody {
    pub(super) fn usage(self) -> Usage {
        let prompt = self.prompt_tokens_details.unwrap_or_default();
        let reasoning = self.completion_tokens_details.unwrap_or_default().reasoning_tokens.or_zero();
        let (input, mut output) = (self.prompt_tokens.or_zero(), self.completion_tokens.or_zero());
        // xAI counts reasoning beside the completion; the total tells.
        if reasoning > 0 && self.total_tokens.0 == Some(input.saturating_add(output).saturating_add(reasoning)) {
            output += reasoning;
        }
        let first = |counts: &[Num]| counts.iter().map(|count| count.or_zero()).find(|count| *count > 0).unwrap_or(0);
        Usage {
            input,
            cached: first(&[prompt.cached_tokens, self.cached_tokens, self.prompt_cache_hit_tokens]),
            cache_write: first(&[prompt.cache_write_tokens, prompt.cache_creation_input_tokens]),
            output,
            reasoning,
        }
    }
}
