"""The memory over HTTP: a route for every operation, made from the table."""
