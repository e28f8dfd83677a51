"""Pages: their policy, their static files, and errors as pages."""

import re

import pytest
from fastapi import Request
from fastapi.testclient import TestClient
from starlette.responses import Response

from barograph.server.store.tokens import Scope
from barograph.server.triage.effects import EdgeResult, Trace
from barograph.server.web.pages import rendering
from barograph.server.web.pages.rendering import page_router, render, sparkline
from barograph.server.web.responses import ApiError
from tests.service.conftest import app_of, make_token, refresh_loop
from tests.service.samples import POINTS, result, steps

SECRET = "what only the log may hold"


@pytest.fixture
def board(client: TestClient) -> TestClient:
    """A service with a page that fails as its address says."""
    routes = page_router()

    @routes.get("/failing/{status}")
    def get_failing(request: Request, status: int) -> Response:
        if status == 200:
            return render(request, "base.html")
        if status == 500:
            raise RuntimeError(SECRET)
        raise ApiError(status, "<script>no such thing</script>")

    app_of(client).router.routes.extend(routes.routes)
    return client


def test_results_that_hardly_differ_have_a_sparkline() -> None:
    before, after = ([EdgeResult(0, "", None, value)] for value in (0.0, 5e-324))
    assert sparkline(Trace(before, after)) == {"raw": "M0 56L240 4", "before": "", "after": ""}


def test_a_page_allows_no_inline_script_and_no_other_host(board: TestClient) -> None:
    page = board.get("/failing/200")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "style=" not in page.text
    assert "://" not in page.text


@pytest.mark.parametrize(
    ("query", "cookie", "html"),
    [
        ("", None, '<html lang="en">'),
        ("", "dark", '<html lang="en" data-theme="dark">'),
        ("?theme=light", "dark", '<html lang="en" data-theme="light">'),
        ("?theme=red", "dark", '<html lang="en" data-theme="dark">'),
        ("", "red", '<html lang="en">'),
    ],
)
def test_a_page_has_the_chosen_theme(
    board: TestClient, query: str, cookie: str | None, html: str
) -> None:
    headers = {} if cookie is None else {"cookie": f"theme={cookie}"}
    assert html in board.get(f"/failing/200{query}", headers=headers).text


@pytest.mark.parametrize("status", [403, 404, 422, 503])
def test_an_error_of_a_page_is_a_page_with_its_status(board: TestClient, status: int) -> None:
    page = board.get(f"/failing/{status}")
    assert page.status_code == status
    assert "&lt;script&gt;no such thing" in page.text


def test_an_unexpected_error_is_a_page_without_its_details(board: TestClient) -> None:
    page = board.get("/failing/500")
    assert (page.status_code, SECRET in page.text) == (500, False)
    assert "The service failed" in page.text


@pytest.mark.parametrize("status", [404, 500])
def test_scripts_that_ask_for_a_part_get_the_error_itself(board: TestClient, status: int) -> None:
    answer = board.get(f"/failing/{status}", headers={"sec-fetch-mode": "cors"})
    assert answer.status_code == answer.json()["error"]["status"] == status


@pytest.mark.parametrize(("path", "status"), [("/series/1", 404), ("/?since=soon", 422)])
def test_a_page_has_the_status_of_an_error(client: TestClient, path: str, status: int) -> None:
    assert client.get(path).status_code == status


def test_a_page_without_a_token_shows_nothing(board: TestClient) -> None:
    make_token(board, Scope.READ)
    page = board.get("/failing/200", follow_redirects=False)
    assert page.status_code in (303, 401)
    assert "Processed" not in page.text


def test_static_files_are_cached_for_ever_under_the_digest_of_all(client: TestClient) -> None:
    answer = client.get(rendering.asset_address("board.js"))
    assert answer.headers["cache-control"] == rendering.FOR_EVER
    assert answer.content == rendering.assets()["board.js"]
    assert client.get("/static/old/board.js").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", [name for name in rendering.assets() if name.endswith(".js")])
def test_a_script_holds_all_modules_that_it_imports_once(name: str) -> None:
    script = rendering.assets()[name].decode()
    assert not re.findall(r"^\s*(?:import\b.*|} from .*)", script, re.MULTILINE)
    parts = re.split(r"^const (\$\w+) = \(\(\) => {$", script, flags=re.MULTILINE)
    exported: dict[str, list[str]] = {}
    for module, body in zip(parts[1::2], parts[2::2], strict=True):
        assert module not in exported
        exported[module] = re.findall(r"return { (.*) };\n}\)\(\);", body)[0].split(", ")
        # A module comes after those that it imports from, and these export the names.
    for part in parts[::2]:
        for names, module in re.findall(r"^const {([^}]+)} = (\$\w+);$", part, re.MULTILINE):
            assert {n.split(":")[0].strip() for n in names.split(",") if n.strip()} <= {
                *exported[module]
            }


def test_an_unknown_static_file_is_not_found(client: TestClient) -> None:
    assert client.get("/static/x/..%2Fapp.py").status_code == 404
    assert client.get("/static/x/app.py").status_code == 404


def options(page: str) -> list[tuple[str, bool, str]]:
    """The value of each option of the menu of projects, whether it is chosen, and its text."""
    found = re.findall(r'<option value="([^"]*)"( selected)?>([^<]*)</option>', page)
    return [(value, bool(is_chosen), text) for value, is_chosen, text in found]


def test_a_project_without_a_name_can_be_chosen(client: TestClient) -> None:
    rows = [row | {"project": name} for name in ("", "db") for row in steps(f"of {name or 'none'}")]
    assert client.post(POINTS, json={"points": rows}).status_code == 200
    refresh_loop(client).run_once(clusters=False)
    every = ["of db", "of none"]
    for query, chosen, tests in (
        ("", None, every),
        ("?project=*&q=of", None, every),
        ("?project=", "", every[1:]),
        ("?project=db", "db", every[:1]),
    ):
        page = client.get(f"/series{query}").text
        assert options(page) == [
            ("*", False, "All projects"),
            ("", chosen == "", "No project"),
            ("db", chosen == "db", "db"),
        ]
        assert sorted(set(re.findall("<bdi>(of [a-z]+)</bdi>", page))) == tests
    for query, chosen in (("", ""), ("?project=", ""), ("?project=db", "db")):
        page = client.get(f"/commits{query}").text
        assert options(page) == [("", chosen == "", "No project"), ("db", chosen == "db", "db")]
        assert f'href="/commit?project={chosen}&amp;order=25"' in page


def test_further_pages_keep_the_project_without_a_name(client: TestClient) -> None:
    rows = [result(test=f"t{k}", project=name) for k in range(60) for name in ("", "db")]
    assert client.post(POINTS, json={"points": rows}).status_code == 200
    [following] = re.findall('href="([^"]*)" rel="next"', client.get("/series?project=").text)
    page = client.get(following.replace("&amp;", "&")).text
    assert len(re.findall('<td class="cut">', page)) == 10
