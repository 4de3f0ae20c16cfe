"""What runs between this process and a command: keeps it in, and ends all of it. Imports nothing, to start quickly."""
