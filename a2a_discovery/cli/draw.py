"""A card, and the problems of a document, drawn for people.

The rows follow the schema: every field that a message has is shown, whether or not this module knows of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.text import Text

from a2a_discovery import protojson
from a2a_discovery._gen.operations import OPERATIONS
from a2a_discovery._schema import Field, fields
from a2a_discovery.capabilities import refusal
from a2a_discovery.catalog import CatalogEntry
from a2a_discovery.cli.sheet import Sheet
from a2a_discovery.cli.terminal import clean, clean_lines
from a2a_discovery.errors import NoSupportedInterfaceError
from a2a_discovery.interfaces import Skipped, select_interface
from a2a_discovery.problems import Problem, element, entry, member
from a2a_discovery.types import AgentCard, AgentSkill

_DEMANDS: Final = ("securityRequirements", "securitySchemes")
_OFFERS: Final = ("capabilities", "defaultInputModes", "defaultOutputModes", "skills")
_ABSENT: Final = "–"
_INDENT: Final = 2
_REQUIRED_MARK: Final = Text("*", "bold cyan")


def draw_card(card: AgentCard, origin: str, signature: str | None = None) -> Sheet:
    """A card in four groups: who it is, where to reach it, what it demands, what it offers.

    Args:
        card: the card.
        origin: where it came from.
        signature: what became of its signatures, None when they were not looked at.
    """
    sheet = Sheet()
    sheet.line(Text.assemble((clean(card.name), "bold"), " ", clean(card.version)))
    sheet.line(Text(clean(origin), "dim"))
    if signature is not None:
        sheet.line(Text(f"signature: {clean(signature)}", "green" if signature.startswith("verified") else "yellow"))
    elsewhere = {"supportedInterfaces", *_DEMANDS, *_OFFERS}
    sheet.heading("Who it is")
    _draw_fields(sheet, card, [name for name in fields(AgentCard.DESCRIPTOR) if name not in elsewhere])
    sheet.heading("Where to reach it")
    _draw_interfaces(sheet, card)
    sheet.heading("What it demands")
    _draw_fields(sheet, card, _DEMANDS)
    demanded = [clean(extension.uri) for extension in card.capabilities.extensions if extension.required]
    sheet.row(*_labelled("demanded extensions", "\n".join(demanded) or None))
    sheet.heading("What it offers")
    _draw_fields(sheet, card, _OFFERS)
    _draw_operations(sheet, card)
    sheet.block()
    legend = Text("* REQUIRED by A2A   – absent   ", "dim").append("→", "bold green").append(" chosen", "dim")
    sheet.line(legend)
    return sheet


def draw_agents(agents: Iterable[tuple[CatalogEntry, Sequence[AgentSkill]]]) -> Sheet:
    """Agents, each with some of its skills, below each other."""
    sheet = Sheet()
    for agent, skills in agents:
        names = dict.fromkeys(filter(None, [agent.display_name, agent.card.name]))
        sheet.line(Text.assemble((" / ".join(map(clean, names)), "bold"), " ", clean(agent.card.version)))
        sheet.line(Text(clean(agent.url or agent.reference), "dim"), indent=_INDENT)
        for skill in skills:
            tags = Text(", ".join(map(clean, skill.tags)), "dim")
            sheet.line(Text(f"{clean(skill.name)}  ").append_text(tags), indent=_INDENT)
    return sheet


def draw_problems(verdict: str, problems: Sequence[Problem]) -> Sheet:
    """The verdict, and every problem: its severity and path, how to mend it, the rule and its source."""
    sheet = Sheet()
    sheet.line(Text(clean(verdict)))
    for problem in problems:
        style = "bold red" if problem.severity == "error" else "bold yellow"
        sheet.block()
        path = clean(problem.path) or "the whole document"
        sheet.line(Text.assemble((f"{problem.severity:<7} ", style), (path, "bold")))
        sheet.line(Text(clean(problem.message)), indent=8)
        sheet.line(Text(f"rule {problem.rule}, source {clean(problem.source)}", "dim"), indent=8)
    return sheet


def _draw_interfaces(sheet: Sheet, card: AgentCard) -> None:
    skipped: tuple[Skipped, ...]
    try:
        selection = select_interface(card)
        chosen, skipped = selection.index, selection.skipped
    except NoSupportedInterfaceError as exc:
        chosen, skipped = None, exc.skipped
    reasons = {passed.index: passed.reason for passed in skipped}
    sheet.row(Text("supportedInterfaces"), Text(str(len(card.supported_interfaces))), mark=_REQUIRED_MARK)
    for index, interface in enumerate(card.supported_interfaces):
        mark = None
        if index in reasons:
            verdict = Text(f"passed over: {clean(reasons[index])}", "yellow")
        elif index == chosen:
            mark = Text("→", "bold green")
            verdict = Text("chosen: the first that this client speaks", "bold green")
        else:
            verdict = Text(f"not needed: [{chosen}] comes first", "dim")
        sheet.row(Text(element("supportedInterfaces", index), "bold"), verdict, mark=mark)
        _draw_fields(sheet, interface, fields(interface.DESCRIPTOR), depth=1)
    if chosen is None:
        sheet.line(Text("  none of them can be used by this client", "bold red"))


def _draw_operations(sheet: Sheet, card: AgentCard) -> None:
    sheet.block()
    sheet.row(Text("operations"), Text("what a call would get", "dim"))
    for name in OPERATIONS:
        error = refusal(card, name)
        verdict = Text("allowed", "green")
        if error is not None:
            verdict = Text.assemble(("refused: ", "yellow"), f"{type(error).__name__} ({error.code})")
        sheet.row(Text(name), verdict, depth=1)


def _draw_fields(sheet: Sheet, message: Any, names: Iterable[str], *, path: str = "", depth: int = 0) -> None:
    """One row for each field, and those of the messages in it below."""
    known = fields(message.DESCRIPTOR)
    present = {descriptor.name for descriptor, _ in message.ListFields()}
    for name in names:
        field = known[name]
        value = getattr(message, field.name)
        where = member(path, name)
        if field.name not in present:
            # Of the members of a oneof only the one that is set means anything.
            if field.oneof is None:
                _draw_value(sheet, field, None, depth)
        elif name == "securityRequirements":
            _draw_value(sheet, field, _alternatives(value), depth)
        elif field.message is None:
            _draw_value(sheet, field, _plain(message, field, value), depth)
        elif field.shape == "one":
            _draw_value(sheet, field, "", depth)
            _draw_fields(sheet, value, fields(value.DESCRIPTOR), path=where, depth=depth + 1)
        else:
            _draw_value(sheet, field, str(len(value)), depth)
            for label, part in _elements(where, field, value):
                sheet.row(Text(clean(label), "bold"), Text(), depth=depth)
                _draw_fields(sheet, part, fields(part.DESCRIPTOR), path=label, depth=depth + 1)


def _draw_value(sheet: Sheet, field: Field, value: str | None, depth: int) -> None:
    sheet.row(*_labelled(field.json_name, value), mark=_REQUIRED_MARK if field.required else None, depth=depth)


def _elements(path: str, field: Field, value: Any) -> list[tuple[str, Any]]:
    """The messages in a list or map, each with its path."""
    if field.shape == "map":
        return [(entry(path, key), value[key]) for key in sorted(value)]
    return [(element(path, index), x) for index, x in enumerate(value)]


def _labelled(label: str, value: str | None) -> tuple[Text, Text]:
    return (Text(label, "dim"), Text(_ABSENT, "dim")) if value is None else (Text(label), Text(value))


def _plain(message: Any, field: Field, value: Any) -> str:
    """The value of a field that holds no message of the schema."""
    if field.kind == "struct":
        return clean(json.dumps(protojson.to_dict(message)[field.json_name], ensure_ascii=False, sort_keys=True))
    if field.shape == "map":
        return "\n".join(f"{clean(key)}: {clean(str(value[key]))}" for key in sorted(value))
    if field.shape == "many":
        return ("\n" if field.name == "examples" else ", ").join(clean(str(x)) for x in value)
    if field.kind == "bool":
        return "yes" if value else "no"
    return clean_lines(str(value))


def _alternatives(requirements: Any) -> str:
    """Each requirement on a line: to meet one of them is enough, and all schemes of it have to be met (§4.5.1)."""
    lines = []
    for requirement in requirements:
        schemes = []
        for name in sorted(requirement.schemes):
            scopes = ", ".join(map(clean, requirement.schemes[name].list))
            schemes.append(clean(name) + (f" ({scopes})" if scopes else ""))
        lines.append(" and ".join(schemes) or "nothing: anonymous calls are allowed")
    return "\nor ".join(lines)
