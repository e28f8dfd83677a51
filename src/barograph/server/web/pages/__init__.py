"""The pages of the board, rendered on the server.

The pages of one subject stand beside its routes, or here if they are long. Scripts and styles are
files, see `rendering`; none stands in a page, so that a strict policy holds.
"""
