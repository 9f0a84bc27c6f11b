//! Cuts long outputs as Codex 0.171.0 does: first and last half of the budget, a marker between, a header in front. The
//! markers are read by models that were trained on them.
use protocol::{Captured, Settings, Truncation, ceil_char, floor_char};

/// The budget of one call: the policy of the model (or the user's `tool_output_token_limit`), and the call's own
/// `max_output_tokens` where that is less.
pub(super) fn budget(policy: Truncation, settings: &Settings, call: Option<u64>) -> Truncation {
    let policy = match (policy, settings.output_limit) {
        (policy, None) => policy,
        (Truncation::Bytes(_), Some(tokens)) => Truncation::Bytes(tokens.saturating_mul(4)),
        (Truncation::Tokens(_), Some(tokens)) => Truncation::Tokens(tokens),
    };
    match call {
        Some(tokens) if tokens.saturating_mul(4) < bytes(policy) => Truncation::Tokens(tokens),
        _ => policy,
    }
}

/// A captured output within `budget`, with header and marker where something had to go.
pub(super) fn shown(output: &Captured, budget: Truncation) -> String {
    let text = match output.cut {
        Some(cut) => {
            let (head, tail) = output.text.split_at(floor_char(&output.text, cut.at));
            format!("{head}\n{}\n{tail}", omitted(cut.omitted))
        }
        None => output.text.clone(),
    };
    let Some(kept) = middle_out(&text, budget) else { return text };
    let (written, lines) = match output.cut {
        Some(cut) => (output.bytes, omitted(cut.omitted)),
        None => (text.len() as u64, format!("Total output lines: {}", text.lines().count())),
    };
    format!("Warning: truncated output (original token count: {})\n{lines}\n\n{kept}", written.div_ceil(4))
}

/// The text with its middle taken out. None: it fits.
pub(super) fn middle_out(text: &str, budget: Truncation) -> Option<String> {
    let keep = usize::try_from(bytes(budget)).unwrap_or(usize::MAX);
    if text.len() <= keep {
        return None;
    }
    let head = &text[..floor_char(text, keep / 2)];
    let tail = &text[ceil_char(text, text.len() - (keep - keep / 2))..];
    let dropped = &text[head.len()..text.len() - tail.len()];
    let marker = match budget {
        Truncation::Bytes(_) => format!("…{} chars truncated…", dropped.chars().count()),
        // Counted as if characters of several bytes could be cut in two, as upstream does.
        Truncation::Tokens(_) => format!("…{} tokens truncated…", (text.len() - keep).div_ceil(4)),
    };
    Some(format!("{head}{marker}{tail}"))
}

fn bytes(budget: Truncation) -> u64 {
    match budget {
        Truncation::Bytes(bytes) => bytes,
        Truncation::Tokens(tokens) => tokens.saturating_mul(4),
    }
}

fn omitted(bytes: u64) -> String {
    format!("... {bytes} bytes omitted ...")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use protocol::Cut;

    use super::*;

    /// Header and the text around the marker, and the length in bytes: what was measured of Codex 0.171.0.
    fn check(output: &Captured, budget: Truncation, header: &str, around: &str, length: usize) {
        let text = shown(output, budget);
        assert!(text.starts_with(header), "{}", &text[..text.len().min(120)]);
        assert!(text.contains(around), "{around}");
        assert_eq!(text.len(), length);
    }

    #[test]
    fn as_measured() {
        let zeros = Captured::whole("a".repeat(100_000));
        let header = "Warning: truncated output (original token count: 25000)\nTotal output lines: 1\n\na";
        check(&zeros, Truncation::Bytes(10_000), header, "a…90000 chars truncated…a", 10_106);
        check(&zeros, Truncation::Tokens(10_000), header, "a…15000 tokens truncated…a", 40_107);

        let accents = Captured::whole("é\n".repeat(20_000) + "yes: standard output: Broken pipe\n");
        let header = "Warning: truncated output (original token count: 15009)\nTotal output lines: 20001\n\né";
        check(&accents, Truncation::Bytes(10_000), header, "é…33356 chars truncated…\né", 10_110);
        check(&accents, Truncation::Tokens(2_000), header, "\n…13009 tokens truncated…", 8_110);

        let euros = Captured::whole("€".repeat(400));
        let header = "Warning: truncated output (original token count: 300)\nTotal output lines: 1\n\n€";
        check(&euros, Truncation::Tokens(7), header, "€…293 tokens truncated…€", 127);

        let half = "y\n".repeat(1 << 18);
        let cut = Some(Cut { at: half.len(), omitted: 1_951_458 });
        let capped =
            Captured { text: half.clone() + &half, cut, bytes: 3_000_034, lines: 1_500_000, ..Captured::default() };
        let header = "Warning: truncated output (original token count: 750009)\n... 1951458 bytes omitted ...\n\ny";
        check(&capped, Truncation::Bytes(10_000), header, "y\n…1038607 chars truncated…y\n", 10_117);
        check(&capped, Truncation::Tokens(10_000), header, "y\n…252152 tokens truncated…y\n", 40_117);
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(shown(&Captured::whole("hi\n"), Truncation::Tokens(1)), "hi\n");
        let none = "Warning: truncated output (original token count: 1)\nTotal output lines: 1\n\n…1 tokens truncated…";
        assert_eq!(shown(&Captured::whole("hi\n"), Truncation::Tokens(0)), none);
    }

    #[test]
    fn the_smaller_budget_counts() {
        let with = |limit, call| {
            let settings = Settings { output_limit: limit, ..crate::native::tests::settings() };
            budget(Truncation::Bytes(10_000), &settings, call)
        };
        assert_eq!(with(None, None), Truncation::Bytes(10_000));
        assert_eq!(with(None, Some(100)), Truncation::Tokens(100));
        assert_eq!(with(None, Some(20_000)), Truncation::Bytes(10_000));
        assert_eq!(with(Some(500), None), Truncation::Bytes(2_000));
        assert_eq!(with(Some(500), Some(600)), Truncation::Bytes(2_000));
    }

    proptest! {
        #[test]
        fn never_longer_than_asked(text in "\\PC{0,200}", keep in 0u64..200) {
            if let Some(kept) = middle_out(&text, Truncation::Bytes(keep)) {
                let marker = kept.find('…').map_or(0, |_| 40);
                prop_assert!(kept.len() <= keep as usize + marker);
            }
        }
    }
}
