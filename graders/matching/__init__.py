"""Bounded regular expression matching: no pattern and no text can hurt a run.

`compile(pattern, dialect, limits)` gives a `Pattern`; `Pattern.match_array` judges an Arrow array of texts and
`Pattern.match_text` one text. A verdict is matched, not matched, or the name of a limit: `pattern_size`,
`subject_size`, `timeout`, `memory` or `grader_budget`. A pattern that its dialect does not have is `InvalidPattern`
when it is compiled.

Two tiers stand behind the interface. Where a pattern, translated for its dialect, provably means the same in RE2, and
RE2's worst case on the text fits the budget, whole arrays run in `pyarrow.compute`. Every other text runs in the
`regex` package in a worker process, which the kernel ends when one evaluation has used its CPU time. `Pattern.tier`
and `Pattern.tier_reason` say which texts that is. Before a text backtracks, RE2 looks whether a wider pattern matches in
it (`graders.matching.sieve`); where that does not, neither does the pattern, and no worker is asked.

Texts and patterns are code points in every dialect; offsets are code points, sizes are UTF-8 bytes. What each dialect
guarantees and refuses stands in `graders.matching.ecma`, `graders.matching.pcre` and `graders.matching.python`.
"""

from graders.matching.errors import InvalidPattern as InvalidPattern
from graders.matching.limits import LIMIT_NAMES as LIMIT_NAMES
from graders.matching.limits import MatchLimits as MatchLimits
from graders.matching.pattern import Dialect as Dialect
from graders.matching.pattern import Match as Match
from graders.matching.pattern import MatchArray as MatchArray
from graders.matching.pattern import Outcome as Outcome
from graders.matching.pattern import Pattern as Pattern
from graders.matching.pattern import compile as compile
