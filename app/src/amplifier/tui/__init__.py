"""The chat: a conversation in the terminal, above what runs a session and what prints a single run."""
