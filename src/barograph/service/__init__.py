"""The HTTP service: results come in, decisions go back, people give verdicts."""

from barograph.service.app import create_app
from barograph.service.behind import Behind
from barograph.service.looking import Looking
from barograph.service.models import Watch
from barograph.service.settings import Settings

__all__ = ["Behind", "Looking", "Settings", "Watch", "create_app"]
