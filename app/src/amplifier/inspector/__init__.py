"""What is there and whether it works: modules, tools, providers, events, and the health of the installation."""
