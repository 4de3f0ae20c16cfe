"""Several bundles as one: the later one wins, by the rules of merging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from amplifier.bundles.bundle import MODULE_SECTIONS, Bundle, Origins
from amplifier.bundles.merge import deep_merge, join_lists, merge_modules, merge_session
from amplifier.problems import BundleProblem


def compose(bundles: Sequence[Bundle]) -> Bundle:
    """The bundles as one. It has the name, the file and the root of the last; raises ``BundleProblem`` for none."""
    if not bundles:
        raise BundleProblem("There is no bundle to compose.", "Name one: amplifier bundle list shows those there are.")
    return reduce(_merged, bundles)


def _merged(below: Bundle, above: Bundle) -> Bundle:
    return replace(
        above,
        flags={**below.flags, **above.flags},
        session=merge_session(below.session, above.session),
        providers=merge_modules(below.providers, above.providers),
        tools=merge_modules(below.tools, above.tools),
        hooks=merge_modules(below.hooks, above.hooks),
        spawn=deep_merge(below.spawn, above.spawn),
        agents={**below.agents, **above.agents},
        context={**below.context, **above.context},
        passage=above.passage or below.passage,
        namespaces={**below.namespaces, **above.namespaces},
        origins=_merged_origins(below.origins, above.origins),
        parts=(*below.parts, *above.parts),
        warnings=tuple(join_lists(below.warnings, above.warnings)),
    )


def _merged_origins(below: Origins, above: Origins) -> Origins:
    # A module is there because of whoever listed it first; what is said about it later has origins of its own.
    listed = {way: origin for way, origin in below.items() if len(way) == 2 and way[0] in MODULE_SECTIONS}
    return {**below, **above, **listed}
