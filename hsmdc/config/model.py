"""The whole configuration of a site."""

from pydantic import Field

from hsmdc.config.base import Section
from hsmdc.config.node import NodeLayer
from hsmdc.config.sections import Arrivals, Cooling, Jobs, Residual, Scheduler, Site, Weather


class Config(Section):
    """A site: its nodes, its jobs, its cooling and its weather. Built by `load_config`."""

    name: str
    description: str = ""
    provenance: str = Field(
        default="", description="where the numbers come from, and the command that made them"
    )
    site: Site
    arrivals: Arrivals = Arrivals()
    jobs: Jobs
    scheduler: Scheduler = Scheduler()
    residual: Residual = Residual()
    node: NodeLayer = Field(default_factory=NodeLayer)
    cooling: Cooling = Cooling()
    weather: Weather = Weather()
