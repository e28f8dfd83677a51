"""One thin module per stage of dvc.yaml, under the same name."""
