"""What goes over the wire, as the OpenAPI text describes it: one file for each noun."""
