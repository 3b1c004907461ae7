"""Run the command line as ``python -m nn2poly``."""

from nn2poly.cli import main

if __name__ == "__main__":
    main()
