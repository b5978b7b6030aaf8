"""The memory-updater: facts and episodes that outlive the prompt they were learned in.

They are read through `FactStore` and `EpisodicStore`.
"""

from weft.readmodel.rows import EpisodicStore as EpisodicStore
from weft.readmodel.rows import FactStore as FactStore
