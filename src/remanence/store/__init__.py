"""Where memories are kept: one package per database."""
