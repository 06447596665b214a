"""From the files that are handed out to files that can be trained on: ``plant prepare`` and ``plant stats``."""
