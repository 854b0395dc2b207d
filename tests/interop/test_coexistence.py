"""a2a-sdk and this library in one process, whichever is imported first."""

from __future__ import annotations

import subprocess
import sys

import pytest

OURS = "from a2a_discovery.types import AgentCard as Ours"
THEIRS = "from a2a.types.a2a_pb2 import AgentCard as Theirs"
USE = """
ours = Ours(name="x", capabilities={"streaming": True}, supported_interfaces=[{"url": "https://a.test", "tenant": "t"}])
theirs = Theirs.FromString(ours.SerializeToString())
assert theirs.capabilities.streaming and theirs.supported_interfaces[0].tenant == "t"
assert Ours.FromString(theirs.SerializeToString()) == ours
from a2a_discovery import protojson
from google.protobuf import json_format
assert json_format.MessageToDict(theirs) == protojson.to_dict(ours)
assert Ours.DESCRIPTOR.full_name != Theirs.DESCRIPTOR.full_name
print("both")
"""


@pytest.mark.parametrize("imports", [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours first", "theirs first"])
def test_both_in_one_process(imports: tuple[str, str]) -> None:
    script = "\n".join([*imports, USE])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("both", 0), done.stderr
