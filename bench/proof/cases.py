"""Answers to the conditions of graphs: what programs give in every case.

Numbers that a program compares are below, equal, above or not comparable. An `Oracle`
knows some of these relations; one that it does not know opens as many cases.
"""

import itertools
import math

from bench.proof.graph import (
    BUILD,
    EQUAL,
    FALSE,
    GREATER,
    LESS,
    TRUE,
    TURNED,
    UNORDERED,
    Node,
    condition,
    constant,
    make,
    relation_of,
    value,
)


class UndecidedError(Exception):
    """Several relations of two numbers are possible."""

    def __init__(self, question, relations):
        super().__init__("several answers")
        self.question, self.relations = question, relations


class Oracle:
    """What is known of the relations of numbers, and values under that knowledge.

    ``names`` renames or replaces inputs; with ``keep`` conditions stay. Only questions
    about the inputs ``free`` are open, if they are given: others have the first answer
    that is possible.
    """

    current = None

    def __init__(self, known=None, names=None, memo=None, keep=False, free=None):
        self.known, self.names = known or {}, names or {}
        self.memo = {} if memo is None else memo
        self.keep, self.free = keep, free

    @classmethod
    def of(cls, answers):
        """Return an oracle that knows relations of pairs of nodes."""
        known = {}
        for (a, b), relation in answers.items():
            known[min(a.number, b.number), max(a.number, b.number)] = (
                relation if a.number <= b.number else TURNED.get(relation, relation)
            )
        return cls(known)

    def questions(self):
        """Yield what is known: pairs of nodes with their relation."""
        for (first, second), relation in self.known.items():
            yield (Node.listed[first], Node.listed[second]), relation

    def told(self, question, relation):
        """Return an oracle that knows one answer more."""
        known = {**self.known, question: relation}
        return Oracle(known, self.names, dict(self.memo), free=self.free)

    def answer(self, test):
        """Return whether a condition holds."""
        return self.under(test) is TRUE

    def relation(self, a, b):
        """Return the relation of two numbers, a before b in number."""
        question = a.number, b.number
        if question in self.known:
            return self.known[question]
        possible = [LESS, EQUAL, GREATER, UNORDERED]
        if a is b:
            possible = [EQUAL, UNORDERED]
        elif constant(a) or constant(b):
            possible = self._consistent(a, b, possible)
        if self.free is not None and not self.free & (a.inputs | b.inputs):
            self.known[question] = possible[0]
            return possible[0]
        if len(possible) > 1:
            raise UndecidedError(question, possible)
        return possible[0]

    def _consistent(self, a, b, possible):
        """Return the relations that agree with those to other constants."""
        number, turned = (b, True) if constant(a) else (a, False)
        bound = value(a if turned else b)
        return [
            relation
            for relation in possible
            if all(
                _agree(
                    TURNED.get(relation, relation) if turned else relation, bound, *x
                )
                for x in self._constants(number)
            )
        ]

    def _constants(self, number):
        """Yield what is known of the relations of a number to constants."""
        for (one, two), relation in self.questions():
            turned = TURNED.get(relation, relation)
            if one is number and constant(two):
                yield relation, value(two)
            elif two is number and constant(one):
                yield turned, value(one)

    def under(self, top):
        """Return a node without conditions, by what is known."""
        memo, stack = self.memo, [top]
        while stack:
            one = stack[-1]
            if one.number in memo:
                stack.pop()
                continue
            chooses = one.kind == "select" and not self.keep
            needs = one.args[:1] if chooses else one.args
            missing = [x for x in needs if isinstance(x, Node) and x.number not in memo]
            if missing:
                stack.extend(missing)
                continue
            if chooses:
                test = memo[one.args[0].number]
                if test is not TRUE and test is not FALSE:
                    raise NotImplementedError(f"the condition {test}")
                chosen = one.args[1 if test is TRUE else 2]
                if chosen.number not in memo:
                    stack.append(chosen)
                    continue
                memo[one.number] = memo[chosen.number]
            else:
                memo[one.number] = self._built(one)
        return memo[top.number]

    def _built(self, one):
        if one.kind == "input":
            name = self.names.get(one.args[0], one.args[0])
            return name if isinstance(name, Node) else make("input", name)
        if one.kind in ("const", "true", "false"):
            return one
        args = [self.memo[x.number] if isinstance(x, Node) else x for x in one.args]
        built = BUILD[one.kind](*args)
        if built.kind != "compare" or self.keep:
            return built
        relations, a, b = built.args
        return condition(self.relation(a, b) & relations)


def _agree(relation, bound, known, other):
    """Return whether some number has two relations to two constants."""
    if UNORDERED in (relation, known):
        return relation == known
    if EQUAL in (relation, known):
        if relation == EQUAL:
            return relation_of(bound, other) == known
        return relation_of(other, bound) == relation
    if relation == known:
        return True
    return bound > other if relation == LESS else bound < other


def renamed(top, names, memo=None):
    """Return a node with other names of inputs; ``memo`` is of the same names."""
    return Oracle(names=names, memo=memo, keep=True).under(top)


def at(top, values):
    """Return a node at values of its inputs, which are nodes."""
    return Oracle(names=values).under(top)


def both_nan(a, b):
    return constant(a, b) and math.isnan(value(a)) and math.isnan(value(b))


def every(oracle, run, most=10**6):
    """Yield what a run gives in every case of the conditions it asks for."""
    waiting = [oracle]
    for count in itertools.count():
        if not waiting:
            return
        if count > most:
            raise NotImplementedError("too many cases")
        one = Oracle.current = waiting.pop()
        try:
            found = run(one)
        except UndecidedError as question:
            for relation in question.relations:
                waiting.append(one.told(question.question, relation))
            continue
        yield one, found


Node.answer = lambda test: Oracle.current.answer(test)
