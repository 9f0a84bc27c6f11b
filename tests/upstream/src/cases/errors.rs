//! What goes wrong between us and the model's server: what is asked again, what is announced, how the turn ends.
use serde_json::json;

use crate::{
    case::{Case, UNASKED, turn},
    model::{nothing, refuse, refuse_text, run, say},
};

const ONE_RETRY: &str = "stream_max_retries = 1";

pub(crate) fn cases() -> Vec<Case> {
    let error = |message: &str| json!({"message": message, "type": "invalid_request_error", "code": null});
    let twice = |step: fn() -> demo::scripted::Step| vec![step(), step(), say("late").into()];
    vec![
        turn("error-400", [refuse(400, error("bad thing"))]),
        turn("error-400-text", [refuse_text(400, "plain words")]),
        turn("error-400-context", [refuse(400, json!({"message": "too long", "code": "context_length_exceeded"}))]),
        turn("error-401", twice(|| refuse(401, json!({"message": "wrong key"})))).provider(ONE_RETRY),
        turn("error-403", twice(|| refuse(403, json!({"message": "not yours"})))).provider(ONE_RETRY),
        turn("error-404", twice(|| refuse(404, json!({"message": "no such model"})))).provider(ONE_RETRY),
        turn("error-429", twice(|| refuse(429, json!({"message": "slow down"})))).provider(ONE_RETRY),
        turn("error-429-rate-limit", [refuse(429, json!({"message": "slow down", "type": "rate_limit_exceeded"}))]),
        turn(
            "error-429-quota",
            [refuse(429, json!({"message": "no money", "type": "insufficient_quota", "code": "insufficient_quota"}))],
        ),
        turn(
            "error-429-usage-limit",
            [refuse(
                429,
                json!({"message": "limit", "type": "usage_limit_reached", "plan_type": "pro", "resets_at": 1_900_000_000}),
            )],
        ),
        turn("error-500", twice(|| refuse(500, json!({"message": "boom"})))).provider(ONE_RETRY),
        turn("error-500-retries-of-the-request", twice(|| refuse(500, json!({"message": "boom"}))))
            .provider("request_max_retries = 1"),
        turn("error-500-then-success", [refuse(500, json!({"message": "boom"})), say("Done.").into()])
            .provider("request_max_retries = 2"),
        turn("error-503-text", twice(|| refuse_text(503, "overloaded"))).provider(ONE_RETRY),
        turn("error-503-then-success", [refuse_text(503, "overloaded"), say("Done.").into()]).provider(ONE_RETRY),
        turn("stream-cut", vec![say("Half").cut(), say("Half").cut()]).provider(ONE_RETRY),
        turn("stream-cut-then-success", vec![nothing().cut(), say("Whole.").into()]).provider(ONE_RETRY),
        turn(
            "stream-not-completed",
            vec![say("Half").open().into(), say("Half").open().into()] as Vec<demo::scripted::Step>,
        )
        .provider(ONE_RETRY),
        turn("stream-idle", vec![nothing().stall()]).provider("stream_idle_timeout_ms = 400"),
        turn(
            "response-failed",
            [nothing().failed("server_error", "the model broke"), nothing().failed("server_error", "again")],
        )
        .provider(ONE_RETRY),
        turn("response-failed-context", [nothing().failed("context_length_exceeded", "too long")]),
        turn("response-failed-quota", [nothing().failed("insufficient_quota", "no money")]),
        turn(
            "response-failed-rate-limit",
            [nothing().failed("rate_limit_exceeded", "Rate limit reached. Please try again in 0.2s."), say("Done.")],
        )
        .provider(ONE_RETRY),
        turn("response-incomplete", [say("Half").incomplete("max_output_tokens")]),
        turn("response-incomplete-filter", [say("Half").incomplete("content_filter")]),
        turn(
            "error-after-a-command",
            [run("echo hi > made.txt").into(), refuse(400, error("bad thing"))] as [demo::scripted::Step; 2],
        ),
        turn("key-variable-missing", UNASKED).provider("env_key = \"NO_SUCH_KEY\""),
        turn("key-variable-set", [say("Hello.")]).provider("env_key = \"SUCH_KEY\"").env("SUCH_KEY", "k"),
    ]
}
