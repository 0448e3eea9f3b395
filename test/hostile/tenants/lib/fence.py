"""What a model is told, and what an obedient one can reach."""
from h import *
TOKEN = re.compile(r'[A-Za-z0-9_-]{8,}')
def texts(messages):
    out = []
    for m in messages:
        c = m.get('content'); 
        if isinstance(c, list): c = '\n'.join(x.get('text', '') for x in c if isinstance(x, dict))
        out.append((m.get('role'), c or ''))
        for t in m.get('tool_calls') or []: out.append(('own-call', json.dumps(t.get('function', {}))))
    return out
def tokens(s): return set(TOKEN.findall(s))
def enclosed(messages, marker, reference):
    """For each text of others that holds `marker`: is there a boundary token before and after it, explained in the system
    prompt, and unknown to `reference` (the messages of another call)? -> (occurrences, of them enclosed, example)"""
    sys_ = ' '.join(c for r, c in texts(messages) if r in ('system', 'developer')); ref = set()
    for _, c in texts(reference): ref |= tokens(c)
    n = good = 0; ex = ''
    for r, c in texts(messages):
        if r in ('own-call', 'assistant'): continue
        for m in re.finditer(re.escape(marker), c):
            n += 1; a, b = c[:m.start()], c[m.end():]
            t = {x for x in tokens(a) & tokens(b) & tokens(sys_) if x not in ref and len(set(x)) >= 5}
            # the boundary must be explained by the prompt itself and not merely stand around this very text
            if r in ('system', 'developer'): t = {x for x in t if sys_.count(x) >= 3}
            if t: good += 1
            else: ex = ex or '%s: …%s[%s]%s…' % (r, a[-50:], marker, b[:50])
    return n, good, ex

class Agent:
    """An agent with the obedient model, reached by a call from its carrier. brain(turn, messages, tools) -> text or tool calls."""
    def __init__(s, brain, owner=None, **project):
        s.tag, s.turns, s.wraps, s.summary, s.caller_name, s.o = 'x' + word(8), [], [], 'They asked something.', '', owner or once('fence owner', lambda: Owner('fence')); s.brain = brain
        project.setdefault('greeting', None); project.setdefault('prompt', 'You answer the telephone of a shop.')
        s.carrier = Carrier(ip4(), 5060); s.project = s.o.project(llm=W.llm.config(s.tag, s.think), **project); s.line = s.o.line(s.carrier.ip, s.project); s.num = s.line.number
    def think(s, messages, tools):
        if not tools: s.wraps.append(messages); return json.dumps({'summary': s.summary, 'goal_reached': False, 'goal_evidence': '', 'caller_name': s.caller_name})   # the wrap-up after a call
        s.turns.append((messages, tools)); return s.brain(len(s.turns), messages, tools)
    def call(s, secs=6, frm='+12025550188', display=None, headers=(), keys='1', until=None):
        n = len(s.turns); d = dial(s.carrier, 'sip:%s@%s:%d' % (s.num, *SIP), frm='%s<sip:%s@%s>' % ('"%s" ' % display if display is not None else '', frm, s.carrier.ip), headers=headers); need(d.status == 200, 'the call was answered with %s' % d.status)
        t = time.time(); pressed = False
        while time.time() - t < secs and not (until and until(s.turns[n:])):
            if keys and not pressed and time.time() - t > 2 and len(s.turns) == n: d.rtp.keys(keys); pressed = True
            if not s.carrier_alive(d): break
            time.sleep(.2)
        s.last = d; d.bye(); return s.turns[n:]
    def pressed(s, secs=12, digit='1'):
        """The far end of an outbound call presses a key once it is connected, so that the model has its turn; waits for that."""
        t, done = time.time(), False
        while time.time() - t < secs and not s.turns:
            if not done and s.carrier.rtp and s.carrier.rtp.got > 120: s.carrier.rtp.keys(digit); done = True
            time.sleep(.2)
    def carrier_alive(s, d): return not any(m.method == 'BYE' and m.get('call-id') == d.call_id for _, m, _ in s.carrier.log)
    def messages(s, since=0): return s.turns[-1][0] if len(s.turns) > since else []
    def close(s): s.carrier.close()
def reference():
    """The messages of another, harmless call of another owner, with a tool answer."""
    def make():
        web = Web(ip4(), 80, lambda q: (200, {}, '{"answer":"harmless"}')); a = Agent(lambda n, m, t: [('look', {'q': 'x'})] if n == 1 else 'Fine.', Owner('ref'), tools=[tool(web.ip)]); a.call(7, until=lambda t: len(t) >= 2); a.close(); need(len(a.turns) >= 2, 'the model was asked %d times in the reference call' % len(a.turns)); return a.messages()
    return once('reference', make)
def tool(ip, name='look', url='/look?q={q}', **more):
    return {'name': name, 'description': 'Looks something up.', 'method': 'GET', 'url': 'http://%s%s' % (ip, url), 'parameters': {'type': 'object', 'properties': {'q': {'type': 'string'}}, 'required': ['q']}, **more}
def by_tool(payloads, status=200, per=8, pack=4, wrap=lambda p: json.dumps({'answer': p})):
    """Every payload as (a part of) the answer of a tool, 32 in one model answer; how many are enclosed by a boundary of this call."""
    ref = reference(); packs = [payloads[i:i + pack] for i in range(0, len(payloads), pack)]
    web = Web(ip4(), 80, lambda q: (status, {}, wrap('\n'.join(packs[int(re.search(r'q=(\d+)', q.path).group(1))])).encode()))
    groups = [list(range(i, min(i + per, len(packs)))) for i in range(0, len(packs), per)]
    def brain(n, m, t): return [('look', {'q': str(i)}) for i in groups[n - 1]] if n <= len(groups) else 'Done.'
    a = Agent(brain, tools=[tool(web.ip)]); a.call(14, until=lambda t: len(t) > len(groups)); m = a.messages(); a.close(); web.close()
    n = good = miss = 0; ex = ''
    for i in range(len(payloads)):
        x, y, e = enclosed(m, 'MK%04d' % i, ref); n += x; good += y; miss += not x; ex = ex or e
    return n, good, miss, ex, a
