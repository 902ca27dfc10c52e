"""The command line. It starts the app and runs all other commands. No other package imports this one."""
