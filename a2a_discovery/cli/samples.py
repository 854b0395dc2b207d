"""The cards of three sample agents, each made for the addresses at which it is served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from a2a_discovery.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentProvider,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

_VERSION: Final = "1.0"


def runner_of_tests(base: str, _grpc: str = "") -> AgentCard:
    """Runs test suites; two bindings, and streaming."""
    return AgentCard(
        name="Test runner",
        description="Checks out a commit, runs the project's test suite in a clean container, and reports which tests "
        "failed, with the output of each.",
        version="2.3.0",
        provider=_provider(),
        supported_interfaces=[_interface(base, "JSONRPC"), _interface(base, "HTTP+JSON")],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[
            AgentSkill(
                id="run-tests",
                name="Run tests",
                description="Runs all tests of a repository at a commit, or those that match a pattern, and streams "
                "the results while they come in.",
                tags=["testing", "ci", "pytest"],
                examples=[
                    "Run the unit tests for payments-api at commit 9f3c2e1",
                    "Run only the tests whose name contains refund, ten times each",
                ],
            )
        ],
    )


def code_reviewer(base: str, _grpc: str = "") -> AgentCard:
    """Reviews changes; its skill takes fewer media types than the card's defaults."""
    return AgentCard(
        name="Code reviewer",
        description="Reads a change as a careful colleague would, and points out defects, missing tests and unclear "
        "names, each with the line that it is about.",
        version="1.8.2",
        provider=_provider(),
        documentation_url="https://agents.example/docs/code-reviewer",
        supported_interfaces=[_interface(base, "HTTP+JSON")],
        capabilities=AgentCapabilities(streaming=False, push_notifications=True),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/markdown", "application/json"],
        skills=[
            AgentSkill(
                id="review-diff",
                name="Review a diff",
                description="Reviews one unified diff, up to 5,000 lines, and ranks its findings by severity.",
                tags=["review", "diff", "quality"],
                examples=["Review this diff; the module handles card payments, so be strict about rounding"],
                input_modes=["text/x-diff", "text/plain"],
            )
        ],
    )


def deployer(base: str, grpc: str = "") -> AgentCard:
    """Deploys releases; it demands a bearer token, has an extended card, and serves a tenant over all bindings.

    Args:
        base: the base URL.
        grpc: the host and port of its gRPC interface; without, it has none.
    """
    entries = [_interface(base, binding, tenant="payments") for binding in ("JSONRPC", "HTTP+JSON")]
    if grpc:
        entries.append(AgentInterface(url=grpc, protocol_binding="GRPC", protocol_version=_VERSION, tenant="payments"))
    return AgentCard(
        name="Deployer",
        description="Rolls a release out to an environment step by step, watches its error rate, and rolls back when "
        "the rate rises.",
        version="0.9.4",
        provider=_provider(),
        supported_interfaces=entries,
        capabilities=AgentCapabilities(streaming=True, push_notifications=True, extended_agent_card=True),
        security_schemes={
            "deployToken": SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", bearer_format="JWT", description="A token that is issued per team."
                )
            )
        },
        security_requirements=[SecurityRequirement(schemes={"deployToken": StringList()})],
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["application/json"],
        skills=[
            AgentSkill(
                id="deploy",
                name="Deploy a release",
                description="Deploys a tagged release to staging or production; production asks for a confirmation.",
                tags=["deployment", "release", "rollout"],
                examples=["Deploy payments-api 4.2.0 to staging"],
            )
        ],
    )


def extended(card: AgentCard) -> AgentCard | None:
    """The card with what only known callers see, when it announces that there is more."""
    if not card.capabilities.extended_agent_card:
        return None
    longer = AgentCard()
    longer.CopyFrom(card)
    longer.skills.append(
        AgentSkill(
            id="freeze",
            name="Freeze deployments",
            description="Stops all deployments of the team until they are allowed again.",
            tags=["deployment", "freeze"],
        )
    )
    return longer


SAMPLES: Final[dict[str, Callable[..., AgentCard]]] = {
    "test-runner": runner_of_tests,
    "code-reviewer": code_reviewer,
    "deployer": deployer,
}
"""Name to the maker of the card; it takes the base URL, without a slash at its end, and the gRPC address, if any."""


def _provider() -> AgentProvider:
    return AgentProvider(organization="Example Build Tools", url="https://agents.example")


def _interface(base: str, binding: str, tenant: str = "") -> AgentInterface:
    path = {"JSONRPC": "/a2a/jsonrpc", "HTTP+JSON": "/a2a/rest"}[binding]
    return AgentInterface(url=base + path, protocol_binding=binding, protocol_version=_VERSION, tenant=tenant)
