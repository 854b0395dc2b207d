"""Schema -> ``_gen/operations.py``: the operation table, which drives the clients and the server of every binding."""

from __future__ import annotations

from codegen.schema import Operation, Route, Schema
from codegen.text import head, snake


def generate(schema: Schema) -> str:
    """The text of the module."""
    lines = [
        *head(
            "The operations of A2AService (§3.1): what each takes, answers, needs, and where it is called.",
            "from google.protobuf.empty_pb2 import Empty",
            "",
            "from a2a_discovery._gen import a2a_pb2",
            "from a2a_discovery._operation import Flag, Operation, Route",
        ),
        "FLAGS: dict[str, Flag] = {",
        *(_flag(name, flag["error"], schema) for name, flag in schema.policy["flags"].items()),
        "}",
        "",
        "OPERATIONS: dict[str, Operation] = {",
        *(line for operation in schema.operations for line in _operation(operation)),
        "}",
        "",
    ]
    return "\n".join(lines)


def _flag(name: str, error: str, schema: Schema) -> str:
    (json_name,) = [f.json_name for f in schema.messages["AgentCapabilities"].fields if f.name == name]
    return f'    "{name}": Flag("{name}", "{json_name}", "{error}"),'


def _type(name: str) -> str:
    return "Empty" if name == ".google.protobuf.Empty" else f"a2a_pb2.{name}"


def _route(route: Route) -> str:
    return f'Route("{route.verb}", "{route.template}", {route.body})'


def _operation(operation: Operation) -> list[str]:
    flag = f'FLAGS["{operation.flag}"]' if operation.flag else "None"
    return [
        f'    "{operation.name}": Operation(',
        f'        name="{operation.name}",',
        f'        method="{snake(operation.name)}",',
        f"        request={_type(operation.request)},",
        f"        response={_type(operation.response)},",
        f"        streaming={operation.streaming},",
        f"        flag={flag},",
        f"        idempotent={operation.idempotent},",
        f'        grpc_path="{operation.path}",',
        f"        route={_route(operation.route)},",
        f"        tenant_route={_route(operation.tenant_route)},",
        "    ),",
    ]
