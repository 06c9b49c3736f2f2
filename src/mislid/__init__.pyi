# The public names, once: `__init__.py` reads them here and loads each when it is first used.
from mislid import algorithms as algorithms
from mislid import engine as engine
from mislid import errors as errors
from mislid import geometry as geometry
from mislid import paper as paper
from mislid import plotting as plotting
from mislid import report as report
from mislid import simulation as simulation
from mislid import stopping as stopping
from mislid import study as study
from mislid import testing as testing
from mislid import verification as verification
from mislid.certificate.certificate import Certificate as Certificate
from mislid.engine import Engine as Engine
from mislid.engine import Verdict as Verdict
from mislid.engine import View as View
from mislid.geometry.alternatives import Alternative as Alternative
from mislid.geometry.alternatives import closest_alternative as closest_alternative
from mislid.geometry.alternatives import pair_alternative as pair_alternative
from mislid.geometry.projection import Projection as Projection
from mislid.geometry.projection import project as project
from mislid.geometry.spanner import spanner as spanner
from mislid.geometry.time import CharacteristicTime as CharacteristicTime
from mislid.geometry.time import characteristic_time as characteristic_time
from mislid.geometry.tube import smallest_misspecification as smallest_misspecification
from mislid.integrations.search import from_optuna as from_optuna
from mislid.model import Instance as Instance
from mislid.model import Model as Model
from mislid.model import load_instance as load_instance
from mislid.question import Question as Question
from mislid.simulation.identify import Identification as Identification
from mislid.simulation.identify import identify as identify
from mislid.simulation.replicate import replicate as replicate
from mislid.study import Study as Study
from mislid.study import StudyResult as StudyResult
from mislid.study import Trial as Trial
from mislid.study.manage import check_study as check_study
from mislid.study.manage import copy_study as copy_study
from mislid.study.manage import create_study as create_study
from mislid.study.manage import delete_study as delete_study
from mislid.study.manage import list_studies as list_studies
from mislid.study.manage import load_study as load_study
from mislid.verification import Verification as Verification
from mislid.verification import verify as verify

__version__: str
__all__: list[str]
