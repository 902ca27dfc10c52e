"""Benchmarks of Octavo. `python -m tests.benchmarks --help` explains the command.

Each benchmark is a module with two functions. `prepare` sets up an installation once. `measure` runs one round and returns
the figures by name. A figure whose name ends in `CPU ms` hardly changes when other programs run on the machine.
"""
