#!/usr/bin/env python3
"""Checks the conversation cases in this folder: formats, counts, balance, and duplicates between the halves.

Usage: python3 check.py [--counts]
Exit status 0 if every check passes. Needs Python 3.8 and nothing else. README.md defines the formats.
"""
import collections
import datetime
import difflib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
HALVES = ("first", "second")
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
TYPES = {"digits", "phone", "e-mail", "date", "time", "money", "quantity", "name", "option", "yes_no", "free_text",
         "spelled", "address"}
REASONS = {"ambiguous", "incomplete", "refusal", "question", "out_of_range", "no_value", "invalid", "command"}
ASKED_IN_TURNS = TYPES | {"none"}
ADDRESS = {"house", "street", "city", "postcode", "flat", "entrance", "floor"}
BUILT_IN_TOOLS = {"end_call", "do_not_call", "transfer_call", "send_digits", "search_knowledge", "take_message"}
E164 = {"GB": r"\+44\d{9,10}", "US": r"\+1\d{10}", "RU": r"\+7\d{10}"}
EMAIL = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?@[a-z0-9-]+(\.[a-z0-9-]+)+")
SECRETS = re.compile(r"/(work|wt|tmp|root|home)/|npmjs|pypi|registry\.|localhost", re.I)

problems = []


def fail(where, what):
    problems.append(f"{where}: {what}")


def load(half, name):
    path = HERE / half / name
    rows = []
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{half}/{name}", str(error))
        return rows
    if lines and lines[-1] == "":
        lines.pop()
    for number, line in enumerate(lines, 1):
        where = f"{half}/{name}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            fail(where, f"not JSON: {error}")
            continue
        if SECRETS.search(line):
            fail(where, "names a path or a host of a machine")
        row["_where"] = where
        rows.append(row)
    return rows


def fields(row, required, optional=()):
    keys = set(row) - {"_where"}
    for key in set(required) - keys:
        fail(row["_where"], f"lacks {key}")
    for key in keys - set(required) - set(optional):
        fail(row["_where"], f"has an unknown field {key}")
    return not set(required) - keys


def iso(text):
    try:
        return datetime.date.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def cyrillic(text):
    return bool(re.search("[а-яё]", text.lower()))


def normal(text):
    return " ".join(re.sub(r"[^\w\s]", " ", text.lower().replace("ё", "е")).split())


# ---------------------------------------------------------------- values

def value_fault(asked, value):
    """Why a normalised value has the wrong form, or None."""
    kind = asked["type"]
    limits = asked.get("constraints", {})
    low, high = limits.get("min"), limits.get("max")
    if kind == "digits":
        if not isinstance(value, str) or not re.fullmatch(r"\d+", value):
            return "not digits"
        length = asked["length"]
        if not length["min"] <= len(value) <= length["max"]:
            return f"{len(value)} digits"
    elif kind == "phone":
        if value == "$caller":
            return None
        if not re.fullmatch(r"\+[1-9]\d{7,14}", value):
            return "not E.164"
        own = {"GB": "+44", "US": "+1", "RU": "+7"}[asked["country"]]
        if value.startswith(own) and not re.fullmatch(E164[asked["country"]], value):
            return "wrong length for its country"
    elif kind == "e-mail":
        if not EMAIL.fullmatch(value):
            return "not an e-mail address"
    elif kind == "date":
        parts = value.split("/")
        days = [iso(part) for part in parts]
        if None in days:
            return "not an ISO date"
        if (len(days) == 2) != bool(asked.get("span")):
            return "a span where one day was asked, or the reverse"
        if len(days) == 2 and days[0] >= days[1]:
            return "a span that runs backwards"
        today = iso(asked["today"]["date"])
        past = bool(asked.get("past")) or re.match("When did|When was|Когда (это|была)", asked["question"])
        if past and days[0] > today:
            return "in the future"
        if not past and days[0] < today:
            return "in the past"
    elif kind == "time":
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", value):
            return "not HH:MM"
        if low and not low <= value <= high:
            return "outside its bounds"
    elif kind == "money":
        if not re.fullmatch(r"\d+\.\d\d [A-Z]{3}", value):
            return "not an amount with a currency"
        if low is not None and not low <= float(value.split()[0]) <= high:
            return "outside its bounds"
    elif kind == "quantity":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "not a number"
        if low is not None and not low <= value <= high:
            return "outside its bounds"
    elif kind == "option":
        chosen = value if asked.get("many") else [value]
        if not isinstance(chosen, list) or any(one not in asked["options"] for one in chosen):
            return "not among the options"
    elif kind == "yes_no":
        if not isinstance(value, bool):
            return "not a boolean"
    elif kind == "spelled":
        if not re.fullmatch(r"[A-ZА-ЯЁ0-9]+", value):
            return "not capitals and digits"
    elif kind == "address":
        if not isinstance(value, dict) or not value or set(value) - ADDRESS:
            return "unknown parts"
    elif not isinstance(value, str) or not value.strip():
        return "empty"
    return None


