"""The file formats that Barograph reads: one module per format."""
