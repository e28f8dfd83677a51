"""Property tests draw the same cases every time, and take the time that compiling takes."""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")
