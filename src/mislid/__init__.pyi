# The public names; `lazy_loader` loads each when it is first used.
from . import algorithms as algorithms
from . import errors as errors
from . import geometry as geometry
from . import integrations as integrations
from . import simulation as simulation
from .engine import Engine as Engine
from .engine import Verdict as Verdict
from .geometry import characteristic_time as characteristic_time
from .geometry import closest_alternative as closest_alternative
from .geometry import pair_alternative as pair_alternative
from .geometry import project as project
from .geometry import spanner as spanner
from .integrations.search import from_optuna as from_optuna
from .model import Instance as Instance
from .model import Model as Model
from .model import load_instance as load_instance
from .question import Question as Question
from .simulation.identify import identify as identify
from .simulation.replicate import replicate as replicate
from .study import Study as Study
from .study import Trial as Trial
from .study.manage import check_study as check_study
from .study.manage import copy_study as copy_study
from .study.manage import create_study as create_study
from .study.manage import delete_study as delete_study
from .study.manage import list_studies as list_studies
from .study.manage import load_study as load_study
from .verification import verify as verify

__version__: str
__all__: list[str]
