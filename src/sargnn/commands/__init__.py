"""What each command does, as a function that returns its answer as a plain dictionary.

A file for each thing that a user comes for, imported when its command runs: looking at data must not wait for PyTorch.
"""
