"""Other names of a file: whether one of them is in a folder that is denied.

A hard link is a name like any other, so only a look through the folder can tell.
"""

from __future__ import annotations

import os
from contextlib import suppress

from amplifier_modkit.paths.rules import Identity


def has_name_below(root: str, identity: Identity) -> bool:
    """Whether the file has a name in the folder ``root``, or below it on the same device; links are not followed."""
    device, number = identity
    waiting = [root]
    while waiting:
        with suppress(OSError):  # what we may not list is not ours to link, either
            folder = waiting.pop()
            if os.stat(folder, follow_symlinks=False).st_dev != device:  # noqa: PTH116 - many folders, no Path for each
                continue
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.inode() == number:
                        return True
    return False
