"""Warnings about a card that is well-formed, but holds what no client can use, or what its author did not mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from a2a_discovery._diagnosis import describe
from a2a_discovery._legacy import entries, get, objects, requirement_lists
from a2a_discovery._media_types import is_media_range
from a2a_discovery.interfaces import KNOWN_BINDINGS, major_minor, similar_binding
from a2a_discovery.policy import UrlPolicy, UrlRefusedError, parse_url
from a2a_discovery.problems import Findings, element, entry, member

_USUAL: Final = {
    "text": "text/plain",
    "json": "application/json",
    "data": "application/json",
    "html": "text/html",
    "markdown": "text/markdown",
    "file": "application/octet-stream",
    "image": "image/png",
    "audio": "audio/mpeg",
    "video": "video/mp4",
    "pdf": "application/pdf",
}
_SECURITY_URLS: Final = {
    "openIdConnectSecurityScheme": ("openIdConnectUrl",),
    "oauth2SecurityScheme": ("oauth2MetadataUrl",),
}
_FLOW_URLS: Final = ("authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl")


def note_advice(card: Mapping[str, Any], findings: Findings, policy: UrlPolicy) -> None:
    """Note what a reader of a decoded card should be told, without calling the card invalid."""
    for i, interface in findings.while_room("warning", objects(get(card, "supportedInterfaces"))):
        _interface(interface, element("supportedInterfaces", i), findings, policy)
    for path, modes in _mode_lists(card):
        for i, mode in findings.while_room("warning", enumerate(modes if isinstance(modes, list | tuple) else ())):
            _mode(mode, element(path, i), findings)
    for path, url in findings.while_room("warning", _links(card)):
        _link(url, path, findings, policy)
    _references(card, findings)
    for name, scheme in entries(get(card, "securitySchemes")):
        if isinstance(scheme, Mapping):
            _scheme(scheme, entry("securitySchemes", name), findings)
    _skill_ids(card, findings)


def _interface(interface: Mapping[str, Any], path: str, findings: Findings, policy: UrlPolicy) -> None:
    binding, url = get(interface, "protocolBinding"), interface.get("url")
    version = get(interface, "protocolVersion")
    if isinstance(binding, str) and binding not in KNOWN_BINDINGS and (meant := similar_binding(binding)):
        message = f'bindings are compared letter by letter, so no client takes this for {meant}; write "{meant}"'
        findings.warn(member(path, "protocolBinding"), "value", message, "§5.8")
    if isinstance(version, str) and version and version != (plain := major_minor(version)):
        where = member(path, "protocolVersion")
        if plain:
            message = f'a card should name Major.Minor only; "{plain}" is what counts'
        else:
            message = f'{describe(version)} is not Major.Minor, so no client can tell whether it speaks it; write "1.0"'
        findings.warn(where, "version", message, "§3.6")
    if isinstance(binding, str) and isinstance(url, str) and url:
        try:
            remark = policy.check_address(binding, url)
        except UrlRefusedError as exc:
            remark = f"no client should call this: {exc}"
        if remark:
            findings.warn(member(path, "url"), "url", remark, "§4.4.6")


def _mode_lists(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("defaultInputModes", "defaultOutputModes"):
        yield name, get(card, name)
    for i, skill in objects(get(card, "skills")):
        for name in ("inputModes", "outputModes"):
            yield member(element("skills", i), name), get(skill, name)


def _mode(mode: Any, path: str, findings: Findings) -> None:
    if isinstance(mode, str) and not is_media_range(mode):
        instead = _USUAL.get(mode.lower(), "type/subtype")
        message = f'{describe(mode)} is not a media type, so no part can match it; write "{instead}"'
        findings.warn(path, "value", message, "RFC 6838 §4.2")


def _links(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("documentationUrl", "iconUrl"):
        yield name, get(card, name)
    provider = card.get("provider")
    if isinstance(provider, Mapping):
        yield "provider.url", provider.get("url")
    for name, scheme in entries(get(card, "securitySchemes")):
        yield from _security_links(scheme, entry("securitySchemes", name))


def _security_links(scheme: Any, path: str) -> Iterator[tuple[str, Any]]:
    for kind, names in _SECURITY_URLS.items():
        inner = get(scheme, kind) if isinstance(scheme, Mapping) else None
        if not isinstance(inner, Mapping):
            continue
        for name in names:
            yield f"{path}.{kind}.{name}", get(inner, name)
        for flow_name, flow in entries(inner.get("flows")):
            for name in _FLOW_URLS if isinstance(flow, Mapping) else ():
                yield f"{path}.{kind}.flows.{flow_name}.{name}", get(flow, name)


def _link(url: Any, path: str, findings: Findings, policy: UrlPolicy) -> None:
    if not isinstance(url, str) or not url:
        return
    try:
        parsed = parse_url(url)
        if path.startswith("securitySchemes"):
            policy.check(parsed)
    except UrlRefusedError as exc:
        findings.warn(path, "url", f"no client should follow this: {exc}", "§4.4")


def _references(card: Mapping[str, Any], findings: Findings) -> None:
    declared = {name for name, _ in entries(get(card, "securitySchemes"))}
    for path, requirements in requirement_lists(card):
        for i, requirement in findings.while_room("warning", objects(requirements)):
            for name, _ in entries(requirement.get("schemes")):
                if name not in declared:
                    where = entry(member(element(path, i), "schemes"), name)
                    message = (
                        'no scheme of this name is declared, so this can never be met; declare it in "securitySchemes"'
                    )
                    findings.warn(where, "reference", message, "§4.5.1")


def _scheme(scheme: Mapping[str, Any], path: str, findings: Findings) -> None:
    key = get(scheme, "apiKeySecurityScheme")
    location = key.get("location") if isinstance(key, Mapping) else None
    if isinstance(location, str) and location and location not in ("header", "query", "cookie"):
        message = f'{describe(location)} is no place for a key; write "header", "query" or "cookie"'
        findings.warn(f"{path}.apiKeySecurityScheme.location", "value", message, "§4.5.3")


def _skill_ids(card: Mapping[str, Any], findings: Findings) -> None:
    seen: set[str] = set()
    for i, skill in findings.while_room("warning", objects(get(card, "skills"))):
        name = skill.get("id")
        if not isinstance(name, str) or not name:
            continue
        if name in seen:
            message = f"{describe(name)} is the id of another skill too; give each its own"
            findings.warn(member(element("skills", i), "id"), "value", message, "§4.4.5")
        seen.add(name)