def check_value(row):
    where = row["_where"]
    if not fields(row, ["id", "language", "asked", "heard", "complete", "expected", "tags"],
                  ["reason", "why", "also", "if_confirmed", "ask_again_ok"]):
        return
    asked = row["asked"]
    if asked.get("type") not in TYPES:
        return fail(where, f"unknown type {asked.get('type')}")
    if cyrillic(asked["question"]) != (row["language"] == "ru"):
        fail(where, "the question is in another language")
    heard = row["heard"] if isinstance(row["heard"], list) else [row["heard"]]
    if not all(isinstance(piece, str) and piece.strip() for piece in heard) or len(heard) == 1 == isinstance(row["heard"], list):
        fail(where, "heard is one text or several pieces")
    if len(row["complete"]) != len(heard) or not all(isinstance(flag, bool) for flag in row["complete"]):
        fail(where, "complete has one flag for each piece")
    null = row["expected"] is None
    if null != ("reason" in row) or (null and not row.get("why")):
        fail(where, "null needs reason and why, a value needs no reason")
    if null and row["reason"] not in REASONS:
        fail(where, f"unknown reason {row['reason']}")
    if not null and not row["complete"][-1]:
        fail(where, "a value, but not complete")
    if row.get("reason") == "incomplete" and row["complete"][-1]:
        fail(where, "incomplete, but complete")
    if asked["type"] in ("date", "time"):
        today = asked["today"]
        if WEEKDAYS[iso(today["date"]).weekday()] != today["weekday"]:
            fail(where, "today is another weekday")
    if asked["type"] == "option" and len(asked.get("options", [])) < 2:
        fail(where, "option without options")
    candidates = ([] if null else [row["expected"]]) + row.get("also", []) + row.get("if_confirmed", [])
    for value in candidates:
        fault = value_fault(asked, value)
        if fault:
            fail(where, f"{value!r}: {fault}")
    if null and "ask_again_ok" in row:
        fail(where, "ask_again_ok belongs to values")
    if not null and row["expected"] in row.get("if_confirmed", []):
        fail(where, "if_confirmed repeats expected")


# ---------------------------------------------------------------- tasks

def argument_fault(schema, value):
    if isinstance(value, dict):
        (matcher, wanted), = value.items()
        if matcher not in ("$phone", "$name", "$has", "$any", "$present"):
            return f"unknown matcher {matcher}"
        if matcher == "$phone" and not re.fullmatch(r"\+\d{4,15}", wanted):
            return "not a telephone number"
        if matcher == "$any":
            return next((fault for one in wanted if (fault := argument_fault(schema, one))), None)
        return None
    kind = schema.get("type")
    right = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}[kind]
    if not isinstance(value, right) or (isinstance(value, bool) and kind != "boolean"):
        return f"not of type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return "not in the enum"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return "does not match the pattern"
    if schema.get("format") == "date" and not iso(value):
        return "not a date"
    if schema.get("format") == "email" and not EMAIL.fullmatch(value):
        return "not an e-mail address"
    if kind in ("integer", "number") and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return "outside its bounds"
    if kind == "array":
        return next((fault for one in value if (fault := argument_fault(schema["items"], one))), None)
    return None


def date_by_rule(rule, today):
    if re.fullmatch(r"\+\d+", rule):
        return today + datetime.timedelta(days=int(rule))
    kind, _, rest = rule.partition(":")
    if kind in ("weekday", "last"):
        wanted = [day.lower() for day in WEEKDAYS].index(rest)
        if kind == "weekday":
            return today + datetime.timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
        return today - datetime.timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    if kind == "next":
        month, day = map(int, rest.split("-"))
        date = datetime.date(today.year, month, day)
        return date if date >= today else date.replace(year=today.year + 1)
    return None


