"""What a client learns from an agent's card before its first message, and then that message.

Starts three sample agents on loopback, fetches each card over HTTP, prints who the agent is, which interface is chosen
and why, and which operations the card allows; then calls the agents: ``python examples/demo.py``.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from a2a_discovery import (
    A2AError,
    BearerToken,
    CardCache,
    CredentialsRequiredError,
    CredentialStore,
    NoSupportedInterfaceError,
    Support,
    UnsupportedOperationError,
    inspect_card,
    require_capability,
    select_interface,
)
from a2a_discovery.sync import CardResolver, Catalog, discover
from a2a_discovery.types import DESCRIPTOR, AgentCard, StreamResponse, TaskState

OPERATIONS = [method.name for method in DESCRIPTOR.services_by_name["A2AService"].methods]

# A client says what it speaks; by default that is all that is installed. One that has HTTP+JSON only has to pass over
# the first entry of an agent that prefers JSON-RPC.
REST_ONLY = Support(bindings={"HTTP+JSON": ["1.0"]})

BAD_CARD = """{"name": "Translator", "description": "Translates release notes.", "version": "1.0.0",
  "url": "https://translator.example/a2a", "capabilities": {"streaming": "yes"},
  "defaultInputModes": ["text"], "defaultOutputModes": ["text/plain"],
  "skills": [{"id": "translate", "name": "Translate", "description": "Translates one text."}]}"""


@contextmanager
def sample_agents() -> Iterator[dict[str, str]]:
    """The sample agents in a process of their own: name to URL."""
    command = [sys.executable, "-m", "a2a_discovery.cli", "demo-server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        # Should the agents not answer within 20 s, the server is stopped, and its output ends without their lines.
        limit = threading.Timer(20, server.kill)
        limit.start()
        try:
            assert server.stdout is not None
            lines = [server.stdout.readline() for _ in range(3)]
            if not all(lines):
                sys.exit("the sample agents did not start")
            limit.cancel()
            yield dict(line.split() for line in lines)
        finally:
            limit.cancel()
            server.terminate()


def show(card: AgentCard) -> None:
    """Print what a client reads in a card."""
    print(f"  who it is     {card.name} {card.version}, by {card.provider.organization}")
    print(f"                {card.description}")

    show_choice(card, Support.default())

    # The card says beforehand which calls the agent would refuse, and with which error.
    refused = {}
    for operation in OPERATIONS:
        try:
            require_capability(card, operation)
        except A2AError as error:
            refused[operation] = error
    print(f"  allowed       {', '.join(name for name in OPERATIONS if name not in refused)}")
    for reason in refused.values():
        print(f"  refused       {reason.message}: {type(reason).__name__} ({reason.code})")


def show_choice(card: AgentCard, support: Support) -> None:
    """Print which interface a client that speaks ``support`` calls, and why."""
    try:
        # The card's order counts: the first entry that this client speaks is the one to call.
        selection = select_interface(card, support)
    except NoSupportedInterfaceError as error:
        print(f"  chosen        none: {error}")
        return
    for skipped in selection.skipped:
        print(f"  passed over   [{skipped.index}] {skipped.reason}")
    entry = selection.interface
    tenant = f", tenant {entry.tenant} in every request" if entry.tenant else ""
    print(
        f"  chosen        [{selection.index}] {entry.protocol_binding} at {entry.url}: the first that we speak{tenant}"
    )


def find_agents(urls: list[str], resolver: CardResolver) -> None:
    """Which of many agents can do something: by tags, and by the media types that they take and answer with."""
    catalog = Catalog.from_urls([*urls, "http://localhost:9"], resolver=resolver)
    print(f"a catalog of {len(catalog)} cards; not read: {', '.join(f.reference for f in catalog.failures)}")
    for match in catalog.find(tags="testing", accepts="text/plain"):
        print(f"  runs tests    {match.entry.card.name}: {', '.join(skill.name for skill in match.skills)}")
    print()


def call_test_runner(url: str) -> None:
    """The first message, and a run that is watched."""
    print("test-runner, called")
    with discover(url) as agent:
        reply = agent.send_message("Run the unit tests for payments-api at commit 9f3c2e1")
        status = reply.task.status
        print(f"  answer        {TaskState.Name(status.state)}: {status.message.parts[0].text}")
        for event in agent.send_streaming_message("Run only the tests whose name contains refund"):
            print(f"  event         {told(event)}")
    print()


def told(event: StreamResponse) -> str:
    """An event of a stream in words."""
    match event.WhichOneof("payload"):
        case "task":
            return f"task {event.task.id}: {TaskState.Name(event.task.status.state)}"
        case "status_update":
            status = event.status_update.status
            said = f": {status.message.parts[0].text}" if status.HasField("message") else ""
            return TaskState.Name(status.state) + said
        case "artifact_update":
            artifact = event.artifact_update.artifact
            return f"artifact {artifact.name}: {artifact.parts[0].text.strip() or 'data'}"
    return f"message: {event.message.parts[0].text}"


def call_code_reviewer(url: str) -> None:
    """A call that the card rules out is refused before a request is made."""
    print("code-reviewer, called")
    with discover(url) as agent:
        try:
            next(agent.send_streaming_message("Review this diff"))
        except UnsupportedOperationError as error:
            print(f"  refused       {error}; {'nothing was sent' if error.local else 'by the agent'}")
    print()


def call_deployer(url: str) -> None:
    """The same call over every binding that is installed; the tenant of the card's entry goes along by itself."""
    print("deployer, called")
    with discover(url) as agent:
        try:
            agent.send_message("Deploy payments-api 4.2.0 to staging")
        except CredentialsRequiredError as error:
            print("  refused       " + str(error).replace("\n", "\n                "))
    # The token goes to the card's own origin alone: as a header, or as gRPC metadata.
    credentials = CredentialStore({"deployToken": BearerToken("demo-token")})
    for binding in Support.default().bindings:
        only = Support(bindings={binding: ["1.0"]})
        with discover(url, support=only, credentials=credentials) as agent:
            reply = agent.send_message("Deploy payments-api 4.2.0 to staging")
            tenant = reply.task.artifacts[0].parts[0].data.struct_value["tenant"]
            print(f"  {binding:<13} at {agent.interface.url}: the agent saw tenant {tenant}")
    with discover(url, credentials=credentials) as agent:
        public = {skill.id for skill in agent.card.skills}
        # From here on the agent goes by the card that it shows to those it knows.
        agent.extended_card()
        more = ", ".join(skill.name for skill in agent.card.skills if skill.id not in public)
        print(f"  extended card has {more} too")
    print()


def main() -> None:
    """Read three good cards over HTTP, call their agents, and read a bad card."""
    with sample_agents() as agents, CardResolver(cache=CardCache()) as resolver:
        for name, url in agents.items():
            resolved = resolver.resolve(url)
            print(f"{name}: {resolved.url}")
            show(resolved.card)
            # Asked again, it costs no request for as long as its server says.
            again = resolver.resolve(url)
            print(f"  asked again   from the {again.source}, good until {again.revalidate_at:%H:%M:%S} UTC")
            print()
            if name == "test-runner":
                print(f"{name}, asked by a client that speaks HTTP+JSON only")
                show_choice(resolved.card, REST_ONLY)
                print()
        find_agents(list(agents.values()), resolver)
        call_test_runner(agents["test-runner"])
        call_code_reviewer(agents["code-reviewer"])
        call_deployer(agents["deployer"])

    # A bad card: every problem at once, each with its place and how to mend it.
    print("a bad card:")
    for problem in inspect_card(BAD_CARD).problems:
        print(f"  {problem.severity:<13} {problem}")


if __name__ == "__main__":
    main()
