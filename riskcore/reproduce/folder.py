"""Write comparisons and figures into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riskcore.common.drawing import save
from riskcore.common.needs import need
from riskcore.data.files import formats, replace
from riskcore.reproduce.comparison import Comparison, markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = ("png", "svg", "pdf")
_TABLE, _PAGE = "reproductions.csv", "reproductions.md"


def write(
    folder: str | Path,
    comparisons: Iterable[Comparison],
    *,
    pictures: str | None = "png",
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write comparisons and their figures into a folder, all files or none.

    Parameters
    ----------
    folder : str or pathlib.Path
        Created if it does not exist.
    comparisons : iterable of Comparison
        Results of `riskcore.reproduce.compare`.
    pictures : {"png", "svg", "pdf"} or None
        The format of the figures; None for tables alone.
    overwrite : bool, optional
        Whether existing files may be replaced.
    progress : callable, optional
        Called with the figures drawn and their number.

    Returns
    -------
    list of pathlib.Path
        ``reproductions.csv`` with all rows, ``reproductions.md``, and one file for
        each figure.

    Raises
    ------
    ImportError
        If matplotlib, for figures, is not installed.
    OSError
        If a file exists and ``overwrite`` is not set, or cannot be written.
    ValueError
        If the format is unknown or there are no comparisons.

    Examples
    --------
    >>> import tempfile
    >>> from riskcore import reproduce
    >>> mokken = reproduce.compare("mokken")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in reproduce.write(folder, [mokken], pictures=None)]
    ['reproductions.csv', 'reproductions.md']
    """
    folder, comparisons = Path(folder), list(comparisons)
    if not comparisons:
        raise ValueError("no comparisons to write")
    check_writable(folder, comparisons, pictures=pictures, overwrite=overwrite)
    figures = _figures(comparisons, pictures)
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with replace.replacing_all(overwrite) as create:
            formats.write(
                folder / _TABLE, _columns(comparisons), overwrite=True, create=create
            )
            create(folder / _PAGE).write(_page(comparisons, pictures).encode())
            for done, (name, draw) in enumerate(figures.items()):
                if progress is not None:
                    progress(done, len(figures))
                save(draw(), create(folder / name), str(pictures), 150)
    except BaseException:
        if new:
            folder.rmdir()
        raise
    return [folder / name for name in (_TABLE, _PAGE, *figures)]


def check_writable(
    folder: str | Path,
    comparisons: Iterable[Comparison] = (),
    *,
    pictures: str | None = "png",
    overwrite: bool = False,
) -> None:
    """Refuse what `write` would refuse; call this before long work.

    Parameters
    ----------
    folder : str or pathlib.Path
        Where to write.
    comparisons : iterable of Comparison, optional
        The comparisons to write.
    pictures : str or None
        The format of the figures; None for tables alone.
    overwrite : bool
        Whether existing files may be replaced.

    Raises
    ------
    ImportError, OSError, ValueError
        As `write` does.

    Examples
    --------
    >>> check_writable("a-new-folder", pictures=None)
    """
    folder = Path(folder)
    if pictures is not None:
        if pictures not in PICTURES:
            raise ValueError(f"pictures: need {', '.join(PICTURES)}, not {pictures!r}")
        need("matplotlib", "figures")
    if not folder.is_dir():
        if folder.exists():
            raise NotADirectoryError(f"{folder}: not a directory")
        replace.refuse_existing(folder, overwrite)
        return
    formats.check_writable(folder / _TABLE, overwrite=overwrite)
    for name in (_PAGE, *_figures(comparisons, pictures)):
        replace.refuse_existing(folder / name, overwrite)


def _figures(
    comparisons: Iterable[Comparison], pictures: str | None
) -> dict[str, Callable[[], Figure]]:
    """Return functions that draw all figures, by file name."""
    if pictures is None:
        return {}
    return {
        f"{name}.{pictures}": draw
        for comparison in comparisons
        for name, draw in comparison.figures.items()
    }


def _columns(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """Return the rows of all comparisons as columns."""
    parts = [comparison.columns for comparison in comparisons]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _page(comparisons: Iterable[Comparison], pictures: str | None) -> str:
    """Return all comparisons in Markdown, with their figures."""
    sections = []
    for comparison in comparisons:
        images = [f"![{name}]({name})" for name in _figures([comparison], pictures)]
        sections.append("\n\n".join([markdown(comparison), *images]))
    return "\n\n".join(sections) + "\n"
