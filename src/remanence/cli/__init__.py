"""The command line, `rem`: a command per operation, and a few that only make sense in a shell."""
