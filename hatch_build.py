"""What wheels bring besides the source: machine code for their platform."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The folders that riskcore.core.compile_ahead makes, and the oldest systems that NumPy
# has wheels for. The code itself asks for none: it calls fma, feclearexcept and mem*.
TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64",
    "macos-x86_64": "macosx_10_12_x86_64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
}


class Objects(BuildHookInterface):  # type: ignore[type-arg]
    """Put the folder that RISKCORE_OBJECTS names into a wheel of its platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add to what is built; hatchling calls this."""
        given = os.environ.get("RISKCORE_OBJECTS")
        if not given or self.target_name != "wheel" or version == "editable":
            return
        folder = Path(self.root, given)
        if folder.name not in TAGS or not any(folder.glob("*")):
            raise FileNotFoundError(
                f"RISKCORE_OBJECTS={given!r}: need a folder named as one of "
                f"{', '.join(TAGS)}, made by python -m riskcore.core.compile_ahead"
            )
        build_data["tag"] = f"py3-none-{TAGS[folder.name]}"
        build_data["pure_python"] = False
        build_data["force_include"][str(folder)] = "riskcore/core/compiled/libraries"
