//! What a run cost, by the catalog's prices.
use protocol::{Body, Item, Price, Source, Usage};

/// In US dollars: reply by reply, since a long one may have another price; what else the thread used (summaries, sub-agents) at
/// the price of its model. None where a price is not known.
pub(super) fn of(items: &[Item], total: &Usage, price: impl Fn(&Source) -> Option<Price>) -> Option<f64> {
    let replies = items.iter().filter_map(|item| match &item.body {
        Body::Reply { reply, .. } => Some(reply),
        _ => None,
    });
    let (mut cost, mut rest, mut last) = (0.0, *total, None);
    for reply in replies {
        let price = price(&reply.from)?;
        cost += price.of(&reply.usage);
        rest = less(rest, &reply.usage);
        last = Some(price);
    }
    Some(cost + last?.of(&rest))
}

fn less(all: Usage, part: &Usage) -> Usage {
    Usage {
        input: all.input.saturating_sub(part.input),
        cached: all.cached.saturating_sub(part.cached),
        cache_write: all.cache_write.saturating_sub(part.cache_write),
        output: all.output.saturating_sub(part.output),
        reasoning: all.reasoning.saturating_sub(part.reasoning),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use protocol::{ItemId, Reply, Stop, TurnId, WireId};

    use super::*;

    fn reply(model: &str, input: u64) -> Item {
        let from = Source { provider: "p".into(), wire: WireId::Chat, model: model.into() };
        let usage = Usage { input, ..Usage::default() };
        let reply = Reply { id: Default::default(), from, blocks: Vec::new(), stop: Stop::End, usage };
        Item { id: ItemId(1), turn: TurnId::default(), at: 0, body: Body::Reply { reply, total: Usage::default() } }
    }

    #[test]
    fn each_reply_at_the_price_of_its_model_and_the_rest_at_the_last_ones() {
        let price = |source: &Source| match source.model.as_str() {
            "cheap" => Some(Price { input: 1.0, ..Price::default() }),
            "dear" => Some(Price { input: 10.0, ..Price::default() }),
            _ => None,
        };
        let total = Usage { input: 3_500_000, ..Usage::default() };
        let million = 1_000_000;
        let cost = |models: &[&str]| {
            let items: Vec<Item> = models.iter().map(|model| reply(model, million)).collect();
            of(&items, &total, price)
        };
        assert_eq!(cost(&["cheap", "dear"]), Some(1.0 + 10.0 + 15.0));
        assert_eq!(cost(&["cheap", "unheard-of"]), None);
        assert_eq!(cost(&[]), None);
    }
}
