"""The host of both loops: two tools, a profile with an output contract, and a person."""

from __future__ import annotations

import holon_core as holon

INSTRUCTIONS = "Settle the customer's case. Find your tools with search_tools. End with JSON."
CASE = "Order o1 came broken. The customer wants 5.00 back."


@holon.tool(effects={"none"})
def find_order(order_id: str) -> dict[str, str]:
    """Look an order of a customer up."""
    return {"order": order_id, "state": "delivered"}


@holon.tool(effects={"network_write"})
def refund(order_id: str, cents: int, note: str | None = None) -> str:
    """Refund money for an order to the customer."""
    return f"refunded {cents} for {order_id}"


SETTLEMENT = holon.OutputClass(
    id="shop.settlement",
    schema={
        "type": "object",
        "properties": {"refunded_cents": {"type": "integer"}, "reply": {"type": "string"}},
        "required": ["refunded_cents", "reply"],
        "additionalProperties": False,
    },
    producer="support_agent",
    consumers=("support_desk",),
)


def open_shop() -> holon.Runtime:
    """Open a runtime with the tools, the class of the answer, and the profile."""
    runtime = holon.Runtime.in_memory(app="shop", tools=[find_order, refund])
    runtime.agents.outputs.register(SETTLEMENT)
    profile = holon.AgentProfile(
        id="support", output_class=SETTLEMENT.id, guardrails=holon.Guardrails(max_calls=10)
    )
    runtime.agents.profiles.create(profile, by="operator", reason="first version")
    return runtime


def let_a_person_decide(
    runtime: holon.Runtime, session: holon.Session, message: holon.ToolMessage
) -> bool:
    """Approve and release what waits; in a real program a person does, later and elsewhere."""
    if message.held is None:
        return False
    print("a person approves", runtime.approvals.held_call(message.held).arguments)
    runtime.approvals.approve(message.held, by="boss", reason="broken on arrival")
    session.release(message.held)
    return True
