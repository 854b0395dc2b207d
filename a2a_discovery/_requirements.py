"""From what a card demands (§7) to what one call sends; no I/O here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Final, Literal

from a2a_discovery._frozen import Picklable, frozen
from a2a_discovery._grants import Grant, GrantRefusedError, grant_of
from a2a_discovery._service_params import is_header_name
from a2a_discovery.errors import CredentialsRequiredError
from a2a_discovery.policy import Url
from a2a_discovery.security import (
    ApiKey,
    BasicCredentials,
    BearerToken,
    ClientCertificate,
    Credential,
    CredentialStore,
    HttpCredentials,
    OAuthClient,
)
from a2a_discovery.skills import skill_of
from a2a_discovery.types import AgentCard, APIKeySecurityScheme, SecurityRequirement, SecurityScheme

# A card and a skill may multiply into any number of alternatives.
_MAX_ALTERNATIVES: Final = 256
_AUTHORIZATION: Final = "Authorization"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_COOKIE_VALUE: Final = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")


@dataclass(frozen=True, slots=True)
class Unmet(Picklable):
    """An alternative of a card's requirements that cannot be met.

    Attributes:
        schemes: the names of the schemes that it demands together.
        missing: for each of these that is not met, the reason.
    """

    schemes: tuple[str, ...]
    missing: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", frozen(self.missing))


@dataclass(frozen=True, slots=True)
class Proof:
    """What one scheme adds to a call: ``value`` at ``name`` of ``place``; a ``Grant`` has to become a token first."""

    place: Literal["header", "query", "cookie", "certificate"]
    name: str
    value: str | Grant | ClientCertificate = field(repr=False)


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a call goes: ``url`` over ``binding``; ``given`` when through a client or channel that was passed in."""

    url: Url
    binding: str
    given: bool


class _UnmetError(Exception):
    """A scheme is not met; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What a card demands, and what the client has for it.

    Attributes:
        card: the card.
        store: the client's credentials.
        card_url: where the card came from, None when that is not known.
    """

    card: AgentCard
    store: CredentialStore
    card_url: Url | None

    def proofs(self, destination: Destination, skill: str | None, *, anonymous: bool = True) -> tuple[Proof, ...]:
        """What the first alternative that can be met adds to a call.

        Where the card states no requirement at all, the credentials for the first scheme that it declares, and for
        which there are some, go along all the same: a card of an older form states them elsewhere. Where a call must
        not be ``anonymous`` but the card's requirements would let it, each scheme that the card declares is one more
        alternative.

        Raises:
            CredentialsRequiredError: no alternative can be met.
            ValueError: the card has no such skill.
        """
        alternatives = list(islice(self._alternatives(skill), _MAX_ALTERNATIVES))
        unmet = []
        for schemes in (alternatives or self._offered()) if anonymous else self._identifying(alternatives):
            proofs, missing = self._meet(schemes, destination)
            if not missing:
                return proofs
            unmet.append(Unmet(tuple(schemes), missing))
        if anonymous and not alternatives:
            return ()
        raise CredentialsRequiredError(unmet)

    def _alternatives(self, skill: str | None) -> Iterator[dict[str, tuple[str, ...]]]:
        """Each alternative: scheme names with their scopes; those of the card and of the skill have to be met both."""
        sets: list[Sequence[SecurityRequirement]] = [self.card.security_requirements]
        if skill is not None:
            sets.append(skill_of(self.card, skill).security_requirements)
        for chosen in product(*(requirements for requirements in sets if requirements)):
            merged: dict[str, tuple[str, ...]] = {}
            for requirement in chosen:
                for name, scopes in requirement.schemes.items():
                    merged[name] = tuple(dict.fromkeys((*merged.get(name, ()), *scopes.list)))
            if chosen:
                yield merged

    def _offered(self) -> list[dict[str, tuple[str, ...]]]:
        return [{name: ()} for name in sorted(self.card.security_schemes) if self.store.of(name)]

    def _identifying(self, alternatives: list[dict[str, tuple[str, ...]]]) -> list[dict[str, tuple[str, ...]]]:
        named = [schemes for schemes in alternatives if schemes]
        if not alternatives or len(named) < len(alternatives):
            known = {tuple(schemes) for schemes in named}
            named += ({name: ()} for name in sorted(self.card.security_schemes) if (name,) not in known)
        return named[:_MAX_ALTERNATIVES]

    def _meet(
        self, schemes: Mapping[str, tuple[str, ...]], destination: Destination
    ) -> tuple[tuple[Proof, ...], dict[str, str]]:
        proofs: dict[tuple[str, str], Proof] = {}
        missing = {}
        for name, scopes in schemes.items():
            try:
                proof = self._prove(name, scopes, destination)
                if (proof.place, proof.name.lower()) in proofs:
                    raise _UnmetError(
                        f"another scheme of the same alternative needs the {proof.place} {proof.name} too"
                    )
                proofs[proof.place, proof.name.lower()] = proof
            except _UnmetError as exc:
                missing[name] = str(exc)
        return tuple(proofs.values()), missing

    def _prove(self, name: str, scopes: tuple[str, ...], destination: Destination) -> Proof:
        if name not in self.card.security_schemes:
            raise _UnmetError("the card does not declare this scheme")
        scheme = self.card.security_schemes[name]
        kind = scheme.WhichOneof("scheme")
        if kind is None:
            raise _UnmetError("the scheme is of a kind that this client does not know")
        entries = self.store.of(name)
        if not entries:
            raise _UnmetError("there is no credential for it")
        scoped = [e.credential for e in entries if e.may_go_to(destination.url, destination.binding, self.card_url)]
        if not scoped:
            raise _UnmetError(self._out_of_scope(destination.url, unscoped=any(e.origins is None for e in entries)))
        credential = next((c for c in scoped if fits(scheme, c)), None)
        match credential:
            case None:
                raise _UnmetError(f"it does not take a {type(scoped[0]).__name__}")
            case ApiKey():
                return _key(scheme.api_key_security_scheme, credential.value, destination.binding)
            case BearerToken():
                return _authorization("Bearer", credential.token)
            case BasicCredentials():
                return _authorization("Basic", credential.parameters)
            case HttpCredentials():
                return _authorization(scheme.http_auth_security_scheme.scheme, credential.parameters)
            case ClientCertificate():
                return _certificate(credential, destination)
        try:
            grant = grant_of(scheme, credential, scopes, self.card_url)
        except GrantRefusedError as exc:
            raise _UnmetError(str(exc)) from None
        return Proof("header", _AUTHORIZATION, grant)

    def _out_of_scope(self, target: Url, *, unscoped: bool) -> str:
        if unscoped and self.card_url is None:
            return "its credential names no origins, and it is not known where the card came from (card_url)"
        return f"its credential must not go to {target.without_query()}"


