"""LLM judges: what is asked, how replies are checked, how calls are made. The asking itself is behind `Judge`."""

from graders.judges.choice import Answer, Choice, Failure
from graders.judges.judge_grader import JudgeConfig, JudgeGrader
from graders.judges.request import ChatMessage, Judge, JudgeCallError, JudgeReply, JudgeRequest, TokenUsage

__all__ = [
    "Answer",
    "ChatMessage",
    "Choice",
    "Failure",
    "Judge",
    "JudgeCallError",
    "JudgeConfig",
    "JudgeGrader",
    "JudgeReply",
    "JudgeRequest",
    "TokenUsage",
]
