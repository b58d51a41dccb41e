"""How a run goes: its state in the store, its steps, and what drives them."""
