"""What becomes a message, media types that the card does not take, and the skill that no request names."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import BearerToken, CredentialStore, types as t
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery.errors import A2AError, ContentTypeNotSupportedError, TenantMismatchError
from tests.agent.common import BINDINGS, METHODS, Site, arrived, call, card, failure, interface, message, requests, site
from tests.security.common import bearer, requirement
from tests.servers import Server, World

pytestmark = pytest.mark.anyio

SENDS = ["SendMessage", "SendStreamingMessage"]
SKILL = "a-skill-that-only-this-client-knows-of"
IMAGE = t.Part(raw=b"x", media_type="image/png")


def with_skill(made: t.AgentCard) -> t.AgentCard:
    """``made``, which takes text/plain, with a skill that takes images and demands the token of the scheme "b"."""
    made.skills.add(id=SKILL, name="S", description="d", tags=["t"], input_modes=["image/*"])
    for name in ("a", "b"):
        made.security_schemes[name].CopyFrom(bearer())
    made.skills[-1].security_requirements.append(requirement({"b": ()}))
    return made


def credentials(found: Site) -> dict[str, Any]:
    """What an agent needs to send tokens to ``found``: the one of "a" unless a skill demands another."""
    store = CredentialStore({"a": BearerToken("usual"), "b": BearerToken("for-the-skill")})
    return {"credentials": store, "card_url": f"http://{found.url.removeprefix('http://')}"}


@pytest.fixture
def silent() -> Iterator[Server]:
    """A server that notices each connection."""
    with Server(lambda exchange: None, raw=True) as server:
        yield server


def at(silent: Server, binding: str) -> t.AgentCard:
    url = f"127.0.0.1:{silent.port}" if binding == "GRPC" else silent.url
    return with_skill(card(interface(binding, url, "billing")))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", SENDS)
async def test_parts_that_are_not_taken_are_refused_before_a_connection(
    world: World, binding: str, name: str, silent: Server
) -> None:
    async with world.agent(at(silent, binding)) as agent:
        error, events = await failure(agent, name, ["hi", IMAGE], check_parts=True)
        assert type(error) is ContentTypeNotSupportedError and error.local and events == []
        assert (error.code, error.reason) == (-32005, "CONTENT_TYPE_NOT_SUPPORTED")
        assert 'message.parts[1].mediaType: "image/png"' in error.message and '"text/plain"' in error.message
        assert [path for path, _ in error.field_violations] == ["message.parts[1].mediaType"]

        error, _ = await failure(agent, name, ["hi", IMAGE], check_parts=True, skill=SKILL)
        assert type(error) is ContentTypeNotSupportedError and SKILL in error.message and '"image/*"' in error.message
        assert [path for path, _ in error.field_violations] == ["message.parts[0].mediaType"]

        with pytest.raises(ValueError, match="no skill with the id 'other'"):
            await call(agent, name, "hi", check_parts=True, skill="other")
    assert not silent.connections


@pytest.mark.parametrize("binding", BINDINGS)
async def test_what_a_request_lacks_comes_before_what_it_holds(world: World, binding: str, silent: Server) -> None:
    bad = t.SendMessageRequest(tenant="other", message=t.Message(parts=[IMAGE]))
    async with world.agent(at(silent, binding)) as agent:
        error, _ = await failure(agent, "SendMessage", bad, check_parts=True)
        assert type(error) is TenantMismatchError
        bad.tenant = ""
        error, _ = await failure(agent, "SendMessage", bad, check_parts=True)
        assert type(error) is A2AError and error.code == -32602
        bad.message.role = t.Role.ROLE_USER
        error, _ = await failure(agent, "SendMessage", bad, check_parts=True)
        assert type(error) is ContentTypeNotSupportedError
    assert not silent.connections


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", SENDS)
async def test_what_is_taken_is_sent_and_so_is_what_is_not_looked_at(world: World, binding: str, name: str) -> None:
    with site(binding) as found:
        async with world.agent(with_skill(found.card()), **credentials(found)) as agent:
            await call(agent, name, "hi", check_parts=True)
            await call(agent, name, IMAGE, check_parts=True, skill=SKILL)
            await call(agent, name, IMAGE, check_parts=False)
            await call(agent, name, IMAGE)
        assert found.calls() == [name] * 4


@pytest.mark.parametrize("binding", BINDINGS)
async def test_operations_that_send_no_parts_do_not_mind_the_option(world: World, binding: str) -> None:
    with site(binding) as found:
        async with world.agent(found.card()) as agent:
            for name in METHODS:
                await call(agent, name, check_parts=True)
        assert found.calls() == list(METHODS)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_no_request_names_a_skill(world: World, binding: str) -> None:
    asked = requests() | {name: t.SendMessageRequest(message=message(metadata={"own": "data"})) for name in SENDS}
    with site(binding) as found:
        made = with_skill(found.card("billing"))
        made.skills[-1].input_modes[:] = ["text/plain"]
        async with world.agent(made, **credentials(found)) as agent:
            for name, request in asked.items():
                await call(agent, name, request, skill=SKILL, check_parts=True)
                assert found.params()["authorization"] == "Bearer for-the-skill"  # so the skill was looked at
        assert found.calls() == list(METHODS)
        for i, name in enumerate(METHODS):
            asked[name].tenant = "billing"
            assert arrived(found, i) == asked[name]
            assert SKILL.encode() not in raw(found.server.seen[i])


def raw(came: Any) -> bytes:
    """All of one request: its path or name, its headers or metadata, its body."""
    if isinstance(came, tuple):
        name, request, metadata = came
        return OPERATIONS[name].grpc_path.encode() + request.SerializeToString() + repr(metadata).encode()
    whole: bytes = came.head + came.body
    return whole


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("name", SENDS)
async def test_files_and_bytes_become_parts(world: World, binding: str, name: str, tmp_path: Path) -> None:
    page, archive, bare, empty = (tmp_path / x for x in ("page.html", "notes.txt.gz", "Makefile.xyzzy", "none.json"))
    page.write_text("<p>é</p>", encoding="utf-8")
    archive.write_bytes(gzip.compress(b"x", mtime=0))
    bare.write_bytes(b"\x00\xff")
    empty.touch()
    parts = [
        t.Part(text="see"),
        t.Part(raw="<p>é</p>".encode(), filename="page.html", media_type="text/html"),
        t.Part(raw=archive.read_bytes(), filename="notes.txt.gz", media_type="application/octet-stream"),
        t.Part(raw=b"\x00\xff", filename="Makefile.xyzzy", media_type="application/octet-stream"),
        t.Part(raw=b"", filename="none.json", media_type="application/json"),
        t.Part(raw=b"\xfe", media_type="application/octet-stream"),
        t.Part(url="https://h.test"),
    ]
    with site(binding) as found:
        async with world.agent(found.card()) as agent:
            await call(agent, name, ["see", page, archive, bare, empty, b"\xfe", parts[-1]])
            await call(agent, name, (page,))
            await call(agent, name, page)
            await call(agent, name, b"\xfe")
        sent = [arrived(found, i).message for i in range(4)]
    assert [list(m.parts) for m in sent] == [parts, [parts[1]], [parts[1]], [parts[5]]]
    assert all(m.role == t.Role.ROLE_USER and m.message_id for m in sent)


@pytest.mark.parametrize("name", SENDS)
async def test_a_files_media_type_is_checked(world: World, name: str, silent: Server, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("x")
    async with world.agent(at(silent, "JSONRPC")) as agent:
        error, _ = await failure(agent, name, tmp_path / "page.html", check_parts=True)
        assert type(error) is ContentTypeNotSupportedError and '"text/html"' in error.message
        error, _ = await failure(agent, name, b"x", check_parts=True)
        assert type(error) is ContentTypeNotSupportedError and '"application/octet-stream"' in error.message
    assert not silent.connections


@pytest.mark.parametrize("name", SENDS)
async def test_a_file_that_cannot_be_read_is_the_callers_own(
    world: World, name: str, silent: Server, tmp_path: Path
) -> None:
    async with world.agent(at(silent, "JSONRPC")) as agent:
        with pytest.raises(FileNotFoundError):
            await call(agent, name, tmp_path / "none")
        with pytest.raises(IsADirectoryError):
            await call(agent, name, ["x", tmp_path])
    assert not silent.connections


async def test_what_becomes_parts_is_no_request_of_another_operation(world: World, tmp_path: Path) -> None:
    async with world.agent(card(interface("JSONRPC", "http://127.0.0.1:1"))) as agent:
        for given in (tmp_path, b"x", [tmp_path]):
            with pytest.raises(TypeError):
                await agent.get_task(given)


class Noted(type(Path())):  # type: ignore[misc]
    """A path that notes in which thread its file is read."""

    def read_bytes(self) -> bytes:
        THREADS.append(threading.current_thread())
        read: bytes = super().read_bytes()
        return read


THREADS: list[threading.Thread] = []


@pytest.mark.parametrize("name", SENDS)
async def test_the_event_loop_does_not_wait_for_a_disk(world: World, name: str, tmp_path: Path) -> None:
    path = Noted(tmp_path / "a.txt")
    path.write_text("x")
    THREADS.clear()
    with site("JSONRPC") as found:
        async with world.agent(found.card()) as agent:
            await call(agent, name, path)
            await call(agent, name, ["x", path])
    here = threading.current_thread()
    assert [thread is here for thread in THREADS] == [world.name == "sync"] * 2
