"""Word tables of common knowledge: family words, places, trades, tongues, first names, verbs."""
