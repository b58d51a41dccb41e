"""Reading what servers say of themselves, in every form in which it is handed over."""
