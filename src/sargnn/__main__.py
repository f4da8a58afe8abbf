"""``python -m sargnn``: the command line, where its own command is not on the path."""

from sargnn.cli import main

if __name__ == "__main__":
    main()
