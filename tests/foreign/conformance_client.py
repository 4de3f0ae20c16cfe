"""The client that the official conformance suite tests: tool-mcp in a session's coordinator, a browser, and a user.

The suite starts it with the URL of its server as the last argument and tells the scenario in the environment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
from typing import Any
from urllib.parse import urljoin

import httpx2

from amplifier_core.testing import TestCoordinator
from amplifier_module_tool_mcp import mount

SERVER = "suite"
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"


async def browse(url: str) -> None:
    """What a browser does with the page of an authorization server that agrees at once."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        (await browser.get(url)).raise_for_status()


async def oauth_for(scenario: str, given: dict[str, Any], url: str) -> dict[str, Any]:
    """What a user would write down for the scenario."""
    if "client_id" not in given:
        return {"client_metadata_url": CLIENT_METADATA}
    known = {key: given[key] for key in ("client_id", "client_secret") if key in given}
    if not scenario.startswith("auth/client-credentials"):
        return known
    if "private_key_pem" in given:
        known |= {"private_key": given["private_key_pem"], "signing_algorithm": given["signing_algorithm"]}
    async with httpx2.AsyncClient() as asking:
        about = await asking.get(urljoin(url, "/.well-known/oauth-protected-resource/mcp"))
    return {**known, "grant": "client_credentials", "issuer": about.json()["authorization_servers"][0]}


def sample(schema: dict[str, Any]) -> dict[str, Any]:
    """An input that fits the schema of the suite's tools."""
    kinds = {"number": 2, "integer": 2, "string": "word", "boolean": True}
    return {name: kinds.get(each.get("type")) for name, each in schema.get("properties", {}).items()}


async def main(scenario: str, given: dict[str, Any], url: str) -> int:
    """Connects, and calls each tool once; 1 if something did not work."""
    coordinator = TestCoordinator()
    coordinator.register_capability("mcp.open_url", browse)
    coordinator.register_capability("mcp.elicit", lambda server, message, schema: {})
    failures: list[Any] = []

    async def note_failure(event: str, data: dict[str, Any]) -> None:
        failures.append(data["error"])

    coordinator.hooks.register("mcp:server_failed", note_failure)
    entry = {"url": url, "oauth": await oauth_for(scenario, given, url)}
    close = await mount(coordinator, {"servers": {SERVER: entry}, "startup_wait": 20})
    await coordinator.hooks.emit("prompt:submit", {"prompt": scenario})
    for tool in [tool for name, tool in coordinator.get("tools").items() if name.startswith(f"mcp_{SERVER}_")]:
        result = await tool.execute(sample(tool.input_schema))
        if not result.success:
            failures.append(result.error)
    await close()
    sys.stderr.write("".join(f"{failure}\n" for failure in failures))
    return 1 if failures else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory() as home:
        os.environ["AMPLIFIER_HOME"] = home
        told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        sys.exit(asyncio.run(main(os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), told, sys.argv[-1])))
