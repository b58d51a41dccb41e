"""The guarded call and what it stands on: policy, approvals, evidence, secrets, idempotency."""
