"""One agent turn without a key or a download: the standard modules, a model that follows a script, and a real tool.

It goes when an embedded model takes over.
"""
