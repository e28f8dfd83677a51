"""HTTP by compiled code, whose own refusals look like every other error."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from barograph.service.errors import Refused
from barograph.service.shield import shielded


class Protocol(HttpToolsProtocol):
    """Uvicorn's; what is no HTTP never reaches the app, so it is answered here."""

    def send_400_response(self, msg: str) -> None:
        """Refuse, and hang up: where the next request would begin nobody knows."""
        answer = Refused(400, msg, headers={"Connection": "close"}).answer()
        headers = b"".join(b"%s: %s\r\n" % pair for pair in shielded(answer.raw_headers))
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%s\r\n%s" % (headers, answer.body))
        self.transport.close()
