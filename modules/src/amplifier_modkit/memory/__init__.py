"""The memory of a conversation: a history that only grows, and the view of it that goes into requests."""
