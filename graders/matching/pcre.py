r"""The `pcre` dialect: PCRE2 10.x in UTF mode without UCP and without compile options.

Guaranteed to be as in PCRE2: `\d \w \s \b` and the POSIX classes are ASCII; `.` leaves out LF only; `$` and `\Z` also
match before a final newline and `\z` does not; `^` under m does not match after a newline that ends the text; inline
options anywhere; possessive and atomic groups, look-around, conditionals, recursion, `\K`, `\Q…\E`, `\R`, `\h`, `\v`,
comments, named groups in all three spellings.

Ours, and stated: the text is code points where Aludel matches bytes. Refused with a position, because the engine that
backtracks would answer differently or not at all: control verbs `(*…)`, callouts, branch reset `(?|`, `(?J)`, `\X`,
`\C`, `\p` of anything but a general category, conditions on recursion, recursion together with back references,
case-insensitive back references whose group can hold a letter that folds outside ASCII, and captures that are referred
to across a look-behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graders.matching import charset
from graders.matching.parsing import DECIMAL_DIGITS, ParsedPattern, repeat
from graders.matching.pcre_escapes import NOT_NEWLINE, Options, PcreEscapes
from graders.matching.syntax import (
    EMPTY,
    Anchor,
    Atomic,
    BackReference,
    Call,
    Capture,
    Chars,
    Choice,
    Conditional,
    Definitions,
    Greed,
    Look,
    Node,
    Position,
    Repeat,
    Sequence,
    children,
    walk,
    widths,
)

_MOST_REPEATS = 65535
_MOST_LOOKBEHIND = 255
_PATTERN_SPACE = frozenset("\t\n\x0b\x0c\r \x85\u200e\u200f\u2028\u2029")
_OPTION_OF = {
    "i": "ignore_case",
    "m": "multiline",
    "s": "dot_all",
    "x": "extended",
    "n": "no_capture",
    "U": "ungreedy",
}


def parse_pcre(pattern: str, flags: str) -> ParsedPattern:
    """The tree of a PCRE2 pattern.

    Args:
        pattern: as PCRE2 takes it, without delimiters.
        flags: letters of i, m, s.

    Raises:
        InvalidPattern: if PCRE2 refuses it, or this engine does.
    """
    options = Options(ignore_case="i" in flags, multiline="m" in flags, dot_all="s" in flags)
    return _PcreParser(pattern, options).parse()


class _PcreParser(PcreEscapes):
    def __init__(self, pattern: str, options: Options) -> None:
        super().__init__(pattern, options)
        self.lookbehinds: list[tuple[Look, int]] = []

    def parse(self) -> ParsedPattern:
        root = self.whole()
        root = self._resolved(root)
        for target, at in self.pending:
            if isinstance(target, str) and target not in self.names:
                raise self.invalid("reference to a group that does not exist", at)
            if isinstance(target, int) and target > self.group_count:
                raise self.invalid("reference to a group that does not exist", at)
        for look, at in self.lookbehinds:
            self._check_lookbehind(look.item, at)
        return ParsedPattern(root, self.group_count, self.names)

    def _resolved(self, node: Node) -> Node:
        """`node` with references by name turned into numbers (negative numbers stand for names until here)."""
        match node:
            case BackReference(number, folded, at) if number < 0:
                return BackReference(self._number_of(number), folded, at)
            case Call(number, at) if number < 0:
                return Call(self._number_of(number), at)
            case Conditional(condition, then, otherwise):
                if isinstance(condition, int):
                    tested: int | Look = condition if condition >= 0 else self._number_of(condition)
                else:
                    tested = replace(condition, item=self._resolved(condition.item))
                return Conditional(tested, self._resolved(then), self._resolved(otherwise))
            case Sequence(items):
                return Sequence(tuple(self._resolved(item) for item in items))
            case Choice(branches):
                return Choice(tuple(self._resolved(branch) for branch in branches))
            case Repeat(item=item) | Capture(item=item) | Atomic(item) | Look(item=item) | Definitions(item):
                return replace(node, item=self._resolved(item))
            case _:
                return node

    def _number_of(self, placeholder: int) -> int:
        name, at = self.pending[-placeholder - 1]
        if name not in self.names:
            raise self.invalid("reference to a group that does not exist", at)
        return self.names[str(name)]

    def _check_lookbehind(self, body: Node, at: int) -> None:
        branches = body.branches if isinstance(body, Choice) else (body,)
        for branch in branches:
            least, most = widths(branch)
            if any(isinstance(node, BackReference | Call) for node in walk(branch)):
                raise self.unsupported("a reference or a call inside a look-behind", at)
            if most is None or _has_open_repeat(branch):
                raise self.invalid("the length of a look-behind is not limited", at)
            if least != most and most > _MOST_LOOKBEHIND:
                raise self.invalid("a branch of a look-behind of variable length is too long", at)
            if most > 65535:
                raise self.invalid("a look-behind is too long", at)

    def skip_ignored(self) -> None:
        """Step over what stands for nothing: comments, empty quotations, and white space under x."""
        while not self.quoting:
            if self.looking_at("(?#"):
                end = self.pattern.find(")", self.position)
                if end < 0:
                    raise self.invalid("missing ) after a comment")
                self.position = end + 1
            elif self.looking_at("\\E"):
                self.position += 2
            elif self.looking_at("\\Q\\E"):
                self.position += 4
            elif self.options.extended and self.peek() and self.peek() in _PATTERN_SPACE:
                self.position += 1
            elif self.options.extended and self.looking_at("#"):
                end = self.pattern.find("\n", self.position)
                self.position = len(self.pattern) if end < 0 else end + 1
            else:
                return

    def branch(self) -> Node:
        items: list[Node] = []
        while True:
            self.skip_ignored()
            if self.at_end() or (not self.quoting and self.peek() in "|)"):
                return Sequence(tuple(items)) if len(items) != 1 else items[0]
            start = self.position
            self.quantifiable = False
            atom = self.atom()
            if atom is not None:
                items.append(self.quantified(atom, start))

    def alternation(self) -> Node:
        before = self.options
        branches = [self.branch()]
        while self.accept("|"):
            branches.append(self.branch())
        self.options = before
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def atom(self) -> Node | None:
        at = self.position
        character = self.peek()
        if self.quoting:
            return self.quoted()
        if character == "(":
            return self.group()
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.char_class()
        if character in "*+?" or (character == "{" and self.braces(at) is not None):
            raise self.invalid("a quantifier that does not follow a repeatable item", at)
        self.position = at + 1
        if character == "^":
            return Position(Anchor.LINE_START_INNER if self.options.multiline else Anchor.TEXT_START)
        if character == "$":
            return Position(Anchor.LINE_END if self.options.multiline else Anchor.FINAL_END)
        if character == ".":
            self.quantifiable = True
            return Chars(charset.EVERYTHING if self.options.dot_all else NOT_NEWLINE)
        return self.literal(ord(character))

    def quoted(self) -> Node | None:
        if self.accept("\\E"):
            self.quoting = False
            return None
        character = self.peek()
        self.position += 1
        if self.accept("\\E"):
            self.quoting = False
        return self.literal(ord(character))

    def braces(self, pattern_from: int) -> tuple[int, int | None] | None:
        """PCRE2 10.43 and later also take `{,n}` and blanks inside the braces."""
        self.position = pattern_from + 1
        blank = frozenset(" \t")
        self.take_while(blank)
        low = self.take_while(DECIMAL_DIGITS)
        self.take_while(blank)
        comma = self.accept(",")
        self.take_while(blank)
        high = self.take_while(DECIMAL_DIGITS) if comma else ""
        self.take_while(blank)
        if not self.accept("}") or not (low or high):
            self.position = pattern_from
            return None
        for digits in (low, high):
            if digits and (len(digits) > 9 or int(digits) > _MOST_REPEATS):
                raise self.invalid("a number too big in a {} quantifier", pattern_from)
        least = int(low) if low else 0
        most = int(high) if high else (None if comma else least)
        if most is not None and least > most:
            raise self.invalid("numbers out of order in a {} quantifier", pattern_from)
        return least, most

    def quantified(self, atom: Node, start: int) -> Node:
        quantifiable = self.quantifiable
        self.skip_ignored()
        at = self.position
        if self.quoting:
            return atom
        bounds = self._bounds(at)
        if bounds is None:
            return atom
        if not quantifiable:
            raise self.invalid("a quantifier that does not follow a repeatable item", at)
        greed = Greed.GREEDY
        if self.accept("+"):
            greed = Greed.POSSESSIVE
        elif self.accept("?") != self.options.ungreedy:
            greed = Greed.LAZY
        behind = self.position
        self.skip_ignored()
        if self.position > behind and self.peek() and self.peek() in "*+?{":
            raise self.unsupported("something ignored between a quantifier and another", behind)
        if isinstance(atom, Look):
            return self._quantified_look(atom, bounds[0], start)
        return repeat(atom, bounds[0], bounds[1], greed)

    def _quantified_look(self, look: Look, least: int, start: int) -> Node:
        if self.in_look:
            raise self.unsupported("a repeated look-around inside another", start)
        if least == 0 and any(isinstance(node, Capture) for node in walk(look)):
            raise self.unsupported("an optional look-around that captures", start)
        return look if least else EMPTY

    def _bounds(self, at: int) -> tuple[int, int | None] | None:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        return self.braces(at) if self.looking_at("{") else None

    def group(self) -> Node | None:
        at = self.position
        self.position += 1
        if self.looking_at("*"):
            raise self.unsupported("control verbs and other (*…) items", at)
        if not self.accept("?"):
            return self.plain_group(at) if self.options.no_capture else self.capture(at)
        for opening, handler in self._group_kinds():
            if self.accept(opening):
                return handler(at)
        return self.option_setting(at)

    def _group_kinds(self) -> tuple[tuple[str, Callable[[int], Node]], ...]:
        return (
            (":", self.plain_group),
            (">", self.atomic_group),
            ("=", lambda at: self.look(at, ahead=True, negative=False)),
            ("!", lambda at: self.look(at, ahead=True, negative=True)),
            ("<=", lambda at: self.look(at, ahead=False, negative=False)),
            ("<!", lambda at: self.look(at, ahead=False, negative=True)),
            ("P<", lambda at: self.named_group(at, ">")),
            ("<", lambda at: self.named_group(at, ">")),
            ("'", lambda at: self.named_group(at, "'")),
            ("P=", lambda at: self.reference_by_name(at, ")")),
            ("P>", lambda at: self.call_by_name(at)),
            ("&", lambda at: self.call_by_name(at)),
            ("(", self.conditional),
            ("|", lambda at: self.refuse("branch reset groups (?|…)", at)),
            ("C", lambda at: self.refuse("callouts (?C…)", at)),
            ("*", lambda at: self.refuse("(?*…) items", at)),
            ("[", lambda at: self.refuse("extended classes (?[…])", at)),
            ("R)", lambda at: self.call(0, at)),
        )

    def refuse(self, what: str, at: int) -> Node:
        raise self.unsupported(what, at)

    def plain_group(self, at: int) -> Node:
        body = self.group_body(at)
        self.quantifiable = True
        return Sequence((body,))

    def atomic_group(self, at: int) -> Node:
        body = self.group_body(at)
        self.quantifiable = True
        return Atomic(body)

    def look(self, at: int, *, ahead: bool, negative: bool) -> Node:
        self.in_look += 1
        look = Look(self.group_body(at), ahead, negative)
        self.in_look -= 1
        self.quantifiable = True
        if not ahead:
            self.lookbehinds.append((look, at))
        return look

    def capture(self, at: int) -> Node:
        self.group_count += 1
        number = self.group_count
        body = self.group_body(at)
        self.quantifiable = True
        return Capture(number, body)

    def named_group(self, at: int, closing: str) -> Node:
        name = self.name(closing)
        if name in self.names:
            raise self.invalid("two groups have the same name", at)
        self.names[name] = self.group_count + 1
        return self.capture(at)

    def call_by_name(self, at: int) -> Node:
        return self.call(self.placeholder(self.name(")"), at), at)

    def conditional(self, at: int) -> Node:
        condition = self.condition(at)
        if condition is None:
            body = self.group_body(at)
            if isinstance(body, Choice):
                raise self.invalid("a DEFINE group with more than one branch", at)
            return Definitions(body)
        body = self.group_body(at)
        self.quantifiable = True
        branches = body.branches if isinstance(body, Choice) else (body, EMPTY)
        if len(branches) > 2:
            raise self.invalid("a conditional group with more than two branches", at)
        return Conditional(condition, branches[0], branches[1])

    def condition(self, at: int) -> int | Look | None:
        """What a conditional group tests; None for DEFINE."""
        if self.accept("DEFINE)"):
            return None
        for opening, ahead, negative in (("?=", 1, 0), ("?!", 1, 1), ("?<=", 0, 0), ("?<!", 0, 1)):
            if self.accept(opening):
                look = self.look(at, ahead=bool(ahead), negative=bool(negative))
                assert isinstance(look, Look)
                return look
        if self.accept("<"):
            return self._condition_name(">", at)
        if self.accept("'"):
            return self._condition_name("'", at)
        if self.peek() in "?*" or self.looking_at("R") or self.looking_at("VERSION"):
            raise self.unsupported("this kind of condition", at)
        sign = "-" if self.accept("-") else "+" if self.accept("+") else ""
        digits = self.take_while(DECIMAL_DIGITS)
        if digits:
            number = self.relative(sign, digits, at)
            if not self.accept(")") or number == 0:
                raise self.invalid("a malformed condition", at)
            self.pending.append((number, at))
            return number
        return self.placeholder(self.name(")"), at)

    def _condition_name(self, closing: str, at: int) -> int:
        name = self.name(closing)
        if not self.accept(")"):
            raise self.invalid("missing ) after a condition", at)
        return self.placeholder(name, at)

    def option_setting(self, at: int) -> Node | None:
        sign = "-" if self.looking_at("-") else "+" if self.looking_at("+") else ""
        start = self.position + len(sign)
        if self.pattern[start : start + 1] in DECIMAL_DIGITS and start < len(self.pattern):
            self.position = start
            number = self.relative(sign, self.take_while(DECIMAL_DIGITS), at)
            if not self.accept(")"):
                raise self.invalid("missing ) after a group number", at)
            return self.call(number, at)
        options = self.new_options(at)
        if self.accept(")"):
            self.options = options
            return None
        self.position += 1
        before, self.options = self.options, options
        body = self.group_body(at)
        self.options = before
        self.quantifiable = True
        return Sequence((body,))

    def new_options(self, at: int) -> Options:
        """The options after `(?`, up to but not over the `)` or `:` that ends their letters."""
        options, setting, unset_seen = self.options, True, False
        if self.accept("^"):
            options, unset_seen = replace(Options(), ungreedy=options.ungreedy), True
        while self.peek() not in (")", ":"):
            letter = self.peek()
            if letter == "-":
                if unset_seen:
                    raise self.invalid("an invalid hyphen in an option setting")
                setting, unset_seen = False, True
            elif letter in _OPTION_OF:
                options = replace(options, **{_OPTION_OF[letter]: setting})
                if letter == "x":
                    doubled = setting and self.pattern[self.position + 1 : self.position + 2] == "x"
                    self.position += doubled
                    options = replace(options, extended_more=doubled)
            elif letter in ("J", "a", "r"):
                raise self.unsupported(f"the option {letter}", self.position)
            else:
                raise self.invalid("an unrecognised character after (?", at if not letter else self.position)
            self.position += 1
        return options


def _has_open_repeat(node: Node) -> bool:
    """Whether `node`, look-arounds aside, repeats something without end, be it nothing."""
    if isinstance(node, Repeat) and node.most is None:
        return True
    return not isinstance(node, Look) and any(map(_has_open_repeat, children(node)))
