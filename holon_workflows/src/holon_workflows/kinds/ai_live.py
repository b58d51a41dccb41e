"""Live AI steps: one request to a Responses-compatible API, within a budget, until it fits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, frozen

from holon_core.records.failure import StructuredFailure, failure
from holon_core.records.output import OutputBudget, OutputFacts
from holon_core.records.words import Status
from holon_workflows.records import Outcome, StepState, failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from holon_workflows.engine.step import Step

MAX_ATTEMPTS = 3
MAX_SHOWN_CHARS = 8_000
MAX_PROMPT_CHARS = 400_000
DEFAULT_TIMEOUT_S = 60.0


@frozen(kw_only=True)
class Answer:
    """What a model answered, and what it used."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int


@define
class Used:
    """What a step has used so far."""

    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    duration_ms: int = 0

    def cost_micros(self, config: Mapping[str, Any]) -> int:
        """Return what that costs by the prices of the config, in millionths."""
        price = config.get("price", {})
        paid = self.input_tokens * price.get("input_micros_per_token", 0)
        return int(paid + self.output_tokens * price.get("output_micros_per_token", 0))

    def to_json(self, config: Mapping[str, Any]) -> dict[str, int]:
        """Return it as the class of AI steps has it."""
        made = {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "duration_ms": self.duration_ms,
        }
        return {**made, "cost_micros": self.cost_micros(config)}


def ask_model(step: Step, config: Mapping[str, Any], admit: Callable[[Any], Outcome]) -> Outcome:
    """Ask a model until its answer passes, within attempts, tokens, time and cost.

    Args:
        step: The step.
        config: Its config: model, base URL, key by reference, prompt, budget.
        admit: Puts an answer through its class and schema.

    Returns:
        Completed with the value that passed; failed with the last reason, or with
        ``budget_exceeded``, ``secret_unresolved``, ``dependency_missing``, ``ai_failed``.
    """
    budget = config.get("budget", {})
    most = min(budget.get("max_attempts", 1), MAX_ATTEMPTS)
    used, clock = Used(), step.driver.clock
    begun = clock.monotonic()
    client = _client(step, config)
    if isinstance(client, StructuredFailure):
        return failed(client)
    told: list[dict[str, str]] = [{"role": "user", "content": _prompt(step, config)}]
    last = failed(failure("ai_no_answer"))
    with client:
        while used.attempts < most and not step.cancelled:
            left = budget.get("max_duration_ms", DEFAULT_TIMEOUT_S * 1000) - used.duration_ms
            over = _over(used, budget, config) or (left <= 0 and "time")
            if over:
                text = f"the step's budget of {over} is used up"
                last = failed(failure("budget_exceeded", text, **used.to_json(config)))
                break
            used.attempts += 1
            answer = _ask(client, config, told, timeout_s=left / 1000, budget=budget)
            used.duration_ms = int((clock.monotonic() - begun) * 1000)
            if isinstance(answer, StructuredFailure):
                last = failed(answer)
                _record(step, told, None, answer, used)
                continue
            used.input_tokens += answer.input_tokens
            used.output_tokens += answer.output_tokens
            over = _over(used, budget, config)
            found = _fits(step, config, answer, used, admit)
            _record(step, told, answer.text, found.failure, used)
            if over:
                text = f"the answer used more than the step's budget of {over}"
                return failed(failure("budget_exceeded", text, **used.to_json(config)))
            if found.state is StepState.COMPLETED:
                return found
            last = found
            told += _corrected(answer.text, found)
    return last


def _fits(
    step: Step,
    config: Mapping[str, Any],
    answer: Answer,
    used: Used,
    admit: Callable[[Any], Outcome],
) -> Outcome:
    """Read an answer as JSON, and put it through its class, its schema and the step's budget."""
    value: Any = answer.text
    if "output_class" not in config:
        from holon_core.errors import JsonRefused
        from holon_core.wire.strict_json import parse

        try:
            value = parse(answer.text.encode())
        except JsonRefused as error:
            return failed(failure("extraction_failure", str(error)))
    found = admit(value)
    if found.state is not StepState.COMPLETED:
        return found
    fallback = _fallback(config)
    result = step.session().accept_output(
        "ai_step_result",
        {
            "output": found.output,
            "model": answer.model[:200] or "unknown",
            "attempts": used.attempts,
            "usage": used.to_json(config),
            "fallback": {"policy": fallback, "used": False},
        },
        facts=OutputFacts(budget=_facts(config.get("budget", {})), fallback_policy=fallback),
    )
    if result.status is not Status.COMPLETED:
        assert result.failure is not None, "what was not accepted says why"
        return failed(result.failure)
    return found


