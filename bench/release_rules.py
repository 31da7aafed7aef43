"""The JSON schema of a file of rules, and the table of its names, from the settings.

    python -m bench.release_rules

It writes `notes/_static/release-1.json`, which the site publishes, and the tables in
`bench/results/rules.md`, which the site shows in `notes/reference/rules.md`.
`tests/protection/release/test_rules_table.py` compares.
"""

import json

from bench._common import HERE, RESULTS, replace, table
from riskcore.common.settings import Setting
from riskcore.protection.settings.rules_table import (
    FORMAT,
    TABLES,
    help_of,
    schema,
)

NOTES = HERE.parent / "notes"
SCHEMA = NOTES / "_static" / f"release-{FORMAT}.json"
PAGE = RESULTS / "rules.md"


def schema_text():
    """Return the schema as the file has it."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def needed(shape):
    """Return in words what a value must be."""
    return shape.get("title") or " or ".join(one["title"] for one in shape["anyOf"])


def row(name, setting):
    """Return the line of one name."""
    default = setting.default
    plain = isinstance(default, bool | int | float | str)
    shown = f"`{json.dumps(default)}`" if plain else ""
    text = help_of(setting).replace("|", r"\|").replace("*", r"\*").replace("<", r"\<")
    return [f"`{name}`", needed(setting.shape), shown, text]


def tables_text():
    """Return a section for each table of the file."""
    parts = []
    for name, content in TABLES.items():
        parts.append(f"## `[{name}]`\n")
        if isinstance(content, Setting):
            parts.append(f"{row(name, content)[3]}.\n")
            parts.append(f"Each name is a column; together {needed(content.shape)}.\n")
            continue
        rows = [row(one, setting) for one, setting in content.items()]
        parts.append(table(["name", "value", "default", "meaning"], rows, 4) + "\n")
    return "\n".join(parts)


def main():
    """Write the schema and the tables."""
    SCHEMA.write_text(schema_text())
    replace(PAGE, "rules", tables_text())


if __name__ == "__main__":
    main()
