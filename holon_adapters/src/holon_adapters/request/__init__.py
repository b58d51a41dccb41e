"""Making the exact request of a call, without sending it."""
