"""Runs the command line: `python -m zarrscope_app` does the same as `zarrscope`."""

from zarrscope_app.cli import main

if __name__ == "__main__":
    main()
