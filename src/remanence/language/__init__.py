"""Pure functions on language: words, dates, names, statements, summaries, where to cut a text."""
