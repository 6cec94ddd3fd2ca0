"""What the lanes of a warp do together in a PTX text, whoever wrote it.

`counts` has how often each kind of collective word stands in a kernel, and `faults` finds those that the lanes of
a warp may not reach together: behind a branch that they may take apart, and before they meet again.

# How it is found
For each register it is computed which of its bits may differ between the lanes of a warp. In `%tid.x` those are
the lowest five: blocks have one dimension and whole warps. Shifts, masks and sums follow the bits; everything
else that depends on one that may differ differs in all. What a warp votes or shuffles from one lane is the same in
all lanes, and so is what they load from the same place (the emulator looks for races), but for accesses that wait
for other threads. A branch whose condition may differ takes lanes apart until the block that all its ways lead
through; a register written in between may differ after it. Ways that end in `trap` lead nowhere.
"""

import re

WORDS = {
    "block barriers": re.compile(r"(bar|barrier)(\.cta)?\.(sync|red|arrive)\b"),
    "warp barriers": re.compile(r"bar\.warp\.sync\b"),
    "shuffles": re.compile(r"shfl\.sync\b"),
    "votes": re.compile(r"(vote|match|redux)\.sync\b"),
    "products": re.compile(r"mma\.sync\b"),
}
ALL = (1 << 64) - 1
LANE = 31
NO_LANE = (0, 0)
ENDS = ("bra", "brx", "ret", "exit")

