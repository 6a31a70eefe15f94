"""``python -m tradewind``: the command of this package."""

import os
import shutil
import sys
import sysconfig


def main() -> None:
    """Runs the command that the wheel carries."""
    folder = sysconfig.get_path("scripts")
    program = shutil.which("tradewind", path=folder) or shutil.which("tradewind")
    if program is None:
        sys.exit("error: this package was built without the command `tradewind`")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
