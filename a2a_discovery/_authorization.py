"""What proves to an agent who calls: headers, query and certificate of one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import httpx

from a2a_discovery._grants import Grant
from a2a_discovery._requirements import Proof
from a2a_discovery.errors import A2AError
from a2a_discovery.security import ClientCertificate


@dataclass(frozen=True, slots=True)
class Authorization:
    """What goes along with one call.

    Attributes:
        headers: header fields or gRPC metadata.
        query: what stands behind the ``?`` of the URL, encoded; empty when there is nothing.
        certificate: what the connection presents.
        tokens: the tokens among it that can be renewed.
    """

    headers: Mapping[str, str] = field(repr=False)
    query: str = field(repr=False)
    certificate: ClientCertificate | None
    tokens: Mapping[Grant, str] = field(repr=False)

    @classmethod
    def of(cls, proofs: Iterable[Proof], tokens: Mapping[Grant, str]) -> Authorization:
        """What ``proofs`` come to, once each grant among them has its token."""
        headers: dict[str, str] = {}
        query, cookies = [], []
        certificate = None
        for proof in proofs:
            match proof.value:
                case ClientCertificate():
                    certificate = proof.value
                case Grant():
                    headers[proof.name] = f"Bearer {tokens[proof.value]}"
                case str() if proof.place == "query":
                    query.append((proof.name, proof.value))
                case str() if proof.place == "cookie":
                    cookies.append(f"{proof.name}={proof.value}")
                case str():
                    headers[proof.name] = proof.value
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        return cls(headers, urlencode(query), certificate, tokens)

    def under(self, params: Mapping[str, str]) -> dict[str, str]:
        """``params`` with these headers, where the caller has not set a header itself."""
        named = {name.lower() for name in params}
        return {**{name: value for name, value in self.headers.items() if name.lower() not in named}, **params}


NOTHING: Final = Authorization({}, "", None, {})
"""What goes along with an anonymous call."""


class SecretUrl(httpx.URL):
    """A URL whose query holds a key: whoever logs it, as httpx does, logs it without."""

    @classmethod
    def of(cls, url: httpx.URL, query: str) -> SecretUrl:
        """``url`` with ``query``, encoded, behind the one that it may have."""
        return cls(url.copy_with(query=b"&".join(filter(None, [url.query, query.encode()]))))

    def __str__(self) -> str:
        return str(httpx.URL(self).copy_with(query=None))

    def __repr__(self) -> str:
        return f"SecretUrl({str(self)!r})"


def is_unauthenticated(exc: Exception) -> bool:
    """Whether the agent did not take who called for authenticated (RFC 9110 §15.5.2)."""
    return isinstance(exc, A2AError) and (exc.http_status == 401 or exc.grpc_status == "UNAUTHENTICATED")
