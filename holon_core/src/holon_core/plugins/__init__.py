"""Hook specifications, and the manager that walks their implementations under guard."""
