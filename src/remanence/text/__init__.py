"""Pure functions on language: words, dates, names, cues, and where to cut a long text."""
