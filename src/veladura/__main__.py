"""``python -m veladura``: the command line."""

from veladura.cli.main import main

if __name__ == "__main__":
    main()