TOKEN = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?\*/|[{};]|[^{};"/]+|/', re.S)
OPERAND = re.compile(r"%[\w$]+(?:\.[xyzw])?|-?[\w$]+")


def word_of(opcode):
    """The kind of collective word that an opcode is, or None."""
    return next((kind for kind, pattern in WORDS.items() if pattern.match(opcode)), None)


class Instruction:
    """One statement: its opcode and operands, with the registers of inner scopes told apart."""

    __slots__ = ("text", "opcode", "guard", "writes", "reads", "operands", "block")

    def __init__(self, text, names):
        self.text = text
        guard = re.match(r"@!?(%?[\w$]+)\s+", text)
        self.guard = names(guard[1]) if guard else None
        body = text[guard.end():] if guard else text
        self.opcode, _, rest = body.partition(" ")
        self.operands = split(rest, names)
        operation = self.opcode.split(".")[0]
        self.writes, self.reads = [], []
        starts = 1
        if operation in ("st", "bra", "brx", "bar", "barrier", "ret", "exit", "trap", "fence", "membar", "red",
                         "prefetch", "call", "discard", "nanosleep", "cp") and not self.opcode.startswith(
                             ("bar.red", "barrier.red", "barrier.cta.red")):
            starts = 0
        for operand in self.operands[:starts]:
            self.writes += [part for part in operand if part.startswith("%")]
        if operation == "call" and rest.lstrip().startswith("("):
            self.writes += [part for part in self.operands[0] if part.startswith("%")]
        for operand in self.operands[starts:]:
            self.reads += [part for part in operand if part.startswith("%")]
        if self.guard:
            self.reads.append(self.guard)
        self.block = None


def split(text, names):
    """Operands at commas outside of brackets: each the list of its words, registers by their unique names."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "{[(":
            depth += 1
        elif letter in "}])":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [[names(word) for word in OPERAND.findall(part)] for part in parts if part.strip()]


def statements(text):
    """The pieces of a PTX text: statements, braces, and labels with their colon."""
    pending = ""
    for token in TOKEN.findall(text):
        if token.startswith(("//", "/*")):
            continue
        if token == ";":
            pending = pending.strip()
            if pending:
                yield " ".join(pending.split())
            pending = ""
        elif token in "{}":
            # A list of registers is part of a statement: something other than a label stands before it.
            if token == "{" and LABELS.sub("", pending).strip() or token == "}" and "{" in pending:
                pending += token
                continue
            yield from LABELS.findall(pending)
            pending = LABELS.sub("", pending).strip()
            if pending:
                yield " ".join(pending.split())
            pending = ""
            yield token
        else:
            pending += token
            if pending.count("{") == pending.count("}"):
                labels = LABELS.match(pending)
                while labels and not TARGETS.match(pending):
                    yield labels[1]
                    pending = pending[labels.end():]
                    labels = LABELS.match(pending)


LABELS = re.compile(r"\s*([\w$]+:)(?!:)")
TARGETS = re.compile(r"\s*[\w$]+:\s*\.(branch|call)targets")


def entries(text, kind="entry"):
    """The names and bodies of the kernels in a text, or of its functions: all between their outer braces."""
    for found in re.finditer(rf"\.{kind}\s+(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?[^;{{]*(?=\{{)", text):
        begin = re.compile(r"^\s*\{", re.M).search(text, found.end()).end()
        depth, at = 1, begin
        while depth:
            at = min((place for place in (text.find("{", at), text.find("}", at)) if place >= 0))
            depth += 1 if text[at] == "{" else -1
            at += 1
        yield found[1], text[begin:at - 1]


class Kernel:
    """The instructions of a kernel in blocks, with the ways between them."""

    def __init__(self, name, body, endless=()):
        self.name = name
        scopes, fresh = [{}], 0
        self.local_depot, self.dead = False, set()
        blocks, labels, self.targets = [[]], {}, {}
        self.code = []

        def names(word):
            if word.startswith("%"):
                for scope in reversed(scopes):
                    if word in scope:
                        return scope[word]
            return word

        for piece in statements(body):
            if piece == "{":
                scopes.append({})
            elif piece == "}":
                scopes.pop()
            elif piece.startswith("."):
                if piece.startswith(".local"):
                    self.local_depot = True
                if piece.startswith(".reg") and len(scopes) > 1:
                    for register, many in re.findall(r"(%?[\w$]+)(<\d+>)?(?=\s*(?:,|$))", piece.split(None, 2)[2]):
                        count = [""] if not many else range(int(many[1:-1]))
                        for number in count:
                            fresh += 1
                            scopes[-1][f"{register}{number}"] = f"%{register.strip('%')}{number}'{fresh}"
            elif ".branchtargets" in piece:
                label, listed = piece.split(":", 1)
                self.targets[label.strip()] = re.findall(r"\$?[\w$]+", listed.split(".branchtargets", 1)[1])
            elif piece.endswith(":"):
                if blocks[-1]:
                    blocks.append([])
                labels[piece[:-1].strip()] = len(blocks) - 1
            else:
                one = Instruction(piece, lambda word: self.scoped(word, scopes))
                one.block = len(blocks) - 1
                blocks[-1].append(one)
                self.code.append(one)
                if one.opcode == "trap" and not one.guard or one.opcode.startswith("call") and any(
                        word in endless for operand in one.operands for word in operand):
                    self.dead.add(one.block)
                if one.opcode.split(".")[0] in ("bra", "brx", "ret", "exit", "trap"):
                    blocks.append([])
        self.blocks = blocks
        self.ways = []
        end = len(blocks)
        for number, block in enumerate(blocks):
            last = block[-1] if block else None
            after = [number + 1] if number + 1 < end else [end]
            operation = last.opcode.split(".")[0] if last else ""
            if number in self.dead:
                ways = []
            elif operation == "bra":
                ways = [labels[last.operands[0][0]]] + (after if last.guard else [])
            elif operation == "brx":
                ways = [labels[label] for label in self.targets[last.operands[-1][0]]]
            elif operation in ("ret", "exit"):
                ways = [end] + (after if last.guard else [])
            else:
                ways = after
            self.ways.append(sorted(set(ways)))
        # What leads to a trap only.
        changed = True
        while changed:
            changed = False
            for number, ways in enumerate(self.ways):
                if number not in self.dead and ways and all(way in self.dead for way in ways):
                    self.dead.add(number)
                    changed = True
        self.ways = [[way for way in ways if way not in self.dead] for ways in self.ways]
        self.meeting = self.post_dominators(end)

    @staticmethod
    def scoped(word, scopes):
        for scope in reversed(scopes):
            if word in scope:
                return scope[word]
        return word

    def post_dominators(self, end):
        """The block that all ways from a block lead through next: `end` is behind the last."""
        back = [[] for _ in range(end + 1)]
        for number, ways in enumerate(self.ways):
            for way in ways:
                back[way].append(number)
        # From the end backwards, in an order in which most successors come first.
        order, seen, stack = [], {end}, [(end, iter(back[end]))]
        while stack:
            block, rest = stack[-1]
            for previous in rest:
                if previous not in seen:
                    seen.add(previous)
                    stack.append((previous, iter(back[previous])))
                    break
            else:
                order.append(block)
                stack.pop()
        order.reverse()
        place = {block: nth for nth, block in enumerate(order)}
        meeting = {end: end}

        def common(a, b):
            while a != b:
                while place[a] > place[b]:
                    a = meeting[a]
                while place[b] > place[a]:
                    b = meeting[b]
            return a

        changed = True
        while changed:
            changed = False
            for block in order[1:]:
                ways = [way for way in self.ways[block] if way in meeting]
                new = ways[0]
                for way in ways[1:]:
                    new = common(new, way)
                if meeting.get(block) != new:
                    meeting[block] = new
                    changed = True
        # A loop without an end: nothing is behind it.
        return [meeting.get(number, end) for number in range(end)]

    def region(self, number):
        """The blocks between a branch and where its ways meet."""
        meeting, found, stack = self.meeting[number], set(), list(self.ways[number])
        while stack:
            block = stack.pop()
            if block != meeting and block not in found and block < len(self.blocks):
                found.add(block)
                stack += self.ways[block]
        return found


def constant(word):
    try:
        return int(word, 0)
    except ValueError:
        return None


def zeros_of(number):
    """How many of the lowest bits of a number are zero."""
    return (number & -number).bit_length() - 1 if number else 64


def bits(mask, form=None, zeros=0):
    """A value of which these bits may differ."""
    return (mask, form, zeros) if mask else (0, NO_LANE, zeros)


def added(one, other, sign, limit):
    """A sum or a difference: it may carry, from the lowest bit that may differ on, unless there is none to carry to."""
    (mask, form, zeros), (another, of_another, others) = one, other
    both = mask | another
    if not another and mask.bit_length() <= others or not mask and sign > 0 and another.bit_length() <= zeros:
        found = both
    else:
        found = ALL & -(both & -both) & limit if both else 0
    if form is None or of_another is None:
        together = None
    elif not form[1] or not of_another[1] or form[0] == of_another[0]:
        together = form[0] if form[1] else of_another[0], form[1] + sign * of_another[1]
    else:
        together = None
    if together and not together[1]:
        found = 0
    return bits(found, together, min(zeros, others))


def multiplied(one, constant_one, other, constant_other, is_wide, is_signed, size):
    """A product."""
    (mask, form, zeros), (another, of_another, others) = one, other
    if constant_one is not None:
        (mask, form, zeros), (another, of_another, others) = other, one
        constant_other = constant_one
    limit = ALL if is_wide else (1 << size) - 1
    factor = constant_other
    if factor is None or another:
        both = mask | another
        return bits(ALL & -(both & -both) & limit if both else 0, None, min(zeros + others, 64))
    if factor > 0 and not factor & factor - 1 and not (is_wide and is_signed and mask >> size - 1):
        found = mask * factor & limit
    else:
        found = ALL & -(mask & -mask) & limit if mask else 0
    # Wider, a number that has overflowed is another.
    keeps = form is not None and (not is_wide or form[1] == 1 and mask == LANE >> form[0])
    return bits(found, (form[0], form[1] * factor) if keeps and factor else None, min(zeros + others, 64))


def width(opcode):
    found = re.findall(r"\.(?:[bus]|pred)(\d*)", opcode)
    bits = found[-1] if found else ""
    return int(bits) if bits else 64


class Differing:
    """How each register may differ between the lanes of a warp, and which branches take lanes apart.

    A value is a triple. First the bits that may differ. Then, where it is the same in all lanes but for a multiple of
    the lane's number shifted right, how far and how often: `NO_LANE` where nothing differs, None where it is something
    else. Last how many of its lowest bits are zero, but for those that may differ.
    """

    SAME, ANY = (0, NO_LANE, 0), (ALL, None, 0)

    def __init__(self, kernel):
        self.kernel = kernel
        # What each instruction writes, and what it reads: the writes that each of its registers may come from.
        self.written, self.sources, self.users = {}, {}, {}
        self.trace()
        # Pairs of a write between the ways of a branch that takes lanes apart, and a read behind: those that may
        # differ so, and those where it is the same on all ways as far as is known.
        self.behind, self.alike_so_far = set(), set()
        self.local, self.apart, self.now = False, {}, None
        loads = [one for one in kernel.code if one.opcode.startswith("ld.") and self.space(one.opcode) in ("local", "")]
        pending, turns, known = list(reversed(kernel.code)), {}, 0
        waiting = set(pending)
        while True:
            while pending:
                one = self.now = pending.pop()
                waiting.discard(one)
                turns[one] = turns.get(one, 0) + 1
                was_local = self.local
                again = set(self.users[one]) if self.step(one, turns[one] > 40) else set()
                if one.opcode.startswith(ENDS) and one.block not in self.apart and len(
                        kernel.ways[one.block]) > 1 and any(map(self.mask, one.reads)):
                    again |= self.part(one)
                for use in again | (set(loads) if self.local != was_local else set()):
                    if use not in waiting:
                        waiting.add(use)
                        pending.append(use)
            if known == len(self.apart):
                break
            # With more branches less may be alike.
            known = len(self.apart)
            for branch, inside, use in list(self.alike_so_far):
                if not self.alike_behind(branch, inside, use):
                    self.alike_so_far.remove((branch, inside, use))
                    self.behind.add((inside, use))
                    pending.append(use)
            pending += [one for one in kernel.code if any(len(found) > 1 for found in self.sources[one].values())]
            pending = list(dict.fromkeys(pending))
            waiting = set(pending)

    def part(self, branch):
        """Notes a branch that takes lanes apart; the reads of what may differ for that."""
        region = self.kernel.region(branch.block)
        self.apart[branch.block] = (branch, region)
        again = set()
        for block in region:
            for inside in self.kernel.blocks[block]:
                self.local |= self.stores_locally(inside)
                for use in self.users[inside]:
                    if use.block in region or (inside, use) in self.behind:
                        continue
                    if self.alike_behind(branch, inside, use):
                        self.alike_so_far.add((branch, inside, use))
                    else:
                        self.behind.add((inside, use))
                        again.add(use)
        return again

    def alike_behind(self, branch, inside, use):
        """Whether a register is written before a branch as between its ways."""
        _, region = self.apart[branch.block]
        for register in inside.writes:
            found = self.sources[use].get(register, ())
            if inside not in found:
                continue
            before = [one for one in found if one.block == branch.block]
            if not before or not self.alike([one for one in found if one.block in region] + before[-1:]):
                return False
        return True

    def trace(self):
        """Finds which writes reach which reads."""
        code, blocks = self.kernel.code, self.kernel.blocks
        writers = {}
        for one in code:
            self.users[one] = []
            for register in one.writes:
                writers.setdefault(register, []).append(one)
        # For a register that is written once, that write; for others, by block and in it.
        reads = {}
        for one in code:
            sources = self.sources[one] = {}
            for register in set(one.reads):
                found = writers.get(register, ())
                if len(found) == 1:
                    sources[register] = found
                    self.users[found[0]].append(one)
                elif found:
                    sources[register] = []
                    reads.setdefault(register, {}).setdefault(one.block, []).append(one)
        place = {one: nth for block in blocks for nth, one in enumerate(block)}
        back = [[] for _ in range(len(blocks) + 1)]
        for number, ways in enumerate(self.kernel.ways):
            for way in ways:
                back[way].append(number)
        for register, by_block in reads.items():
            inside = {}
            for writer in writers[register]:
                inside.setdefault(writer.block, []).append(writer)
            # A write under a condition leaves what was.
            ends = {block: min((place[one] for one in found if not one.guard), default=None)
                    for block, found in inside.items()}
            # The blocks at whose beginning what it holds is still read.
            stack = [block for block, found in by_block.items()
                     if ends.get(block) is None or any(place[one] <= ends[block] for one in found)]
            alive = set(stack)
            while stack:
                for block in back[stack.pop()]:
                    if block not in alive and ends.get(block) is None:
                        alive.add(block)
                        stack.append(block)
            for writer in writers[register]:
                later = [place[other] for other in inside[writer.block]
                         if place[other] > place[writer] and not other.guard]
                self.reach(writer, register, by_block.get(writer.block, ()), place[writer], min(later, default=None), place)
                if later:
                    continue
                seen, stack = set(), list(self.kernel.ways[writer.block])
                while stack:
                    block = stack.pop()
                    if block in seen or block not in alive:
                        continue
                    seen.add(block)
                    until = ends.get(block)
                    self.reach(writer, register, by_block.get(block, ()), -1, until, place)
                    if until is None:
                        stack += self.kernel.ways[block]

    def reach(self, writer, register, reads, after, until, place):
        """Notes the reads in a block behind one place and not behind another."""
        for one in reads:
            if after < place[one] and (until is None or place[one] <= until):
                if writer not in self.sources[one][register]:
                    self.sources[one][register].append(writer)
                    self.users[writer].append(one)

    def stores_locally(self, one):
        return self.kernel.local_depot and one.opcode.startswith("st.") and self.space(one.opcode) in ("local", "")

    @staticmethod
    def space(opcode):
        return next((name for name in ("local", "global", "shared", "param", "const") if f".{name}" in opcode), "")

    def value(self, word):
        """The value of an operand of the present instruction; None if nothing is known of it so far."""
        if not word.startswith("%"):
            number = constant(word)
            return (0, NO_LANE, zeros_of(number)) if number is not None else self.SAME
        if word in ("%tid.x", "%laneid"):
            return LANE, (0, 1), 5
        if word == "%ntid.x":
            return 0, NO_LANE, 5
        if word.startswith(("%lanemask", "%clock", "%globaltimer", "%pm")):
            return self.ANY
        found, sources = None, self.sources[self.now].get(word, ())
        alike = len(sources) > 1 and self.alike(sources)
        for writer in sources:
            if (writer, self.now) in self.behind and not alike:
                return self.ANY
            for register, value in zip(writer.writes, self.written.get(writer, ())):
                if register == word:
                    found = value if found is None or found == value else (
                        found[0] | value[0], found[1] if found[1] == value[1] else None, min(found[2], value[2]))
        return found if found or sources else self.SAME

    def alike(self, writers):
        """Whether instructions write the same, wherever a lane comes from: they calculate alike from what stands before
        any branch that takes lanes apart."""
        first = writers[0]
        if first.opcode.startswith(("ld", "atom", "shfl", "vote", "bar", "call", "mma", "activemask")) or first.guard:
            return False
        early = lambda one: not any(one.block in region for _, region in self.apart.values())
        for one in writers:
            if one.opcode != first.opcode or one.operands[1:] != first.operands[1:] or one.guard:
                return False
            if any(found != self.sources[first][register] or len(found) > 1 or not all(map(early, found))
                   for register, found in self.sources[one].items()):
                return False
        return True

    def mask(self, word):
        return (self.value(word) or self.SAME)[0]

    def step(self, one, tired):
        """Computes what an instruction writes; whether that is something new."""
        values = [self.value(register) for register in one.reads]
        if self.stores_locally(one) and any(value and value[0] for value in values):
            self.local = True
        if not one.writes or None in values:
            return False
        written = self.results(one)
        if one.guard and self.mask(one.guard) or tired:
            written = [self.ANY] * len(one.writes)
        changed = self.written.get(one) != written
        self.written[one] = written
        return changed

    def results(self, one):
        """What an instruction writes, register by register."""
        opcode, operands, count = one.opcode, one.operands, len(one.writes)
        operation = opcode.split(".")[0]
        same, differ = [self.SAME] * count, [self.ANY] * count
        first = lambda nth: operands[nth][0] if len(operands) > nth and operands[nth] else ""
        value = lambda nth: self.value(first(nth))
        mask = lambda nth: value(nth)[0]
        if operation in ("vote", "bar", "barrier", "redux"):
            return same
        if operation in ("atom", "match", "activemask", "mma", "wmma", "ldmatrix", "elect", "call"):
            return differ
        if operation == "shfl":
            # Of a warp in segments each has its own source.
            clamp = constant(operands[3][0])
            is_whole = clamp is not None and not clamp & 0x1F00
            found = self.SAME if ".idx" in opcode and is_whole and not mask(2) or not mask(1) else self.ANY
            return [found] + [self.ANY] * (count - 1)
        if operation in ("ld", "ldu"):
            space = self.space(opcode)
            # What other threads change meanwhile, and what a function returns.
            if re.search(r"\.(acquire|volatile)\b", opcode) or space == "param" and "_param_" not in first(1):
                return differ
            if any(map(self.mask, operands[1])) or space in ("local", "") and self.local:
                return differ
            return same
        if operation == "mov" and len(operands[0]) > 1 or len(operands) > 1 and len(operands[1]) > 1:
            whole = 64 if opcode.endswith("64") else 32
            part = whole // max(map(len, operands[:2]))
            low = (1 << part) - 1
            if len(operands[0]) > 1:
                return [bits(mask(1) >> part * nth & low) for nth in range(count)]
            return [bits(sum((self.mask(word) & low) << part * nth for nth, word in enumerate(operands[1])))]
        if operation in ("mov", "cvta"):
            return [value(1)]
        if ".f" in opcode or ".pred" in opcode:
            if operation == "setp":
                return [bits(self.compared(opcode, operands))] * count
            return same if not any(map(self.mask, one.reads)) else differ
        if not one.reads:
            return same
        size = width(opcode)
        limit = (1 << size) - 1
        number = constant(first(2))
        if operation == "setp" or operation == "set":
            return [bits(self.compared(opcode, operands))] * count
        if operation in ("add", "sub"):
            return [added(value(1), value(2), 1 if operation == "add" else -1, limit)]
        if operation in ("mul", "mad") and ("lo" in opcode or "wide" in opcode):
            product = multiplied(value(1), constant(first(1)), value(2), number, "wide" in opcode, "s" in opcode, size)
            if "wide" in opcode:
                limit = ALL
            return [product if operation == "mul" else added(product, value(3), 1, limit)]
        if operation == "shl" and number is not None:
            return [multiplied(value(1), None, (0, NO_LANE, number), 1 << number, False, False, size)]
        if not any(map(self.mask, one.reads)):
            if operation == "cvt":
                return [(0, NO_LANE, min(value(1)[2], 8))]
            return same
        if operation == "and":
            for this, other in ((1, 2), (2, 1)):
                number = constant(first(other))
                if number is not None:
                    found, form, zeros = value(this)
                    whole = form is not None and form[1] == 1 and number == LANE >> form[0]
                    return [bits(found & number & limit, form if whole and found == number else None)]
            return [bits((mask(1) | mask(2)) & limit)]
        if operation in ("or", "xor"):
            return [bits((mask(1) | mask(2)) & limit)]
        if operation == "not":
            return [bits(mask(1))]
        if operation == "shr" and number is not None or operation == "bfe" and ".u" in opcode and number is not None:
            found, form, zeros = value(1)
            found &= limit
            if operation == "shr" and ".s" in opcode and found >> size - 1:
                return differ
            # The lane's number and what is the same above it.
            whole = form is not None and form[1] == 1 and found == LANE >> form[0]
            length = constant(first(3)) if operation == "bfe" else 64
            if length is None:
                return differ
            rest = found >> number & (1 << length) - 1
            whole = whole and rest == found >> number
            return [bits(rest, (form[0] + number, 1) if whole else None, max(zeros - number, 0))]
        if operation == "cvt":
            kinds = re.findall(r"\.([bus])(\d+)", opcode)
            if len(kinds) == 2:
                (_, into), (sign, source) = kinds
                found, form, zeros = value(1)
                found &= (1 << int(source)) - 1
                if sign == "s" and found >> int(source) - 1:
                    found = ALL
                found &= (1 << int(into)) - 1
                # Wider, a number that has overflowed is another.
                keeps = int(into) <= int(source) or form is not None and form[1] == 1 and found == LANE >> form[0]
                return [bits(found, form if keeps else None, zeros)]
        if operation == "selp" and not mask(3):
            (one_mask, form, zeros), (other_mask, other, others) = value(1), value(2)
            return [bits(one_mask | other_mask, form if form == other else None, min(zeros, others))]
        if operation in ("min", "max") and ".u" in opcode:
            # Below a power of two nothing differs above it.
            return [bits((1 << (mask(1) | mask(2)).bit_length()) - 1)]
        if operation in ("div", "rem") and ".u" in opcode and number and not number & number - 1:
            return [bits((mask(1) & limit) >> number.bit_length() - 1 if operation == "div"
                         else mask(1) & number - 1)]
        return differ

    def compared(self, opcode, operands):
        """Whether a comparison may differ: not with a constant that the bits which differ cannot decide."""
        if any(self.mask(word) for operand in operands[3:] for word in operand):
            return ALL
        kind = opcode.split(".")[1]
        (mask, form, _), (other, another, _) = (self.value(operands[nth][0]) for nth in (1, 2))
        if kind in ("eq", "ne") and form is not None and form == another:
            return 0
        number = constant(operands[2][0])
        if mask and number is not None and ".f" not in opcode and not (
                re.search(r"\.s\d+$", opcode) and mask >> width(opcode) - 1):
            below = (1 << mask.bit_length()) - 1
            if kind in ("lt", "lo", "ge", "hs") and not number & below:
                return 0
            if kind in ("gt", "hi", "le", "ls") and not number + 1 & below:
                return 0
        return ALL if mask or other else 0


def counts(text):
    """How often each kind of collective word stands in the kernels of a text, and in functions of theirs."""
    found = dict.fromkeys(WORDS, 0)
    for opcode in re.findall(r"(?m)(?:^|[;{:])\s*(?:@!?%?[\w$]+\s+)?([a-z][\w.]*)", re.sub(r"//[^\n]*", "", text)):
        kind = word_of(opcode)
        if kind:
            found[kind] += 1
    return found


def faults(text):
    """A sentence for each collective word that lanes of a warp may not reach together."""
    functions = list(entries(text, "func"))
    if any(any(counts(body).values()) for _, body in functions):
        yield "a function that is not a kernel has a collective word"
    endless = {name for name, body in functions if not re.search(r"\bret\b", body)}
    if not any(counts(text).values()):
        return
    for name, body in entries(text):
        kernel = Kernel(name, body, endless)
        differing = Differing(kernel)
        told = set()
        for branch, region in differing.apart.values():
            for number in region:
                for one in kernel.blocks[number]:
                    kind = word_of(one.opcode)
                    if kind and id(one) not in told:
                        told.add(id(one))
                        yield f"`{one.text}` stands behind `{branch.text}`, at which lanes of a warp may part"
        for one in kernel.code:
            differing.now = one
            if word_of(one.opcode) and one.guard and differing.mask(one.guard):
                yield f"`{one.text}` is for some lanes of a warp only"


def loops(text):
    """The kinds of collective words that a kernel has in a loop."""
    found = set()
    for name, body in entries(text):
        kernel = Kernel(name, body)
        for number, block in enumerate(kernel.blocks):
            kinds = {word_of(one.opcode) for one in block} - {None}
            if not kinds - found:
                continue
            seen, stack = set(), list(kernel.ways[number])
            while stack:
                way = stack.pop()
                if way not in seen and way < len(kernel.blocks):
                    seen.add(way)
                    stack += kernel.ways[way]
            if number in seen:
                found |= kinds
    return found
