"""The cards that the command line keeps from one command to the next."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.cache.common import named
from tests.commands import cli
from tests.servers import Exchange, Server

pytestmark = pytest.mark.usefixtures("small_trust")


class Agent:
    """Answers with the card ``name``."""

    def __init__(self, *fields: str) -> None:
        self.name = "first"
        self.fields = fields
        self.body: bytes | None = None

    def __call__(self, exchange: Exchange) -> None:
        exchange.answer(200, named(self.name) if self.body is None else self.body, *self.fields)


def name(url: str, *args: str) -> str:
    done = cli("card", "get", url, "-o", "json", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["name"]


def folder() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "a2a-discovery"


def test_a_card_is_kept_for_the_next_command() -> None:
    agent = Agent("Cache-Control: max-age=60", 'ETag: "a"')
    with Server(agent) as server:
        assert name(server.url) == "first"
        agent.name = "second"
        assert name(server.url) == "first"
        assert len(server.seen) == 1
        assert name(server.url, "--no-cache") == "second"
        assert "if-none-match" not in server.seen[-1].headers
        assert name(server.url) == "first"
        assert name(server.url, "--refresh") == "second"
        assert server.seen[-1].headers["if-none-match"] == '"a"'
        assert name(server.url) == "second"
        assert len(server.seen) == 3
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700


def test_without_a_cache_nothing_is_written() -> None:
    with Server(Agent()) as server:
        name(server.url, "--no-cache")
    assert not folder().exists()


def test_check_always_asks() -> None:
    agent = Agent("Cache-Control: max-age=60")
    with Server(agent) as server:
        name(server.url)
        agent.body = b"{}"
        assert cli("card", "check", server.url).returncode == 1
        assert len(server.seen) == 2


@pytest.mark.parametrize("body", [b"{}", b"[]", b"{", b'{"name": "x"}'])
def test_a_bad_card_is_bad_each_time(body: bytes) -> None:
    agent = Agent("Cache-Control: max-age=60")
    agent.body = body
    with Server(agent) as server:
        told = [cli("card", "get", server.url) for _ in range(2)]
        assert [done.returncode for done in told] == [1, 1]
        assert told[0].stderr == told[1].stderr == cli("card", "get", server.url, "--no-cache").stderr


def test_calls_use_the_same_cards() -> None:
    with Server(Agent("Cache-Control: max-age=60")) as server:
        name(server.url)
        for count, args in [(1, []), (2, ["--refresh"]), (3, ["--no-cache"]), (3, [])]:
            cli("task", "get", server.url, "t", "--timeout", "2", "--same-origin", *args)
            assert len(server.seen) == count


def test_catalogs_use_the_same_cards(tmp_path: Path) -> None:
    with Server(Agent("Cache-Control: max-age=60")) as server:
        listed = tmp_path / "list.json"
        listed.write_text(json.dumps([server.url]))
        name(server.url)
        for count, args in [(1, []), (2, ["--refresh"]), (3, ["--no-cache"]), (3, [])]:
            done = cli("catalog", "list", listed, "-o", "json", *args)
            assert done.returncode == 0 and len(json.loads(done.stdout)["entries"]) == 1
            assert len(server.seen) == count


@pytest.mark.parametrize("args", [["--bearer", "s3cret"], ["--api-key", "s3cret"]])
def test_what_a_credential_brings_is_not_written(args: list[str]) -> None:
    with Server(Agent("Cache-Control: max-age=60")) as server:
        for count in (1, 2):
            cli("task", "get", server.url, "t", "--timeout", "2", "--same-origin", *args)
            assert len(server.seen) == count
    assert all(b"s3cret" not in file.read_bytes() for file in folder().iterdir())


def test_a_folder_that_cannot_be() -> None:
    folder().parent.mkdir()
    folder().write_text("a file")
    with Server(Agent("Cache-Control: max-age=60")) as server:
        for count in (1, 2):
            assert name(server.url) == "first"
            assert len(server.seen) == count


def test_a_cache_that_is_broken_changes_nothing() -> None:
    folder().mkdir(parents=True)
    (folder() / "cards.db").write_bytes(b"no database " * 1000)
    with Server(Agent("Cache-Control: max-age=60")) as server:
        done = cli("card", "get", server.url, "-o", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["name"] == "first"
    assert "Traceback" not in done.stderr
