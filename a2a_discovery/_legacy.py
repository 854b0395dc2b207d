"""The shapes of A2A 0.3 in a card: which old names were found, and where each moved."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from a2a_discovery.problems import Findings, element, entry, member, shorten

_SOURCE: Final = "A2A 0.3"

# Names at the top of a 0.3 card, and where each moved.
_MOVED: Final = {
    "url": 'the address moved: write it as "url" of an entry of "supportedInterfaces"',
    "preferredTransport": 'it moved: write it as "protocolBinding" of the first entry of "supportedInterfaces"',
    "additionalInterfaces": 'they moved: write them as further entries of "supportedInterfaces", "transport" as '
    '"protocolBinding"',
    "protocolVersion": 'it moved: write Major.Minor as "protocolVersion" of each entry of "supportedInterfaces"',
    "supportsAuthenticatedExtendedCard": 'it moved: write "capabilities": {"extendedAgentCard": true}',
    "security": 'it moved: write "securityRequirements": [{"schemes": {"…": {"list": []}}}]',
    "authentication": 'it is gone: write "securitySchemes" and "securityRequirements"',
}
_SCHEMES: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}


def note_legacy(card: Mapping[str, Any], findings: Findings) -> None:
    """Note every 0.3 shape in a decoded card. Errors are those that would be misread; the others are ignored."""
    _addresses(card, findings)
    _capabilities(card, findings)
    _schemes(card, findings)
    for path, requirements in requirement_lists(card):
        for i, requirement in findings.while_room("error", objects(requirements)):
            _requirement(requirement, element(path, i), findings)
    for i, skill in findings.while_room("warning", objects(get(card, "skills"))):
        if skill.get("security") is not None:
            message = f"this name of 0.3 is not read; {_MOVED['security']}"
            findings.warn(member(element("skills", i), "security"), "legacy", message, _SOURCE)


def get(holder: Mapping[str, Any], name: str) -> Any:
    """A member by its JSON name, or by its proto name."""
    value = holder.get(name)
    return value if value is not None else holder.get(_snake(name))


@cache
def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def objects(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The elements of a list that are objects, with their indices; nothing when it is no list."""
    if isinstance(value, list | tuple):
        yield from ((i, x) for i, x in enumerate(value) if isinstance(x, Mapping))


def entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The members of a map with string keys; nothing when it is none."""
    if isinstance(value, Mapping):
        yield from ((key, x) for key, x in value.items() if isinstance(key, str))


def requirement_lists(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where security requirements stand: at the card's top, and in each skill."""
    yield "securityRequirements", get(card, "securityRequirements")
    for i, skill in objects(get(card, "skills")):
        yield member(element("skills", i), "securityRequirements"), get(skill, "securityRequirements")


def _addresses(card: Mapping[str, Any], findings: Findings) -> None:
    interfaces = get(card, "supportedInterfaces")
    # Beside supportedInterfaces the old names are for old clients; alone they make it an old card.
    note = findings.warn if interfaces else findings.error
    for name, moved in _MOVED.items():
        if card.get(name) is not None:
            note(name, "legacy", f"this name of 0.3 is not read; {moved}", _SOURCE)
    if not interfaces and (new := _interfaces_of(card)):
        findings.amend("supportedInterfaces", "required", f"of this 0.3 card that is {_json(new, limit=1000)}")
    for i, interface in findings.while_room("error", objects(interfaces)):
        path = element("supportedInterfaces", i)
        if interface.get("transport") is None:
            continue
        if get(interface, "protocolBinding"):
            message = 'this name of 0.3 is not read; "protocolBinding" stands beside it and counts'
            findings.warn(member(path, "transport"), "legacy", message, _SOURCE)
        else:
            found_there = (
                f'"transport", the name of 0.3, stands in its place: rename it, {_json(interface["transport"])}'
            )
            findings.amend(member(path, "protocolBinding"), "required", found_there)


def _interfaces_of(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    entries = [(card.get("url"), card.get("preferredTransport") or "JSONRPC")]
    entries += [(x.get("url"), x.get("transport")) for _, x in objects(card.get("additionalInterfaces"))]
    return [{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"} for url, binding in entries if url]


def _capabilities(card: Mapping[str, Any], findings: Findings) -> None:
    capabilities = card.get("capabilities")
    if isinstance(capabilities, Mapping) and capabilities.get("stateTransitionHistory") is not None:
        message = "this flag of 0.3 is gone; remove it"
        findings.warn("capabilities.stateTransitionHistory", "legacy", message, _SOURCE)


def _schemes(card: Mapping[str, Any], findings: Findings) -> None:
    for name, scheme in findings.while_room("error", entries(get(card, "securitySchemes"))):
        key = get(scheme, "apiKeySecurityScheme") if isinstance(scheme, Mapping) else None
        if isinstance(key, Mapping) and key.get("in") is not None and not key.get("location"):
            where = f"{entry('securitySchemes', name)}.apiKeySecurityScheme.location"
            found_there = f'"in", the name of 0.3, stands in its place: rename it, {_json(key["in"])}'
            findings.amend(where, "required", found_there)
        kind = scheme.get("type") if isinstance(scheme, Mapping) else None
        if not isinstance(kind, str) or any(get(scheme, known) is not None for known in _SCHEMES.values()):
            continue
        path = entry("securitySchemes", name)
        instead = f"write {_json(_new_scheme(kind, scheme))}" if kind in _SCHEMES else "write one of the kinds of 1.0"
        message = f'this is a scheme of 0.3 (by its "type"), and would read as no scheme at all; {instead}'
        findings.drop_warning(path, "oneof")
        findings.error(path, "legacy", message, _SOURCE)


def _new_scheme(kind: str, scheme: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"in": "location"}
    return {_SCHEMES[kind]: {renamed.get(key, key): value for key, value in scheme.items() if key != "type"}}


def _requirement(requirement: Mapping[str, Any], path: str, findings: Findings) -> None:
    if not requirement or get(requirement, "schemes") is not None:
        return
    lists = {key: value for key, value in requirement.items() if isinstance(value, list | tuple)}
    if lists:
        new = {"schemes": {key: {"list": value} for key, value in lists.items()}}
        message = f"this is a requirement of 0.3, and would read as 'anonymous allowed'; write {_json(new)}"
        findings.error(path, "legacy", message, _SOURCE)
    elif any(value is not None for key, value in requirement.items() if key != "schemes"):
        message = (
            'nothing in this is known, so it reads as \'anonymous allowed\'; write {"schemes": {"…": {"list": []}}}'
        )
        findings.warn(path, "value", message, "§4.5.1")


def _json(value: Any, limit: int = 300) -> str:
    try:
        return shorten(json.dumps(value, ensure_ascii=False), limit)
    except (TypeError, ValueError, RecursionError):
        return "{…}"