def check_task(row, cues):
    where = row["_where"]
    if not fields(row, ["id", "language", "level", "direction", "now", "project", "answers", "caller", "expect", "tags"],
                  ["needs_clock", "knowledge", "dates", "why", "contact"]):
        return
    project, caller, expect = row["project"], row["caller"], row["expect"]
    if row["level"] not in ("slots", "free") or row["direction"] not in ("in", "out"):
        fail(where, "level or direction")
    if cyrillic(project["prompt"]) != (row["language"] == "ru") or project["language"] != row["language"]:
        fail(where, "the prompt is in another language")
    tools = {}
    for tool in project["tools"]:
        tools[tool["name"]] = tool
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", tool["name"]) or tool["name"] in BUILT_IN_TOOLS:
            fail(where, f"tool name {tool['name']}")
        if tool["method"] not in ("GET", "POST") or not re.match(r"https://[a-z0-9.-]+\.example/", tool["url"]):
            fail(where, f"method or url of {tool['name']}")
        properties = tool["parameters"]["properties"]
        for name in re.findall(r"\{(\w+)\}", tool["url"]):
            if name not in properties:
                fail(where, f"{{{name}}} is not a parameter")
        if any(not schema.get("description") for schema in properties.values()):
            fail(where, "a parameter without a description")
    for answer in row["answers"]:
        if answer["tool"] not in tools:
            fail(where, f"an answer of an unknown tool {answer['tool']}")
        elif set(answer.get("when", {})) - set(tools[answer["tool"]]["parameters"]["properties"]):
            fail(where, "an answer for unknown arguments")
    kinds = collections.Counter()
    for step in caller["plan"]:
        kinds[step["on"]] += 1
        if step["on"] not in ("start", "next", "ask", "confirm", "over", "noise"):
            fail(where, f"unknown step {step['on']}")
        if step["on"] == "ask" and not step.get("cues") and any(key not in cues[row["language"]] for key in step["of"]):
            fail(where, f"no cues for {step.get('of')}")
        if step["on"] == "over" and (step["kind"] not in ("interrupt", "backchannel") or not 0 < step["after_ms"] < 10000):
            fail(where, "an over step")
        if step["on"] == "noise":
            continue
        say = step.get("say", "")
        if re.sub(r"<pause \d+>", "", say).count("<") or not say.strip():
            fail(where, f"a line: {say}")
        if cyrillic(say) != (row["language"] == "ru"):
            fail(where, f"a line in another language: {say}")
        for pause in re.findall(r"<pause (\d+)>", say):
            if not 200 <= int(pause) <= 5000:
                fail(where, f"a pause of {pause} ms")
    if kinds["start"] + (1 if caller["plan"][0]["on"] == "over" else 0) != 1:
        fail(where, "a plan has one start")
    for entry in caller.get("again", []):
        if set(entry) not in ({"cues", "say"}, {"of", "say"}) or any(key not in cues[row["language"]] for key in entry.get("of", [])):
            fail(where, f"an entry of again: {entry}")
        if cyrillic(entry["say"]) != (row["language"] == "ru"):
            fail(where, f"a line in another language: {entry['say']}")
    used = set()
    for group in ("calls", "may", "never"):
        for call in expect[group]:
            name = call["tool"]
            if name in BUILT_IN_TOOLS:
                continue
            if name not in tools:
                fail(where, f"{group}: unknown tool {name}")
                continue
            schema = tools[name]["parameters"]
            arguments = call.get("arguments", {})
            for key, value in arguments.items():
                if key not in schema["properties"]:
                    fail(where, f"{group}: unknown argument {key}")
                elif group != "never":
                    fault = argument_fault(schema["properties"][key], value)
                    if fault:
                        fail(where, f"{group}: {key} = {value!r}: {fault}")
                    if schema["properties"][key].get("format") == "date":
                        used.add(value)
            if group != "never" and set(schema.get("required", [])) - set(arguments):
                fail(where, f"{group}: lacks {set(schema['required']) - set(arguments)}")
            if group != "never" and not any(answer["tool"] == name for answer in row["answers"]):
                fail(where, f"{name} has no answer")
    for call in expect["never"]:
        if call in expect["calls"]:
            fail(where, "a call is both wanted and forbidden")
    if expect["ended_by"] not in ("agent", "caller", "transfer", "any"):
        fail(where, "ended_by")
    today = iso(row["now"][:10])
    for value, rule in row.get("dates", {}).items():
        if date_by_rule(rule, today) != iso(value):
            fail(where, f"{rule} from {today} is not {value}")
    for value in used - set(row.get("dates", {})):
        age = today.year - int(value[:4])
        if not row.get("needs_clock") and age < 2:
            fail(where, f"{value} has no rule, and the task does not need a fixed clock")
    for said in expect["said"] + expect.get("said_by_model", []):
        if not isinstance(said, list) or not said:
            fail(where, "said is a list of alternatives")


