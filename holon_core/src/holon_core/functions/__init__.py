"""Host functions as tools: options by decorator, schemas and conversions from signatures."""
