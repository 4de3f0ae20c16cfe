"""Which proxy a request goes through: the one that configuration names, or none.

With a proxy names are resolved and judged here all the same, and it is asked for the judged address.
"""

from __future__ import annotations

from amplifier_module_tool_web.targets import Target

FROM_ENVIRONMENT = "environment"
"""As the configured proxy: the one that the environment names (``HTTPS_PROXY`` and its kin) is used."""


def proxy_for(target: Target, configured: str | None) -> str | None:
    """The URL of the proxy for ``target``."""
    if configured != FROM_ENVIRONMENT:
        return configured
    from urllib.request import getproxies, proxy_bypass

    return None if proxy_bypass(target.host) else getproxies().get(target.scheme)
