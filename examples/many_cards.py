"""Many agents' cards, fetched by a Dask cluster: ``python examples/many_cards.py [SCHEDULER]``.

Without an address it starts a cluster of two processes on this machine; with that of a scheduler
(``tcp://scheduler.example:8786``) the same code runs there, where the workers have to have a2a-discovery installed. The
cards are those of sample servers on loopback, which it starts itself: put your own list in place of ``urls``.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from distributed import Client, LocalCluster

from a2a_discovery import Catalog, CatalogEntry, CatalogFailure, fetch_card

CARD = json.loads((Path(__file__).parent.parent / "tests" / "cases" / "bench_card.json").read_bytes())
TAGS = ["planning", "translation", "billing", "search"]
AGENTS = 40


def card(number: int) -> dict[str, object]:
    """The card of one sample agent."""
    tag = TAGS[number % len(TAGS)]
    skill = {"id": tag, "name": tag.capitalize(), "description": f"Does {tag}.", "tags": [tag]}
    return {**CARD, "name": f"agent {number}", "skills": [skill]}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        number = int(self.path.split("/")[1])
        # One agent in twenty has a card that is not valid.
        body = b"{}" if number % 20 == 19 else json.dumps(card(number)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Nothing: the requests are of no interest."""


@contextmanager
def sample_servers() -> Iterator[list[str]]:
    """The URLs of the sample agents, while they are served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield [f"http://127.0.0.1:{server.server_port}/{number}" for number in range(AGENTS)]
        server.shutdown()


def read(urls: list[str], client: Client) -> Catalog:
    """The cards of all ``urls``: one task for each, wherever the cluster has room; no bad card spoils the rest."""
    futures = client.map(fetch_card, urls, timeout=10, pure=False)
    results: list[CatalogEntry | CatalogFailure] = client.gather(futures)
    return Catalog.of(results)


def main() -> None:
    """Fetch the cards, and print what was found."""
    with sample_servers() as urls:
        if len(sys.argv) > 1:
            with Client(sys.argv[1]) as client:
                catalog = read(urls, client)
        else:
            with (
                LocalCluster(n_workers=2, threads_per_worker=4, dashboard_address=None) as cluster,
                Client(cluster) as client,
            ):
                catalog = read(urls, client)
    print(f"{len(catalog)} of {len(urls)} cards are valid")
    for failure in catalog.failures:
        print(f"  not {failure.reference}: {type(failure.error).__name__}")
    for tag in TAGS:
        matches = catalog.find(tags=[tag])
        print(f"{tag}: {len(matches)} agents, the first is {matches[0].entry.card.name}")


if __name__ == "__main__":
    main()
