"""The chat-completions protocol as data: what OpenAI-compatible servers read and write, quirks included."""
