//! How many tokens a request may have, where nobody counts: four bytes of text each, as everywhere in this program.
use protocol::{BlockKind, Content, Entry, OwnedPrompt, Part, ToolKind};

/// Of an image or a page, whatever its size in bytes: what a picture of the usual size comes to at Anthropic.
const IMAGE: u64 = 1_600;

/// Tokens of instructions, tools and conversation.
pub fn estimate(prompt: &OwnedPrompt) -> u64 {
    let mut sum = Sum::default();
    prompt.opening.instructions.iter().for_each(|(_, said)| sum.content(said));
    sum.tools(&prompt.opening.tools);
    for entry in &prompt.said {
        match entry {
            Entry::Instruct(_, said) | Entry::User(said) => sum.content(said),
            Entry::Assistant(blocks) => blocks.iter().for_each(|block| match &block.kind {
                BlockKind::Text(text, _) | BlockKind::Reasoning(text) => sum.text(text),
                BlockKind::Call(call) => [&call.name, &call.args].into_iter().for_each(|text| sum.text(text)),
                BlockKind::Server { show, .. } => sum.text(show.text()),
                BlockKind::Unknown => {}
            }),
            Entry::Results { before, results, after } => {
                before.iter().for_each(|(_, said)| sum.content(said));
                for result in results {
                    sum.content(&result.answer.content);
                    sum.parts(&result.answer.after);
                }
                sum.parts(after);
            }
            Entry::Tools(tools) => sum.tools(tools),
            Entry::Foreign(opaque) => sum.text(opaque.value.text()),
        }
    }
    sum.bytes.div_ceil(4) + sum.images * IMAGE
}

#[derive(Default)]
struct Sum {
    bytes: u64,
    images: u64,
}

impl Sum {
    fn text(&mut self, text: &str) {
        self.bytes += text.len() as u64;
    }
    fn content(&mut self, content: &Content) {
        match content {
            Content::Plain(text) => self.text(text),
            Content::Parts(parts) => self.parts(parts),
        }
    }
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Text(text) | Part::ToolReference(text) => self.text(text),
                Part::Foreign(opaque) => self.text(opaque.value.text()),
                Part::Image { .. } | Part::Document(_) | Part::Audio(_) | Part::Video(_) => self.images += 1,
            }
        }
    }
    fn tools(&mut self, tools: &[protocol::Tool]) {
        for tool in tools {
            self.text(&tool.name);
            self.text(&tool.description);
            match &tool.kind {
                ToolKind::Function(schema) | ToolKind::Custom { fallback: schema, .. } => self.text(schema.text()),
                ToolKind::Server { entry, .. } => self.text(entry.text()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::{Blob, Opening, Speaker};

    use super::*;

    #[test]
    fn text_by_bytes_and_images_by_number() {
        let image = Part::Image { blob: Blob::new("i", "image/png", vec![0; 9_999]), detail: None };
        let prompt = OwnedPrompt {
            opening: Opening {
                instructions: vec![(Speaker::System, Content::Plain("12345678".into()))],
                tools: vec![],
            },
            said: vec![Entry::User(Content::Parts(vec![Part::text("123"), image]))],
            ..OwnedPrompt::default()
        };
        assert_eq!(estimate(&prompt), 3 + IMAGE);
        assert_eq!(estimate(&OwnedPrompt::default()), 0);
    }
}
