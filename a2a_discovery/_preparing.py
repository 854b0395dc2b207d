"""What is looked at before a call, and what it sends then; no I/O here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from a2a_discovery import _service_params
from a2a_discovery._operation import CallOptions, Operation
from a2a_discovery._retry import checked_limits
from a2a_discovery.bindings import faults
from a2a_discovery.capabilities import refusal
from a2a_discovery.extensions import check_required, wanted
from a2a_discovery.skills import check_parts
from a2a_discovery.tenancy import with_tenant
from a2a_discovery.types import AgentCard, AgentInterface, SendMessageRequest
from a2a_discovery.validation import validate


@dataclass(frozen=True, slots=True)
class Preparation:
    """What all calls of an agent have in common.

    Attributes:
        extensions: URIs of extensions that the client understands.
        service_params: further headers or gRPC metadata of every call (§3.2.6).
    """

    extensions: Sequence[str]
    service_params: Mapping[str, str] = field(repr=False)

    def prepare(
        self,
        operation: Operation,
        given: Any,
        options: CallOptions,
        *,
        card: AgentCard,
        interface: AgentInterface,
        version: str,
        by_client: Sequence[str],
    ) -> tuple[Any, dict[str, str]]:
        """The request to send and its service parameters; ``by_client`` are extensions that a client declares itself.

        Raises:
            A2AError: what the agent would answer, marked ``local``.
            TenantMismatchError: the request names another tenant than the interface.
        """
        if "timeout" in options:
            checked_limits(timeout=options["timeout"])
        error = refusal(card, operation.name, given)
        if error is not None:
            raise error
        params = [self.service_params]
        if "service_params" in options:
            params.append(_service_params.checked_params(options["service_params"]))
        understood = wanted(card, (*self.extensions, *options.get("extensions", ())))
        declared = tuple(dict.fromkeys((*_service_params.callers_extensions(*params), *by_client, *understood)))
        check_required(card, declared, local=True)
        request = with_tenant(given, interface)
        if problems := validate(request):
            refused = faults.invalid_params(problems)
            refused.local = True
            raise refused
        if (
            options.get("check_parts")
            and isinstance(request, SendMessageRequest)
            and (problems := check_parts(card, request, options.get("skill")))
        ):
            raise faults.content_type_not_supported(problems, local=True)
        return request, _service_params.merged(version, declared, *params)
