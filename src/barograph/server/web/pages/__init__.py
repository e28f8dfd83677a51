"""The pages of the board, rendered on the server.

A page calls the functions that the routes of the API call, and renders a template. Scripts and
styles come from `assets`; none stands in a page, so that a strict policy holds.
"""