# ---------------------------------------------------------------- the others

def check_turns(rows):
    groups = collections.OrderedDict()
    for row in rows:
        if fields(row, ["id", "language", "turn", "asked", "agent", "said", "silence", "label"], ["why"]):
            groups.setdefault(row["turn"], []).append(row)
    for points in groups.values():
        where = points[0]["_where"]
        before, pauses = "", []
        for point in points:
            last = point is points[-1]
            if point["asked"] not in ASKED_IN_TURNS:
                fail(point["_where"], f"unknown type {point['asked']}")
            if point["label"] != ("end" if last else "goes on") or (point["silence"]["pause_ms"] is None) != last:
                fail(point["_where"], "only the last point of a turn is its end")
            if not point["said"].startswith(before) or point["silence"]["earlier_ms"] != pauses:
                fail(point["_where"], "does not follow the point before it")
            if cyrillic(point["said"]) != (point["language"] == "ru"):
                fail(point["_where"], "another language")
            if not last:
                if not 200 <= point["silence"]["pause_ms"] <= 5000:
                    fail(point["_where"], "a pause outside 200 to 5000 ms")
                pauses = pauses + [point["silence"]["pause_ms"]]
            before = point["said"]
        if len({(point["agent"], point["language"]) for point in points}) != 1:
            fail(where, "a turn answers one sentence")


def check_backchannel(row):
    where = row["_where"]
    if not fields(row, ["id", "language", "label", "agent", "at", "length_ms", "heard"], ["said", "sound", "why"]):
        return
    if row["label"] not in ("backchannel", "interruption") or ("said" in row) == ("sound" in row):
        fail(where, "label, or both or neither of said and sound")
    words = len(row["agent"].split())
    if row["at"]["of_words"] != words or not 0 < row["at"]["after_words"] <= words:
        fail(where, f"at: {row['at']} of {words} words")
    if not 100 <= row["length_ms"] <= 3000:
        fail(where, "length")
    if cyrillic(row["agent"]) != (row["language"] == "ru"):
        fail(where, "another language")


def check_answered(row):
    where = row["_where"]
    if not fields(row, ["id", "language", "label", "who", "events"], ["why", "goal", "path", "person_at_ms", "beep_ends_ms"]):
        return
    if row["label"] not in ("human", "machine", "screening", "menu", "queue"):
        fail(where, "label")
    end = 0
    for event in row["events"]:
        if event["at_ms"] < end or event["duration_ms"] <= 0 or ("text" in event) == ("sound" in event):
            fail(where, f"event at {event['at_ms']}")
        end = event["at_ms"] + event["duration_ms"]
        if "text" in event:
            rate = len(event["text"]) / event["duration_ms"] * 1000
            if not 5 <= rate <= 30:
                fail(where, f"{rate:.0f} characters a second: {event['text']}")
    if (row["label"] == "menu") != ("path" in row and "goal" in row):
        fail(where, "menus, and only they, have a goal and a path")
    if (row["label"] == "queue") != ("person_at_ms" in row):
        fail(where, "queues, and only they, have a person")
    if "person_at_ms" in row and row["person_at_ms"] not in [event["at_ms"] for event in row["events"]]:
        fail(where, "nobody speaks when the person comes")
    if "beep_ends_ms" in row and row["beep_ends_ms"] != end:
        fail(where, "the beep does not end there")


# ---------------------------------------------------------------- between the halves

def duplicates(name, first, second, text, least):
    """Reports rows of the second half that say almost what a row of the first half says."""
    for language in sorted({row["language"] for row in first}):
        left = [(row, normal(text(row))) for row in first if row["language"] == language]
        for row in second:
            if row["language"] != language:
                continue
            right = normal(text(row))
            matcher = difflib.SequenceMatcher(None, b=right, autojunk=False)
            for other, theirs in left:
                matcher.set_seq1(theirs)
                if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least and matcher.ratio() >= least:
                    fail(row["_where"], f"says what {other['id']} says: {text(row)!r}")


