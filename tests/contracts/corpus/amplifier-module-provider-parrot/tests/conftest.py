import pytest


@pytest.fixture(autouse=True)
def api_key(monkeypatch):
    monkeypatch.setenv("PARROT_API_KEY", "test-key")
