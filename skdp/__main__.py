"""``python -m skdp`` is the command ``skdp``."""

from skdp.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
