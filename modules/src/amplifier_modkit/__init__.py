"""What several standard modules share: a small library between the kernel and the modules.

A thing enters when a second module needs it. Only modules import it.
"""
