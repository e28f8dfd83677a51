"""The server: the store, what people do with candidates, and the HTTP service."""
