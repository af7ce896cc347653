"""The public verbs, each declared once by its signature: those of a memory, and of its layers."""
