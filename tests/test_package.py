"""What the package promises as a whole: its names, its layers, and that it works without its extras."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.metadata import version

import pytest

import a2a_discovery

EXTRAS = ("betterproto2", "grpc", "joserfc", "rfc8785", "rich", "starlette", "typer", "uvicorn", "dateutil", "a2a")


def run(script: str) -> str:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", a2a_discovery.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(a2a_discovery, name)
    assert value.__doc__ or hasattr(value, "DESCRIPTOR")  # protobuf gives its classes no docstring
    assert name in dir(a2a_discovery)


def test_the_version() -> None:
    assert a2a_discovery.__version__ == version("a2a-discovery")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = a2a_discovery.nothing


def test_importing_loads_neither_httpx_nor_protobuf() -> None:
    loaded = run("import sys, a2a_discovery; print('httpx' in sys.modules, 'google.protobuf' in sys.modules)")
    assert loaded == "False False"


def test_reading_a_card_loads_no_http_client() -> None:
    loaded = run("""
        import sys, a2a_discovery
        a2a_discovery.inspect_card("{}")
        print("httpx" in sys.modules)
    """)
    assert loaded == "False"


def test_it_works_without_its_extras() -> None:
    out = run(f"""
        import sys
        for name in {EXTRAS!r}:
            sys.modules[name] = None
        import a2a_discovery
        for name in a2a_discovery.__all__:
            getattr(a2a_discovery, name)
        assert "GRPC" not in a2a_discovery.Support.default().bindings
        from a2a_discovery import dataclasses, types
        try:
            a2a_discovery.validate({{"name": "x"}})
        except TypeError as exc:
            assert "dict is neither" in str(exc)
        try:
            dataclasses.to_dataclass(types.AgentCard())
        except a2a_discovery.MissingExtraError as exc:
            print(exc)
    """)
    assert "pip install 'a2a-discovery[betterproto]'" in out