def joined(heard):
    return " ".join(heard) if isinstance(heard, list) else heard


def spoken(row):
    return " ".join(event["text"] for event in row["events"] if "text" in event)


def exact_count(name, half, language, rows, wanted):
    if len(rows) != wanted:
        fail(f"{half}/{name}", f"{language}: {len(rows)} rows, not {wanted}")


def main():
    cues = json.loads((HERE / "cues.json").read_text("utf-8"))
    data = {name: {half: load(half, name + ".jsonl") for half in HALVES}
            for name in ("values", "tasks", "turns", "backchannels", "answered")}
    for name, halves in data.items():
        ids = [row.get("id") for rows in halves.values() for row in rows]
        for one, times in collections.Counter(ids).items():
            if times > 1:
                fail(name, f"id {one} {times} times")
        for half, rows in halves.items():
            for row in rows:
                if name == "values":
                    check_value(row)
                elif name == "tasks":
                    check_task(row, cues)
                elif name == "backchannels":
                    check_backchannel(row)
                elif name == "answered":
                    check_answered(row)
            if name == "turns":
                check_turns(rows)
            by_language = {language: [row for row in rows if row["language"] == language] for language in ("en", "ru")}
            wanted = {"values": (150, 150), "tasks": (30, 20), "turns": (200, 200), "backchannels": (100, 100)}.get(name)
            if wanted:
                exact_count(name, half, "en", by_language["en"], wanted[0])
                exact_count(name, half, "ru", by_language["ru"], wanted[1])
                if len(by_language["en"]) + len(by_language["ru"]) != len(rows):
                    fail(f"{half}/{name}", "a third language")
            else:
                exact_count(name, half, "all", rows, 40)
            if name == "backchannels":
                for language, some in by_language.items():
                    exact_count(name, half, language + " backchannel", [row for row in some if row["label"] == "backchannel"], 50)
            if name == "turns":
                for language, some in by_language.items():
                    share = sum(row["label"] == "end" for row in some) / max(1, len(some))
                    if not 0.35 <= share <= 0.5:
                        fail(f"{half}/{name}", f"{language}: {share:.0%} ends")
            if name == "values":
                for language, some in by_language.items():
                    share = sum(row["expected"] is None for row in some) / max(1, len(some))
                    if not 0.15 <= share <= 0.3:
                        fail(f"{half}/{name}", f"{language}: {share:.0%} null")
        first, second = halves["first"], halves["second"]
        if name == "values":
            counts = [{language: collections.Counter(row["asked"]["type"] for row in rows if row["language"] == language)
                       for language in ("en", "ru")} for rows in (first, second)]
            for language in ("en", "ru"):
                for kind in TYPES:
                    a, b = counts[0][language][kind], counts[1][language][kind]
                    if abs(a - b) > 2 or min(a, b) < 3:
                        fail("values", f"{language} {kind}: {a} and {b}")
            duplicates(name, first, second, lambda row: row["asked"]["question"] + " " + joined(row["heard"]), 0.85)
            duplicates(name, [row for row in first if len(normal(joined(row["heard"])).split()) > 3],
                       second, lambda row: joined(row["heard"]), 0.85)
        elif name == "tasks":
            duplicates(name, first, second, lambda row: row["project"]["prompt"], 0.6)
            duplicates(name, first, second, lambda row: " ".join(step.get("say", "") for step in row["caller"]["plan"]), 0.6)
        elif name == "turns":
            ends = [[row for row in rows if row["label"] == "end"] for rows in (first, second)]
            duplicates(name, *ends, lambda row: row["agent"] + " " + row["said"], 0.85)
        elif name == "backchannels":
            duplicates(name, first, second, lambda row: row["agent"], 0.75)
        else:
            words = [[row for row in rows if len(normal(spoken(row)).split()) > 3] for rows in (first, second)]
            duplicates(name, *words, spoken, 0.75)
    if "--counts" in sys.argv:
        for name, halves in data.items():
            for half, rows in halves.items():
                languages = dict(collections.Counter(row["language"] for row in rows))
                classes = collections.Counter(
                    row["asked"]["type"] if name == "values" else row["level"] if name == "tasks" else row["label"] for row in rows)
                print(f"{half}/{name}: {len(rows)} {languages} {dict(classes)}")
                if name == "values":
                    print("   null:", dict(collections.Counter(row["reason"] for row in rows if row["expected"] is None)))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
