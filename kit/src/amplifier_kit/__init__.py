"""For authors of modules: ``amplifier_kit.chaos`` runs a module under faults, ``amplifier_kit.scaffold`` begins one."""
