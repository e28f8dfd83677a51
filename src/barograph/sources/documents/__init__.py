"""BSON as it lies in a file or comes from a server: whole documents, one behind the other."""
