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
    pub(super) message: Option<Box<Piecewise<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Str<'a>,
    /// Moonshot.
    #[serde(borrow, default)]
    pub(super) usage: RawRef<'a>,
    /// OpenRouter.
    #[serde(borrow, default)]
    pub(super) error: RawRef<'a>,
}

/// Rare fields are boxed: a chunk is moved several times while it is read, and its size is its cost.
#[derive(Deserialize, Default)]
pub(super) struct Piecewise<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Box<Str<'a>>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Str<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Str<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Box<Str<'a>>>,
    #[serde(borrow, default)]
    pub(super) reasoning_details: RawRef<'a>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    #[serde(borrow, default)]
    pub(super) function_call: Option<Box<FunctionPiece<'a>>>,
    #[serde(borrow, default)]
    pub(super) extra_content: RawRef<'a>,
}

#[derive(Deserialize, Default)]
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

/// Which string of a chunk, of those that come in many pieces.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said {
    Content,
    ReasoningContent,
    Reasoning,
    /// Of the call with this index.
    Arguments(u64),
}

impl<'a> Choice<'a> {
    /// The text of a chunk that is nothing but one of these strings.
    pub(super) fn only(&self) -> Option<(&Str<'a>, Said)> {
        let piece = self.delta.as_ref()?;
        let rare = piece.refusal.is_some()
            || piece.thinking.is_some()
            || piece.reasoning_details.is_some()
            || piece.function_call.is_some()
            || piece.extra_content.is_some();
        let ends = self.finish_reason.some().is_some();
        if rare || ends || self.message.is_some() || self.usage.is_some() || self.error.is_some() {
            return None;
        }
        let content = match &piece.content {
            Content::Text(text) => text,
            Content::Parts(_) => return None,
        };
        let calls = piece.tool_calls.as_deref().unwrap_or_default();
        let args = match calls {
            [] => None,
            [call] => Some(call.only()?),
            _ => return None,
        };
        let strings = [
            (content, Said::Content),
            (&piece.reasoning_content, Said::ReasoningContent),
            (&piece.reasoning, Said::Reasoning),
        ];
        let mut said = strings.into_iter().chain(args).filter(|(text, _)| !text.is_empty());
        let first = said.next()?;
        said.next().is_none().then_some(first)
    }
}

impl<'a> CallPiece<'a> {
    fn only(&self) -> Option<(&Str<'a>, Said)> {
        let function = self.function.as_ref()?;
        let more = self.custom.is_some() || self.extra_content.is_some();
        let names = self.id.some().is_some() || function.name.some().is_some();
        (!more && !names).then_some((&function.arguments.0, Said::Arguments(self.index.0?)))
    }
}

impl<'a> Piecewise<'a> {
    /// A chunk that is nothing but this string.
    pub(super) fn of(said: Said, text: Str<'a>) -> Piecewise<'a> {
        let mut piece = Piecewise::default();
        match said {
            Said::Content => piece.content = Content::Text(text),
            Said::ReasoningContent => piece.reasoning_content = text,
            Said::Reasoning => piece.reasoning = text,
            Said::Arguments(index) => {
                let function = FunctionPiece { name: Str::default(), arguments: Args(text) };
                let call = CallPiece { index: Num(Some(index)), function: Some(function), ..CallPiece::default() };
                piece.tool_calls = Some(vec![call]);
            }
        }
        piece
    }
}

/// A string, or (Mistral) a list of text and thinking.
pub(super) enum Content<'a> {
    Text(Str<'a>),
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
        Content::Text(Str::default())
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
                Ok(Content::Text(Str(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'a>, E> {
                Ok(Content::Text(Str(Cow::Owned(text.to_owned()))))
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
            Content::Text(text) => vec![text.0],
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
