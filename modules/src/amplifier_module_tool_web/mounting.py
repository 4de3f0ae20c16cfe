"""Puts the two tools together from what a plan says."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from amplifier_modkit.paths.checkpoints import checkpoint
from amplifier_modkit.paths.io_threads import IoThreads
from amplifier_modkit.paths.policy import PathPolicy
from amplifier_modkit.paths.working_dir import working_dir_of
from amplifier_module_tool_web.addresses import to_network
from amplifier_module_tool_web.config import WebConfig
from amplifier_module_tool_web.conversion import PageMaker
from amplifier_module_tool_web.dialing import Dialer
from amplifier_module_tool_web.fetch_tool import WebFetchTool
from amplifier_module_tool_web.fetching import Fetcher
from amplifier_module_tool_web.guard import Guard, GuardRules, Resolver
from amplifier_module_tool_web.saving import Saver
from amplifier_module_tool_web.search_engines import ENGINES
from amplifier_module_tool_web.search_tool import WebSearchTool

logger = logging.getLogger(__name__)

_IO_SECONDS = 30.0


async def fetch_tool(coordinator: Any, config: WebConfig, resolve: Resolver | None = None) -> WebFetchTool:
    """The tool that fetches; ``resolve`` looks up hosts in place of the system."""
    fetcher = Fetcher(Guard(config.guard_rules(), resolve), Dialer(config.line()), config.limits())
    policy = await IoThreads(_IO_SECONDS).run(lambda leave: _policy(coordinator, config))
    keep = partial(checkpoint, coordinator)
    saver = Saver(policy, coordinator.hooks.emit, keep, may_replace=config.overwrite, timeout_s=_IO_SECONDS)
    return WebFetchTool(fetcher, PageMaker(config.page_settings()), saver, config.default_limit)


def search_tool(config: WebConfig, resolve: Resolver | None = None) -> WebSearchTool:
    """The tool that searches."""
    settings = config.search_settings()
    if settings.engine is not None and settings.engine.lower() not in ENGINES:
        logger.warning("the search engine %r is not known; expected one of %s", settings.engine, ", ".join(ENGINES))
    # The engine's address comes from the user, who may well run it on this machine.
    anywhere = GuardRules(ports=(), private=(to_network("0.0.0.0/0"), to_network("::/0")))
    return WebSearchTool(
        settings,
        Guard(anywhere, resolve),
        Dialer(config.line()),
        config.domains(),
        max_results=config.max_results,
        timeout_s=config.total_timeout,
    )


def _policy(coordinator: Any, config: WebConfig) -> PathPolicy:
    return PathPolicy.from_config(config, working_dir_of(coordinator, config.working_dir))
