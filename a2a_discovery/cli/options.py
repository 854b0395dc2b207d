"""The options of the commands that call an agent, and what each means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Final

import typer

from a2a_discovery.cli.common import (
    AllowHosts,
    DenyPrivate,
    Output,
    OutputOption,
    SameOrigin,
    seconds,
    url_policy,
)
from a2a_discovery.cli.credentials import Given, read_credentials, read_service_params, secret_params
from a2a_discovery.cli.kept import NoCache, Refresh
from a2a_discovery.policy import UrlPolicy

FETCH_TIMEOUT: Final = 15.0
CALL_TIMEOUT: Final = 60.0
IDLE_TIMEOUT: Final = 300.0


class Transport(StrEnum):
    """A binding, as the command line spells it; in upper case it is the card's name for it."""

    jsonrpc = "jsonrpc"
    http_json = "http+json"
    grpc = "grpc"


Reference = Annotated[
    str,
    typer.Argument(metavar="REF", help="The agent: a host, a URL, or the URL of its card.", show_default=False),
]


@dataclass(frozen=True, repr=False)
class CallOptions:
    """The options of every command that calls an agent; to read the credentials may raise CommandError."""

    transport: Annotated[
        list[Transport] | None,
        typer.Option(
            case_sensitive=False,
            metavar="BINDING",
            help="Speak jsonrpc, http+json or grpc only. Repeated, they are tried in the order given: the first one "
            "that the card has is used, whatever the card prefers. Without this option, the card's order counts.",
            show_default=False,
        ),
    ] = None
    bearer: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="A2A_DISCOVERY_BEARER",
            help="A bearer token, for the host of REF alone: for its card and for the call.",
            show_default=False,
        ),
    ] = None
    api_key: Annotated[
        str | None,
        typer.Option(
            metavar="[NAME:]VALUE",
            envvar="A2A_DISCOVERY_API_KEY",
            help="An API key, for the host of REF alone: where the card says, or in the header NAME (X-API-Key). A key "
            "that holds a colon needs the name.",
            show_default=False,
        ),
    ] = None
    basic: Annotated[
        str | None,
        typer.Option(
            metavar="USER:PASSWORD",
            envvar="A2A_DISCOVERY_BASIC",
            help="A user's name and password, for the host of REF alone.",
            show_default=False,
        ),
    ] = None
    oauth_client: Annotated[
        str | None,
        typer.Option(
            metavar="ID[:SECRET]",
            envvar="A2A_DISCOVERY_OAUTH_CLIENT",
            help="An OAuth client that has a token made, by the flow that the card declares; without a secret, a "
            "person enters a code in a browser.",
            show_default=False,
        ),
    ] = None
    token_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="The authorization server that the OAuth client's secret may go to; repeatable. By default it is the "
            "host of REF.",
            show_default=False,
        ),
    ] = None
    svc_param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:VALUE", help="A header or gRPC metadata of the call; repeatable.", show_default=False
        ),
    ] = None
    extension: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URI", help="Declare this extension, if the card lists it; repeatable.", show_default=False
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            callback=seconds,
            help=f"Limit of the call ({CALL_TIMEOUT:g}), or of the silence in a stream ({IDLE_TIMEOUT:g}); fetching "
            f"the card takes {FETCH_TIMEOUT:g} at most.",
            show_default=False,
        ),
    ] = None
    same_origin: SameOrigin = False
    allow_host: AllowHosts = None
    deny_private: DenyPrivate = False
    no_cache: NoCache = False
    refresh: Refresh = False
    output: OutputOption = Output.text

    @cached_property
    def credentials(self) -> Given:
        """What ``bearer``, ``api_key``, ``basic`` and ``oauth_client`` mean."""
        return read_credentials(self.bearer, self.api_key, self.basic, self.oauth_client, self.token_origin or ())

    @cached_property
    def policy(self) -> UrlPolicy:
        """What ``same_origin``, ``allow_host`` and ``deny_private`` mean."""
        return url_policy(self.same_origin, self.allow_host, self.deny_private)

    @cached_property
    def service_params(self) -> dict[str, str]:
        """What ``svc_param`` means."""
        return read_service_params(self.svc_param or ())

    @cached_property
    def secrets(self) -> list[str]:
        """All that must go nowhere but to the agent's own host."""
        return [*secret_params(self.service_params).values(), *self.credentials.secrets]
