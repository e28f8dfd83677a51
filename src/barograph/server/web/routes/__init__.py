"""The routes of the service, one module for each kind of resource, with their schemas."""
