"""The command line, `rem`: a command for each verb, and a few that only make sense in a shell."""
