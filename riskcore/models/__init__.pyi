"""The public names and their homes, which `__init__.py` loads when first used."""

# ruff: noqa: E501, I001
# fmt: off
from riskcore.models.cell_model import CellModel as CellModel
from riskcore.models.cell_model import CellPrior as CellPrior
from riskcore.models.cell_table import CellTable as CellTable
from riskcore.models.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from riskcore.models.ewens import Ewens as Ewens
from riskcore.models.known_population import KnownPopulation as KnownPopulation
from riskcore.models.lancaster import Lancaster as Lancaster
from riskcore.models.latent_class import LatentClass as LatentClass
from riskcore.models.log_linear import LogLinear as LogLinear
from riskcore.models.overdispersion import Overdispersion as Overdispersion
from riskcore.models.pitman import Pitman as Pitman
from riskcore.models.poisson_binomial import PoissonBinomial as PoissonBinomial
from riskcore.models.poisson_gamma import PoissonGamma as PoissonGamma
from riskcore.models.size_indices import SizeIndices as SizeIndices
