"""`python -m zarrscope_app` is `zarrscope`."""

from zarrscope_app.cli import main

if __name__ == "__main__":
    main()