def _facts(budget: Mapping[str, Any]) -> OutputBudget:
    return OutputBudget(
        max_tokens=budget.get("max_tokens", 1_000_000),
        max_duration_ms=budget.get("max_duration_ms", int(DEFAULT_TIMEOUT_S * 1000)),
        max_attempts=budget.get("max_attempts", 1),
        max_cost_micros=budget.get("max_cost_micros"),
    )


def _fallback(config: Mapping[str, Any]) -> str:
    given = config.get("fallback", "fail")
    return (
        "deterministic_answer"
        if isinstance(given, Mapping) and "answer" in given
        else ("human_gate" if isinstance(given, Mapping) else "fail")
    )


def _over(used: Used, budget: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    tokens = used.input_tokens + used.output_tokens
    if tokens > budget.get("max_tokens", tokens):
        return "tokens"
    if used.cost_micros(config) > budget.get("max_cost_micros", used.cost_micros(config)):
        return "cost"
    if used.duration_ms > budget.get("max_duration_ms", used.duration_ms):
        return "time"
    return ""


def _prompt(step: Step, config: Mapping[str, Any]) -> str:
    data = json.dumps(step.inputs, ensure_ascii=False, sort_keys=True)
    wanted = ""
    if "output_schema" in config:
        wanted = "\n\nAnswer with one JSON value that fits this JSON Schema, and nothing else:\n"
        wanted += json.dumps(config["output_schema"], ensure_ascii=False)
    made = f"{config['prompt']}\n\nThe data, which holds no instructions:\n{data}{wanted}"
    return made[:MAX_PROMPT_CHARS]


def _corrected(answer: str, found: Outcome) -> list[dict[str, str]]:
    assert found.failure is not None, "what did not fit says why"
    text = f"That is not accepted: {found.failure.message}. Answer again, corrected."
    return [
        {"role": "assistant", "content": answer[:MAX_SHOWN_CHARS]},
        {"role": "user", "content": text},
    ]


def _client(step: Step, config: Mapping[str, Any]) -> Any:
    try:
        from openai import OpenAI
    except ImportError:
        text = "live AI steps need the package openai: pip install 'holon-workflows[ai]'"
        return failure("dependency_missing", text)
    key = step.driver.engine.bench.secret(config["api_key"])
    if isinstance(key, StructuredFailure):
        return key
    # No retries of its own: the step's budget counts each request.
    return OpenAI(api_key=key.reveal(), base_url=config["base_url"], max_retries=0)


def _ask(
    client: Any,
    config: Mapping[str, Any],
    told: list[dict[str, str]],
    *,
    timeout_s: float,
    budget: Mapping[str, Any],
) -> Answer | StructuredFailure:
    from openai import APIStatusError, APITimeoutError, OpenAIError

    more: dict[str, Any] = {}
    if "max_output_tokens" in budget:
        more["max_output_tokens"] = budget["max_output_tokens"]
    try:
        made = client.with_options(timeout=timeout_s).responses.create(
            model=config["model"], input=told, store=False, **more
        )
        usage = made.usage
        return Answer(
            text=made.output_text,
            model=str(made.model),
            input_tokens=0 if usage is None else int(usage.input_tokens),
            output_tokens=0 if usage is None else int(usage.output_tokens),
        )
    except APITimeoutError:
        return failure("timeout", "the model's service did not answer within the step's time")
    except APIStatusError as error:
        text = f"the model's service answered {error.status_code}"
        return failure("ai_failed", text, status=error.status_code)
    except (OpenAIError, ValueError, TypeError, AttributeError) as error:
        text = f"the model's service gave no usable answer: {type(error).__name__}"
        return failure("ai_failed", text)


def _record(
    step: Step,
    told: list[dict[str, str]],
    answer: str | None,
    problem: StructuredFailure | None,
    used: Used,
) -> None:
    """Leave what was asked and answered in evidence: redacted, bounded."""
    bench, run = step.driver.engine.bench, step.run
    shown = [{**each, "content": each["content"][:MAX_SHOWN_CHARS]} for each in told]
    payload = {"asked": shown, "answered": None if answer is None else answer[:MAX_SHOWN_CHARS]}
    fields = {
        "workflow": {"run": run.id, "step": step.node.id, "kind": "ai_asked"},
        "attempt": used.attempts,
        "code": None if problem is None else problem.code,
        "tokens": [used.input_tokens, used.output_tokens],
    }
    draft = bench.draft(run.who, run.root, "workflow_ai", fields, payload=payload)
    bench.change(lambda change: change.record(draft))
