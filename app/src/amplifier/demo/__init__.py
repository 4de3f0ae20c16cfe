"""One agent turn without a key or a download: a scripted model, a real tool, and modules of each kind around them.

It goes when the standard modules and an embedded model take over.
"""
