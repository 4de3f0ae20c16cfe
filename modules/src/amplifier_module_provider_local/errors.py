"""What can go wrong before the model can be asked: no library, no model file, no way to fetch one."""

from __future__ import annotations

from amplifier_core.llm_errors import ConfigurationError, NetworkError


class LibraryMissingError(ConfigurationError):
    """The library that runs the model is not installed."""


class ModelFileError(ConfigurationError):
    """The model file is missing, unreadable, or not what it should be."""


class FetchError(NetworkError):
    """The package with the model could not be fetched; no other attempt is made by itself."""

    _retryable_by_default = False
