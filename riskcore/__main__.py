"""``python -m riskcore``."""

import sys

from riskcore.cli import main

sys.exit(main())
