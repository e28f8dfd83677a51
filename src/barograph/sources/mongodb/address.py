"""The address of a MongoDB, which may hold a password and must never show it."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote_plus

from barograph.errors import ConfigError

ENVIRONMENT = "BAROGRAPH_MONGODB_URI"
SCHEMES = ("mongodb://", "mongodb+srv://")
HIDDEN = "***"
HOST = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\])(?::\d+)?")
SECRET_OPTIONS = ("tlscertificatekeyfilepassword", "authmechanismproperties", "proxypassword")


class Address:
    """Where a MongoDB is and how to be let in; shows hosts and nothing else of itself.

    Args:
        uri: `mongodb://...` or `mongodb+srv://...`; empty for the one in the environment.
    """

    def __init__(self, uri: str) -> None:
        origin = "location" if uri else ENVIRONMENT
        uri = uri or os.environ.get(ENVIRONMENT, "")
        if not uri:
            raise ConfigError(f"location: empty, and {ENVIRONMENT} is not set either")
        scheme = next((one for one in SCHEMES if uri.startswith(one)), None)
        if scheme is None:
            raise ConfigError(f"{origin}: not an address that starts with {' or '.join(SCHEMES)}")
        self._uri = uri
        # Up to the last @, for an unescaped / or @ in a password must not be shown as a host.
        credentials, _, self._rest = uri.removeprefix(scheme).rpartition("@")
        self._secrets = _secrets(credentials, self._rest)
        hosts = re.split("[/?]", self._rest)[0]
        sound = all(HOST.fullmatch(host) for host in hosts.split(","))
        self.name = f"{scheme}{hosts if sound else HIDDEN}"

    @property
    def database(self) -> str:
        """The database that the address names, or nothing."""
        path = self._rest.partition("?")[0].partition("/")[2]
        return path if re.fullmatch(r"[\w-]+", path) else ""

    def reveal(self) -> str:
        """The whole address, for the client alone."""
        return self._uri

    def redact(self, text: str) -> str:
        """Hide in a message whatever is secret of this address."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return re.sub(r"//[^/\s]*@", f"//{HIDDEN}@", text)

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    def __reduce__(self) -> str:
        raise TypeError("an address may hold a password, and is not written anywhere")


def _secrets(credentials: str, rest: str) -> list[str]:
    """All texts that must not be shown, escaped and not, the longest first."""
    user, _, password = credentials.partition(":")
    found = [credentials, user, password]
    for option in re.split("[&;]", rest.partition("?")[2]):
        name, _, value = option.partition("=")
        if name.lower() in SECRET_OPTIONS:
            found += [value, *(pair.partition(":")[2] for pair in value.split(","))]
    texts = {text for one in found for text in (one, unquote_plus(one)) if text}
    return sorted(texts, key=len, reverse=True)
