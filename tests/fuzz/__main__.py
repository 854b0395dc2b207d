"""Run each target for a while, one after the other, and print one line of each; ``make fuzz``."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from a2a_discovery import types
from tests.fuzz.targets import TARGETS
from tests.fuzz.texts import REPEAT

CORPUS = Path(__file__).parent / "corpus"
FINDINGS = Path(".cache/fuzz")
MAX_BYTES = 4096
MAX_FILES = 60
LIMITS = ["-timeout=10", "-rss_limit_mb=1024", f"-max_len={MAX_BYTES}"]


def words() -> Iterator[bytes]:
    """What the fuzzer should not have to find by itself: names of the schema, and the punctuation of each format."""
    for message in types.DESCRIPTOR.message_types_by_name.values():
        for field in message.fields:
            yield f'"{field.json_name}":'.encode()
            yield f'"{field.name}":'.encode()
    for enum in types.DESCRIPTOR.enum_types_by_name.values():
        yield from (f'"{value.name}"'.encode() for value in enum.values)
    for name in ("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "@type", "reason"):
        yield f'"{name}":'.encode()
    yield from (b"true", b"false", b"null", b"1e999", b"-0.0", b"{}", b"[]", b'""', b"\\ud800", b"\\u0022", b'"2.0"')
    for name in (
        "alg",
        "kid",
        "jku",
        "crit",
        "kty",
        "crv",
        "x",
        "y",
        "n",
        "e",
        "use",
        "keys",
        "access_token",
        "issuer",
    ):
        yield f'"{name}":'.encode()
    for name in ("token_type", "expires_in", "refresh_token", "token_endpoint", "device_code", "verification_uri"):
        yield f'"{name}":'.encode()
    yield from (b"data:", b"data: ", b"\r\n", b"\n\n", b":", b"\xef\xbb\xbf", b"\xe2\x80\xa8", REPEAT)
    yield from (b"https://", b"http://", b"grpc://", b"dns:///", b"[::1]", b"127.0.0.1", b"xn--", b"%2e", b"@", b":443")
    yield from (b"type.googleapis.com/google.rpc.ErrorInfo", b"type.googleapis.com/google.protobuf.Any")
    yield from (b"Mon, 30 Nov 2026 12:01:00 GMT", b"GET /tasks/", b"POST /message:send\n", b"a2a-protocol.org")


def dictionary() -> str:
    """The words in libFuzzer's notation."""
    quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in sorted(set(words())))
    return "".join(f'"{word}"\n' for word in quoted)


def run(target: str, seconds: int) -> bool:
    """Run one target; True when nothing was found."""
    listed, new = FINDINGS / "dictionary", FINDINGS / "corpus" / target
    new.mkdir(parents=True, exist_ok=True)
    listed.write_text(dictionary(), encoding="ascii")
    found = FINDINGS / f"{target}-"
    command = [sys.executable, "-m", "tests.fuzz.one", target, *LIMITS, f"-max_total_time={seconds}"]
    options = [f"-dict={listed}", f"-artifact_prefix={found}", "-print_final_stats=1", "-verbosity=1"]
    log = FINDINGS / f"{target}.log"
    with log.open("wb") as output:
        done = subprocess.run(
            [*command, *options, str(new), str(CORPUS / target)], stdout=output, stderr=subprocess.STDOUT, check=False
        )
    told = log.read_text(encoding="utf-8", errors="replace")
    executions = re.search(r"number_of_executed_units: *(\d+)", told)
    speed = re.search(r"average_exec_per_sec: *(\d+)", told)
    result = "nothing found" if done.returncode == 0 else f"FOUND something, see {log} and {found}*"
    print(
        f"{target:10} {executions[1] if executions else '?':>9} executions, {speed[1] if speed else '?'}/s, {result}",
        flush=True,
    )
    return done.returncode == 0


def keep(target: str) -> bool:
    """Replace the committed corpus by the fewest inputs that reach what it and the found ones reach, or some of them."""
    with tempfile.TemporaryDirectory() as folder:
        program, merged = Path(folder) / "program", Path(folder) / "merged"
        merged.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tests.fuzz.one {target} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        (FINDINGS / "corpus" / target).mkdir(parents=True, exist_ok=True)
        command = [program, "-set_cover_merge=1", f"-max_len={MAX_BYTES}", merged, FINDINGS / "corpus" / target]
        environment = os.environ | {"FUZZ_PROGRAM": str(program)}
        subprocess.run([*command, CORPUS / target], env=environment, stderr=subprocess.DEVNULL, check=True)
        files = sorted(merged.iterdir(), key=lambda file: (file.stat().st_size, file.name))
        kept = [files[len(files) * i // MAX_FILES] for i in range(MAX_FILES)] if len(files) > MAX_FILES else files
        shutil.rmtree(CORPUS / target)
        (CORPUS / target).mkdir()
        for file in kept:
            shutil.copy(file, CORPUS / target / file.name[:12])
    print(f"{target:10} {len(files):>9} inputs reach all, {len(kept)} are kept", flush=True)
    return True


def main() -> int:
    """Run the targets that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--keep", action="store_true", help="do not run: bring the committed corpus up to date")
    parser.add_argument("targets", nargs="*", metavar="target", help=", ".join(TARGETS))
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    targets = options.targets or TARGETS
    clean = [keep(target) if options.keep else run(target, options.seconds) for target in targets]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
