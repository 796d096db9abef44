"""Compiled: the walk through the lattice that tags every node as good or bad.

Groups stay sorted, so that those which merge are neighbours: a pass through memory merges or
counts them, many times faster than a hash table that does not fit into the cache. Where people have
several rows, a size has the people in its higher bits: k is compared with these, suppression with
the rows in the lower ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from veladura.base.jit import compiled, inner
from veladura.methods.kanonymity.kernels import SHAPE
from veladura.methods.kanonymity.lattice import ROW_BITS

_I, _U = types.int64, types.uint64
_ints, _codes = types.Array(_I, 1, "C"), types.Array(types.int32, 1, "C")
_tags = types.Array(types.int8, 1, "C")
_keys, _bits = types.Array(_U, 2, "C"), types.Array(_U, 1, "C")
_floats, _costs = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
ROWS = (1 << ROW_BITS) - 1  # of a size that has people in its higher bits


@inner(types.void(_keys, _I, _ints, _I, _codes))
def _lift(keys: Any, groups: int, place: Any, start: int, codes: Any) -> None:
    """Map the codes of one column, in place."""
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        keys[g, w] ^= (code ^ np.uint64(codes[start + np.int64(code)])) << shift


@inner(types.void(_keys, _ints, _I, _ints, _keys, _ints))
def _sort_by(keys: Any, sizes: Any, groups: int, place: Any, out_keys: Any, out_sizes: Any) -> None:
    """Sort groups by the codes of one column, those of one code in the order they have."""
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    # Unsigned: an index that cannot be negative needs no check.
    ends = np.zeros(place[2] + 2, np.uint64)
    one = np.uint64(1)
    if keys.shape[1] == 1:
        words, out = keys[:, 0], out_keys[:, 0]
        for g in range(groups):
            ends[((words[g] >> shift) & mask) + one] += one
        for i in range(1, ends.size):
            ends[i] += ends[i - 1]
        for g in range(groups):
            word = words[g]
            code = (word >> shift) & mask
            to = ends[code]
            ends[code] = to + one
            out[to] = word
            out_sizes[to] = sizes[g]
        return
    for g in range(groups):
        ends[((keys[g, w] >> shift) & mask) + one] += one
    for i in range(1, ends.size):
        ends[i] += ends[i - 1]
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        to = ends[code]
        ends[code] = to + one
        for i in range(keys.shape[1]):
            out_keys[to, i] = keys[g, i]
        out_sizes[to] = sizes[g]


@inner(_I(_ints, _I))
def _differences(totals: Any, count: Any) -> int:
    """Turn running totals into what each adds, in place; return their number."""
    before = 0
    for g in range(count):
        total = totals[g]
        totals[g] = total - before
        before = total
    return int(count)


@inner(_I(_keys, _ints, _I, _ints, _I, _codes))
def _merge(keys: Any, sizes: Any, groups: int, place: Any, start: int, codes: Any) -> int:
    """Lift the column that changes fastest and merge neighbours that became equal, in place.

    Return the number of groups.

    Whether a neighbour is equal cannot be foreseen, and a wrongly predicted branch costs more than
    all else here. So nothing is decided: every group is written, over the one before if that is
    equal, with the rows up to it; differences of these are the sizes.
    """
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    merged = np.uint64(0)  # unsigned: an index that cannot be negative needs no check
    if groups == 0:
        return 0
    if keys.shape[1] == 1:  # the common case, with everything in registers
        words, last, total, first = keys[:, 0], np.uint64(0), 0, np.uint64(start)
        for g in range(groups):
            word = words[g]
            code = (word >> shift) & mask
            word ^= (code ^ np.uint64(codes[first + code])) << shift
            if g == 0:
                last = word
            merged += np.uint64(word != last)
            total += sizes[g]
            words[merged] = word
            sizes[merged] = total
            last = word
        return _differences(sizes, np.int64(merged) + 1)
    count = -1
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        keys[g, w] ^= (code ^ np.uint64(codes[start + np.int64(code)])) << shift
        same = count >= 0
        for i in range(keys.shape[1]):
            same = same and keys[g, i] == keys[count, i]
        if same:
            sizes[count] += sizes[g]
            continue
        count += 1
        for i in range(keys.shape[1]):
            keys[count, i] = keys[g, i]
        sizes[count] = sizes[g]
    return count + 1


@inner(_I(_keys, _ints, _I, _bits, _ints))
def _sizes_within(keys: Any, sizes: Any, groups: int, mask: Any, out: Any) -> int:
    """Write the sizes of groups where neighbours that agree in the masked bits are one.

    Return their number. Rows up to a group and differences of them, as in `_merge`.
    """
    merged, total = np.uint64(0), 0
    if groups == 0:
        return 0
    if keys.shape[1] == 1:
        words, bits = keys[:, 0], mask[0]
        last = words[0] & bits
        for g in range(groups):
            word = words[g] & bits
            merged += np.uint64(word != last)
            total += sizes[g]
            out[merged] = total
            last = word
        return _differences(out, np.int64(merged) + 1)
    first = 0
    for g in range(groups):
        for w in range(keys.shape[1]):
            if (keys[g, w] ^ keys[first, w]) & mask[w] != 0:
                merged += np.uint64(1)
                first = g
                break
        total += sizes[g]
        out[merged] = total
    return _differences(out, np.int64(merged) + 1)


@inner(types.UniTuple(_I, 2)(_ints, _I, _I))
def _tallied(sizes: Any, groups: int, k: int) -> Any:
    """Return the number of groups of at least k, and the rows of smaller ones."""
    kept, small = 0, 0
    for g in range(groups):
        kept += 1 if sizes[g] >= k else 0
        small += sizes[g] & ROWS if sizes[g] < k else 0
    return kept, small


@inner(types.float64(_ints, _I, _I))
def _squares(sizes: Any, groups: int, k: int) -> float:
    """Return the sum of squared sizes of groups of at least k."""
    squares = 0.0
    for g in range(groups):
        size = float(sizes[g]) if sizes[g] >= k else 0.0
        squares += size * size
    return squares


@compiled(types.void(_tags, SHAPE, _I, types.boolean))
def spread(tags: Any, shape: Any, node: int, good: bool) -> None:  # noqa: FBT001
    """Tag a node, and all above a good one (1) or below a bad one (-1) that have no tag yet.

    Goodness is monotone: it only grows from a node to those above it.
    """
    direction, columns = 1 if good else -1, shape.heights.size
    tag = np.int8(direction)
    stack = np.empty(1024, np.int64)
    stack[0] = node * columns
    top = 1
    tags[node] = tag
    while top > 0:
        top -= 1
        # Columns change from the first to the last: so a node is reached in one way only.
        current, first = stack[top] // columns, stack[top] % columns
        rest = np.uint64(current % (shape.strides[first] * (shape.heights[first] + 1)))
        for c in range(first, columns):
            stride = np.uint64(shape.strides[c])
            level = rest // stride
            rest -= level * stride
            if np.int64(level) == (shape.heights[c] if good else 0):
                continue
            near = current + direction * shape.strides[c]
            if tags[near] == 0:
                tags[near] = tag
                if top == stack.size:
                    wider = np.empty(2 * top, np.int64)
                    for i in range(top):
                        wider[i] = stack[i]
                    stack = wider
                stack[top] = near * columns + c
                top += 1


@compiled(_ints(_tags, SHAPE))
def minimal_nodes(tags: Any, shape: Any) -> Any:
    """Return the good nodes all of whose direct predecessors are bad: the antichain."""
    minimal = np.empty(tags.size, np.int64)
    count = 0
    for node in range(tags.size):
        least = tags[node] == 1
        for c in range(shape.heights.size):
            if (
                least
                and node // shape.strides[c] % (shape.heights[c] + 1) > 0
                and tags[node - shape.strides[c]] == 1
            ):
                least = False
        if least:
            minimal[count] = node
            count += 1
    return minimal[:count].copy()


@inner(types.void(_keys, _ints, _I, _keys, _ints))
def _copy(keys: Any, sizes: Any, groups: int, out_keys: Any, out_sizes: Any) -> None:
    """Copy groups; loops compile in a tenth of the time that slices take."""
    for g in range(groups):
        out_sizes[g] = sizes[g]
    if keys.shape[1] == 1:
        words, out = keys[:, 0], out_keys[:, 0]
        for g in range(groups):
            out[g] = words[g]
        return
    for g in range(groups):
        for w in range(keys.shape[1]):
            out_keys[g, w] = keys[g, w]


@inner(_I(_ints, _ints, _I, _I))
def _offset(levels: Any, strides: Any, first: int, end: int) -> int:
    """Return what some columns at their levels add to the number of a node."""
    node = 0
    for c in range(first, end):
        node += levels[c] * strides[c]
    return node


@inner(types.void(_keys, _ints, SHAPE, _keys, _ints, _keys, _ints))
def _sort_all(
    keys: Any,
    sizes: Any,
    shape: Any,
    out_keys: Any,
    out_sizes: Any,
    other_keys: Any,
    other_sizes: Any,
) -> None:
    """Sort tuples with the first column changing fastest, then the second, and so on.

    Codes become those of level 0.
    """
    columns, count = shape.heights.size, sizes.size
    here_keys, here_sizes, there_keys, there_sizes = out_keys, out_sizes, other_keys, other_sizes
    if columns % 2 == 1:  # passes alternate between two places; the last one must end in the first
        here_keys, here_sizes, there_keys, there_sizes = (
            other_keys,
            other_sizes,
            out_keys,
            out_sizes,
        )
    _copy(keys, sizes, count, here_keys, here_sizes)
    for c in range(columns):
        _lift(here_keys, count, shape.places[c], shape.ranks[c], shape.codes)
        _sort_by(here_keys, here_sizes, count, shape.places[c], there_keys, there_sizes)
        here_keys, here_sizes, there_keys, there_sizes = (
            there_keys,
            there_sizes,
            here_keys,
            here_sizes,
        )


@inner(types.void(SHAPE, _keys))
def _fixed_bits(shape: Any, masks: Any) -> None:
    """Set row d of ``masks`` to the bits of the first d columns."""
    for c in range(shape.heights.size):
        for w in range(masks.shape[1]):
            masks[c + 1, w] = masks[c, w]
        masks[c + 1, shape.places[c, 0]] |= np.uint64(shape.places[c, 2]) << np.uint64(
            shape.places[c, 1]
        )


@inner(_I(_I, types.float64, _I, _I, _ints, _costs, _I))
def _noted(
    node: int, squares: float, kept: int, small: int, nodes: Any, tallies: Any, found: int
) -> int:
    """Note what was counted at a node; return how many are noted."""
    nodes[found] = node
    tallies[found, 0], tallies[found, 1], tallies[found, 2] = squares, kept, small
    return found + 1


@compiled(types.Tuple((_ints, _costs))(_keys, _ints, SHAPE, _I, _I, _tags, _I))
def walk(  # noqa: C901, PLR0912, PLR0915  # one loop, one state
    keys: Any, sizes: Any, shape: Any, k: int, allowed: int, tags: Any, budget: int
) -> tuple[Any, Any]:
    """Tag every node of the lattice as good (1) or bad (-1).

    Return the good nodes that were counted, all minimal ones among them, and for each the squares
    of groups of at least k, their number, and the rows of smaller ones.

    Levels are fixed column after column. With some fixed, the rest at the bottom merges least and
    the rest at the top most: if the last is bad all between are bad, if the first is good all are
    good, and only otherwise the next column is looked into (monotonicity). Tags spread
    to all nodes above a good and below a bad one. Stops when ``budget`` groups were handled.

    Pile d holds the groups with d columns fixed and the rest at the bottom. The column fixed last
    changes fastest in it, then come those not fixed, then the first ones: so a level more merges
    neighbours. Sorted by that column, which then changes slowest, it becomes the next pile, in
    which groups that agree in all fixed columns are neighbours: one pass counts the node with the
    rest at the top.
    """
    heights, strides = shape.heights, shape.strides
    columns, count, words = heights.size, sizes.size, keys.shape[1]
    pile_keys = np.empty((columns + 2, count, words), np.uint64)
    pile_sizes = np.empty((columns + 2, count), np.int64)
    # pile 0 is never written to and takes no memory: with many tuples it would take a tenth
    _sort_all(keys, sizes, shape, pile_keys[1], pile_sizes[1], pile_keys[2], pile_sizes[2])
    masks = np.zeros((columns + 1, words), np.uint64)
    _fixed_bits(shape, masks)
    held = np.full(columns + 2, count, np.int64)  # groups of each pile
    at = np.zeros(columns + 2, np.int64)  # level of its column
    level = np.zeros(columns, np.int64)
    room = np.empty(count, np.int64)
    nodes, tallies = np.empty(tags.size, np.int64), np.empty((tags.size, 3), np.float64)
    depth = handled = found = 0
    while handled <= budget:
        bottom = _offset(level, strides, 0, depth)
        top = bottom + _offset(heights, strides, depth, columns)
        if tags[top] != -1 and tags[bottom] != 1:
            last = depth - 1
            if depth > 0 and at[depth] != level[last]:
                handled += held[depth]
                start = shape.lifts[last, at[depth], level[last]]
                held[depth] = _merge(
                    pile_keys[depth],
                    pile_sizes[depth],
                    held[depth],
                    shape.places[last],
                    start,
                    shape.codes,
                )
                at[depth] = level[last]
            if tags[bottom] == 0:
                these = pile_sizes[depth if depth > 0 else 1]
                kept, small = _tallied(these, held[depth], k)
                spread(tags, shape, bottom, small <= allowed)
                if small <= allowed:
                    squares = _squares(these, held[depth], k)
                    found = _noted(bottom, squares, kept, small, nodes, tallies, found)
            if tags[bottom] == -1 and depth < columns:
                if depth > 0:
                    handled += held[depth]
                    below = pile_keys[depth], pile_sizes[depth]
                    above = pile_keys[depth + 1], pile_sizes[depth + 1]
                    if level[last] == heights[last]:  # one value: sorted already
                        _copy(*below, held[depth], *above)
                    else:
                        _sort_by(*below, held[depth], shape.places[last], *above)
                if tags[top] == 0:
                    merged = _sizes_within(
                        pile_keys[depth + 1], pile_sizes[depth + 1], held[depth], masks[depth], room
                    )
                    kept, small = _tallied(room, merged, k)
                    spread(tags, shape, top, small <= allowed)
                    if small <= allowed:
                        squares = _squares(room, merged, k)
                        found = _noted(top, squares, kept, small, nodes, tallies, found)
                if tags[top] == 1:
                    level[depth], at[depth + 1], held[depth + 1] = 0, 0, held[depth]
                    depth += 1
                    continue
        # Nothing is open here. If the bottom is good, so is every higher level of the column fixed
        # last.
        while depth > 0 and (tags[bottom] == 1 or level[depth - 1] == heights[depth - 1]):
            depth -= 1
            bottom = _offset(level, strides, 0, depth)
        if depth == 0:
            break
        level[depth - 1] += 1
    return nodes[:found].copy(), tallies[:found].copy()


class Model(NamedTuple):
    """A quality model for the walk, its columns in the order of the lattice's shape.

    Attributes
    ----------
    kind
        One of `LOSS` and so on.
    floors, starts
        The least cost of all open nodes with the first d columns at their levels, infinite if none
        is open: those of d columns begin at ``starts[d]``, nodes in their order.
    costs
        For each column and level the cost of all rows.
    shares, places, codes
        What suppressing a row adds for each code of each column and level, where that starts, and
        how many codes there are.
    weights, least, spread
        Of each column; see `quality.Quality`.
    """

    kind: Any
    floors: Any
    starts: Any
    costs: Any
    shares: Any
    places: Any
    codes: Any
    weights: Any
    least: Any
    spread: Any


_grid = types.Array(_I, 2, "C")
_model = types.NamedTuple(
    [_I, _floats, _ints, _costs, _floats, _grid, _grid, _floats, _floats, _floats], Model
)
_tally = types.Tuple((types.float64, _I, _I))
LOSS, ENTROPY, DISCERNIBILITY, CLASS_SIZE = range(4)
COUNTED = DISCERNIBILITY  # from here on no column has a cost of its own
TIE = 1e-9  # relative difference below which two nodes are equally good


@inner(types.float64(_tally, _I, _I, _I, _I))
def _least_cost(tally: Any, gone: int, k: int, rows: int, kind: int) -> Any:
    """Return what a node and all above it cost at least, if ``gone`` rows stay suppressed there.

    Groups of k stay, and only grow. A row in a smaller one is suppressed, or comes into a group of
    at least k. With all rows of smaller groups gone it is the cost of the node.
    """
    squares, kept, small = tally
    if kind == CLASS_SIZE:
        return rows / (kept + (small - gone) // k + (1 if small > 0 else 0))
    return squares + float(min(k, rows)) * float(small - gone) + float(rows) * float(gone)


@inner(types.float64(_keys, _ints, _I, _I, _I, SHAPE, _model, _ints, _floats))
def _suppressed_cost(
    keys: Any,
    sizes: Any,
    small: Any,
    column: int,
    level: int,
    shape: Any,
    model: Any,
    which: Any,
    counts: Any,
) -> float:
    """Return what the suppressed rows add to the cost of one column."""
    place = shape.places[column]
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    added, rows, start = 0.0, 0.0, model.places[column, level]
    if model.kind == LOSS:
        for i in range(small):
            at = start + np.int64((keys[which[i], w] >> shift) & mask)
            added += sizes[which[i]] * model.shares[at]
        return added
    for code in range(model.codes[column, level]):
        counts[code] = 0.0
    for i in range(small):
        counts[np.int64((keys[which[i], w] >> shift) & mask)] += sizes[which[i]]
        rows += sizes[which[i]]
    for code in range(model.codes[column, level]):
        if counts[code] > 0.0:
            added += counts[code] * np.log2(rows / counts[code])
    return added


@inner(types.float64(_keys, _ints, _I, _I, _I, _ints, SHAPE, _model, _ints, _floats))
def _cost_by_column(
    keys: Any,
    sizes: Any,
    groups: int,
    k: int,
    rows: int,
    levels: Any,
    shape: Any,
    model: Any,
    which: Any,
    counts: Any,
) -> float:
    """Return the cost of a node as `quality.Quality.value` defines it, from its sorted groups."""
    small, total = 0, 0.0
    for g in range(groups):
        which[small] = g
        small += 1 if sizes[g] < k else 0
    for c in range(levels.size):
        cost = model.costs[c, levels[c]]
        if small > 0:
            cost += _suppressed_cost(keys, sizes, small, c, levels[c], shape, model, which, counts)
        if model.kind == LOSS:
            scaled = max((cost / rows - model.least[c]) / model.spread[c], 0.0)
            total += np.log1p(scaled) * model.weights[c]
        else:
            total += cost * model.weights[c]
    return np.expm1(total) if model.kind == LOSS else total


@compiled(types.Tuple((_ints, _floats))(_keys, _ints, SHAPE, _I, _model, types.float64))
def judge(  # noqa: C901, PLR0912, PLR0915  # one loop, one state
    keys: Any, sizes: Any, shape: Any, k: int, model: Any, best: float
) -> tuple[Any, Any]:
    """Return open nodes and their costs: all that no node is better than, among others.

    With k = 1 nothing is suppressed: so a cost before suppression is found.

    Goes through the lattice as `walk` does, and leaves out what cannot be better than the best node
    so far: by the floors, and where groups are counted by what they cost at least in all nodes
    above.
    """
    heights, strides = shape.heights, shape.strides
    columns, count, words = heights.size, sizes.size, keys.shape[1]
    pile_keys = np.empty((columns + 2, count, words), np.uint64)
    pile_sizes = np.empty((columns + 2, count), np.int64)
    # pile 0 is never written to and takes no memory: with many tuples it would take a tenth
    _sort_all(keys, sizes, shape, pile_keys[1], pile_sizes[1], pile_keys[2], pile_sizes[2])
    held = np.full(columns + 2, count, np.int64)
    at, level = np.zeros(columns + 2, np.int64), np.zeros(columns, np.int64)
    which, most, rows = np.empty(count, np.int64), 0, 0
    for c in range(columns):
        most = max(most, shape.places[c, 2])
    counts = np.zeros(most + 1, np.float64)
    for g in range(count):
        rows += sizes[g]
    masks = np.zeros((columns + 1, words), np.uint64)
    _fixed_bits(shape, masks)
    tally = (0.0, 0, 0)
    nodes, costs, found = np.empty(64, np.int64), np.empty(64, np.float64), 0
    depth = 0
    while True:
        bottom, last, above = _offset(level, strides, 0, depth), depth - 1, False
        place = bottom // strides[last] if depth > 0 else 0
        limit = best + TIE * abs(best)
        floor = model.floors[model.starts[depth] + place]
        if floor < np.inf and floor <= limit:
            if depth > 0 and at[depth] != level[last]:
                start = shape.lifts[last, at[depth], level[last]]
                held[depth] = _merge(
                    pile_keys[depth],
                    pile_sizes[depth],
                    held[depth],
                    shape.places[last],
                    start,
                    shape.codes,
                )
                at[depth] = level[last]
            these = pile_keys[depth if depth > 0 else 1], pile_sizes[depth if depth > 0 else 1]
            if model.kind >= COUNTED:
                squares = 0.0
                if model.kind == DISCERNIBILITY:
                    squares = _squares(these[1], held[depth], k)
                kept, small = _tallied(these[1], held[depth], k)
                tally = (squares, kept, small)
                above = _least_cost(tally, 0, k, rows, model.kind) > limit
            if depth == columns and not above:
                if model.kind >= COUNTED:
                    cost = _least_cost(tally, tally[2], k, rows, model.kind)
                else:
                    cost = _cost_by_column(
                        *these, held[depth], k, rows, level, shape, model, which, counts
                    )
                if cost <= limit:
                    if found == nodes.size:
                        more_nodes = np.empty(2 * found, np.int64)
                        more_costs = np.empty(2 * found, np.float64)
                        for i in range(found):
                            more_nodes[i], more_costs[i] = nodes[i], costs[i]
                        nodes, costs = more_nodes, more_costs
                    nodes[found], costs[found] = bottom, cost
                    found += 1
                    best = min(best, cost)
            elif not above:
                if depth > 0 and level[last] == heights[last]:
                    _copy(*these, held[depth], pile_keys[depth + 1], pile_sizes[depth + 1])
                elif depth > 0:
                    _sort_by(
                        *these,
                        held[depth],
                        shape.places[last],
                        pile_keys[depth + 1],
                        pile_sizes[depth + 1],
                    )
                gone = 0  # rows that stay suppressed with all other columns at the top
                if model.kind == DISCERNIBILITY and depth > 0 and tally[2] > 0:
                    merged = _sizes_within(
                        pile_keys[depth + 1],
                        pile_sizes[depth + 1],
                        held[depth],
                        masks[depth],
                        which,
                    )
                    gone = _tallied(which, merged, k)[1]
                if gone == 0 or _least_cost(tally, gone, k, rows, model.kind) <= limit:
                    level[depth], at[depth + 1], held[depth + 1] = 0, 0, held[depth]
                    depth += 1
                    continue
        while depth > 0 and (above or level[depth - 1] == heights[depth - 1]):
            depth, above = depth - 1, False
        if depth == 0:
            return nodes[:found].copy(), costs[:found].copy()
        level[depth - 1] += 1
