"""The individual risk as an expression of polars."""

from __future__ import annotations

from typing import Any

from riskcore.common import arguments
from riskcore.core.risk import individual
from riskcore.data.engines import risk_of_arrow


def register() -> None:
    """Give expressions of polars the namespace ``riskcore``.

    Notes
    -----
    ``frequency.riskcore.individual_risk(weight_sum)`` then has the bits of
    `riskcore.individual_risk_from_frequencies`. Null gives null; arguments outside the
    domain, 0 < f <= F, give nan.

    Examples
    --------
    >>> import polars
    >>> register()
    >>> cells = polars.DataFrame({"f": [1, 2, None], "F": [1.0, 1.5, 2.0]})
    >>> risk = polars.col("f").riskcore.individual_risk("F")
    >>> cells.select(risk.alias("risk"))["risk"].to_list()
    [1.0, nan, None]
    """
    import polars

    if not hasattr(polars.Expr, "riskcore"):
        polars.api.register_expr_namespace("riskcore")(_Namespace)


class _Namespace:
    """The namespace ``expression.riskcore``."""

    def __init__(self, frequency: Any) -> None:
        self._frequency = frequency

    def individual_risk(self, weight_sum: Any) -> Any:
        """Return an expression of the individual risk of cells."""
        import polars

        F = weight_sum
        if isinstance(F, str):
            F = polars.col(F)
        elif not isinstance(F, polars.Expr | polars.Series):
            F = polars.lit(arguments.number("weight_sum", F))
        f = self._frequency
        risk = polars.map_batches(
            [f.cast(polars.Float64), F.cast(polars.Float64)],
            lambda columns: individual.individual_risk_from_frequencies(*columns),
            return_dtype=polars.Float64,
        )
        validity = f.is_not_null() & F.is_not_null()
        return polars.when(validity).then(risk).alias(risk_of_arrow.NAME)
