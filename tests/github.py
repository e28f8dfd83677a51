"""A stand-in for `gh api`: comments are in a file, and jq selects from them.

The variables GH_COMMENTS and GH_LOGIN name the file and the user of the token; without a user, the
token is that of a job, which cannot ask for its user.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FILE = Path(os.environ["GH_COMMENTS"])


def main(api: str, *arguments: str) -> None:
    """Answer `gh api [--method METHOD] [--paginate] PLACE [--jq FILTER] [--field body=@FILE]`."""
    assert api == "api"
    words = iter(word for word in arguments if word != "--paginate")
    options = dict[str, str]()
    for word in words:
        name, value = (word, next(words)) if word.startswith("--") else ("place", word)
        options[name] = value
    place = options["place"]
    comments: list[dict[str, Any]] = json.loads(FILE.read_text()) if FILE.exists() else []
    login = os.environ.get("GH_LOGIN", "")
    if place == "user":
        sys.stdout.write(login or '{"message": "not accessible"}')
        sys.exit(not login)
    if "--jq" in options:
        listed = [entry for entry in comments if entry["place"] == place]
        command = ["jq", "--raw-output", options["--jq"]]
        subprocess.run(command, input=json.dumps(listed), text=True, check=True)  # noqa: S603
        return
    name, _, path = options["--field"].partition("=@")
    assert name == "body"
    body = Path(path).read_text()
    if options["--method"] == "PATCH":
        [known] = [
            entry for entry in comments if place == f"repos/o/r/issues/comments/{entry['id']}"
        ]
        known["body"] = body
    else:
        user = {"type": "User" if login else "Bot", "login": login or "github-actions[bot]"}
        comments.append({"id": len(comments) + 1, "place": place, "user": user, "body": body})
    FILE.write_text(json.dumps(comments))


main(*sys.argv[1:])