def fits(scheme: SecurityScheme, credential: Credential) -> bool:
    """Whether ``credential`` is of a kind that ``scheme`` takes."""
    match scheme.WhichOneof("scheme"):
        case "api_key_security_scheme":
            return isinstance(credential, ApiKey)
        case "http_auth_security_scheme":
            named = {"basic": BasicCredentials, "bearer": BearerToken}
            return isinstance(credential, named.get(scheme.http_auth_security_scheme.scheme.lower(), HttpCredentials))
        case "oauth2_security_scheme" | "open_id_connect_security_scheme":
            return isinstance(credential, (OAuthClient, BearerToken))
        case "mtls_security_scheme":
            return isinstance(credential, ClientCertificate)
    return False


def _key(scheme: APIKeySecurityScheme, key: str, binding: str) -> Proof:
    name = scheme.name
    match scheme.location.lower():
        case "header":
            if not is_header_name(name, binding):
                raise _UnmetError("the card names a header for it that a client cannot set")
            return Proof("header", name, key)
        case "query":
            if binding == "GRPC":
                raise _UnmetError("its key belongs into the query of a URL, which gRPC has not")
            return Proof("query", name, key)
        case "cookie":
            if not _TOKEN.fullmatch(name) or not _COOKIE_VALUE.fullmatch(key):
                raise _UnmetError("its name or the key cannot stand in a cookie (RFC 6265 §4.1.1)")
            return Proof("cookie", name, key)
    raise _UnmetError("the card does not say header, query or cookie as the place of its key")


def _authorization(scheme: str, parameters: str) -> Proof:
    if not _TOKEN.fullmatch(scheme):
        raise _UnmetError("the card names no HTTP authentication scheme for it")
    return Proof("header", _AUTHORIZATION, f"{scheme} {parameters}")


def _certificate(certificate: ClientCertificate, destination: Destination) -> Proof:
    if destination.url.scheme != "https":
        raise _UnmetError("the interface has no TLS, in which a certificate would be shown")
    if destination.given and certificate.cert_file is not None:
        raise _UnmetError("a client or channel that was passed in presents its own certificate, not this one")
    if not destination.given and certificate.cert_file is None:
        raise _UnmetError("its certificate names no file")
    if destination.binding == "GRPC" and certificate.password is not None:
        raise _UnmetError("gRPC takes a key without a password only")
    return Proof("certificate", "", certificate)
