"""The command ``amplifier``: a file per family of commands, imported when one of them is called."""
