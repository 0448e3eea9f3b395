"""3, second half."""
from h import *
from shared import Shared
def doc(): return once('openapi', lambda: http_('GET', '/openapi.json', src=ip4()).json)
def verify_ops(): return [(m.upper(), p, o) for p, x in doc()['paths'].items() for m, o in x.items() if isinstance(o, dict) and re.search('verif', p + o.get('operationId', '')) and 'number' in p + o.get('operationId', '')]
@case('3.01', 'twenty numbers in one trunk, one of them of another account: 201, and all twenty stand there')
def _():
    a, b = Owner(), Owner(); l = a.line(ip4()); ns = [number() for _ in range(19)] + [l.number]; r = b.trunk(ip4(), ns, expect=False); n = b.must('GET', '/numbers?limit=200')['items']; return ok(r.status == 201 and {x['number'] for x in n} == set(ns), '%r, %d numbers' % (r, len(n)))
@case('3.02', 'three accounts list one number; none hears of the others')
def _():
    os_ = [Owner() for _ in range(3)]; n = number(); r = [o.trunk(ip4(), [n], expect=False) for o in os_]; bad = [i for i, x in enumerate(r) if x.status != 201 or any(o.email in x.text for o in os_)]; return ok(not bad, r)
@case('3.03', 'timing does not tell: adding a taken and a free number takes the same time (median of 15)', 120)
def _():
    a, b = Owner(), Owner(); ns = [number() for _ in range(15)]; a.trunk(ip4(), ns, expect=False); t = {0: [], 1: []}; st = set()
    for n in ns:
        for k, q in ((0, n), (1, number())): r = b.trunk(ip4(), [q], expect=False); t[k].append(r.ms); st.add((k, r.status)); r.status == 201 and b.api('DELETE', '/trunks/' + r.json['id'])
    x, y = sorted(t[0])[7], sorted(t[1])[7]; return ok(st == {(0, 201), (1, 201)} and abs(x - y) <= 15, '%s; %d ms / %d ms' % (sorted(st), x, y))
@case('3.04', 'by MCP too: create_trunk with a number of another account succeeds')
def _():
    a, b = Owner(), Owner(); l = a.line(ip4()); m = http_('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'create_trunk', 'arguments': {'name': 'm', 'mode': 'ip', 'host': ip4(), 'numbers': [l.number]}}}, {'Authorization': 'Bearer ' + b.keys[0], 'Accept': 'application/json, text/event-stream'}, b.src); return ok('"isError":true' not in m.text.replace(' ', '') and l.number in m.text, m.text[:200])
@case('3.05', "deleting B's claim does not touch A's number, and the other way round", 60)
def _():
    s = Shared(kind='ip'); t = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); need(t.status == 201, 'B: %r' % t); s.b.bind(s.pb, s.num); s.b.api('DELETE', '/trunks/' + t.json['id']); time.sleep(2.5); r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); n = [x['number'] for x in s.a.must('GET', '/numbers')['items']]; s.end(); return ok(r == (200, 'A') and s.num in n, '%s %s' % (r, n))
@case('3.06', 'a squatter who binds, un-binds and re-binds the number, makes it caller_id, and calls out from it takes nothing', 90)
def _():
    s = Shared(kind='ip'); t = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); need(t.status == 201, 'B: %r' % t)
    for d in ('in', 'out', 'both'): s.b.bind(s.pb, s.num, d); s.b.api('DELETE', '/projects/%s/numbers/%s' % (s.pb, s.num.replace('+', '%2B'))); 
    s.b.bind(s.pb, s.num); s.b.api('PATCH', '/projects/' + s.pb, {'caller_id': s.num}); s.carrier.answer = lambda m: {'status': 486}; s.b.place(s.pb, number()); time.sleep(3); r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); s.end(); return ok(r == (200, 'A'), r)
@case('3.07', 'guessing verification codes is limited: after at most 10 wrong ones no further one is judged', 90)
def _():
    v = verify_ops(); need(v, 'no operation verifies a number'); o = Owner(); c = Carrier(ip4(), 5060); l = o.line(c.ip); q = lambda p: re.sub(r'\{\w+\}', l.number.replace('+', '%2B'), p); conf = next(((m, p, x) for m, p, x in v if 'code' in json.dumps(x.get('requestBody', {}))), None); start = next(((m, p) for m, p, x in v if m == 'POST' and 'code' not in json.dumps(x.get('requestBody', {}))), None); need(conf, 'no operation takes a code: %s' % [(m, p) for m, p, _ in v])
    if start: o.session(start[0], q(start[1]), {}); time.sleep(2)
    body = lambda i: {next(iter([k for k in conf[2]['requestBody']['content']['application/json']['schema'].get('properties', {'code': 0}) if 'code' in k] or ['code'])): '%06d' % i}; st = [o.session(conf[0], q(conf[1]), body(i)) for i in range(14)]; c.close(); return ok(not any(r.status < 300 for r in st) and any(r.status == 429 for r in st) or len({(r.status, r.code) for r in st}) >= 2, collections.Counter((r.status, r.code) for r in st))
@case('3.08', "verification of a number that stands in another account makes no call to that number's owner over and over (20 requests: at most 3 calls)", 90)
def _():
    v = verify_ops(); need(v, 'no operation verifies a number'); s = Shared(kind='ip'); t = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); n0 = len(s.carrier.legs); start = next((m, p) for m, p, x in v if m == 'POST'); st = [s.b.session(start[0], re.sub(r'\{\w+\}', s.num.replace('+', '%2B'), start[1]), {}).status for _ in range(20)]; time.sleep(4); n = len(s.carrier.legs) - n0; s.end(); return ok(n <= 3 and 429 in st or n == 0, '%d calls; %s' % (n, collections.Counter(st)))
@case('3.09', "B's own registrar that hands out A's number by Contact, P-Associated-URI and an INVITE proves nothing at A's carrier", 90)
def _():
    s = Shared(kind='ip'); s.call('sip:%s@%s:%d' % (s.num, *SIP)); evil = Carrier(ip4(), 5060, {'e': 'e'}); evil.register_answer = lambda m: (200, 'OK', '', ['Contact: %s;expires=300' % m.get('contact').split(';expires')[0], 'P-Associated-URI: <sip:%s@%s>' % (s.num, evil.ip), 'Expires: 300']) if m.get('authorization') or True else None
    t = s.b.trunk(evil.ip, [s.num], 'register', False, username='e', password='e'); s.b.bind(s.pb, s.num); t2 = s.b.trunk(s.ip, [s.num], 'both', False, username='zz', password='zz', allowed_ips=[s.ip]); time.sleep(3); co = [uri_of(m.get('contact')) for _, m, _ in evil.register_log]; st = []
    for _ in range(3):
        if co: d = dial(evil, co[-1], to='<sip:%s@%s>' % (s.num, evil.ip), headers=['P-Called-Party-ID: <sip:%s@x>' % s.num]); d.bye(); st.append(d.status)
    d = dial(evil, 'sip:%s@%s:%d' % (s.num, *SIP)); d.bye(); st.append(d.status); time.sleep(1); r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); s.end(); evil.close(); return ok(r == (200, 'A') and t.status == t2.status == 201, "A's call: %s; staged calls %s; trunks %r %r" % (r, st, t, t2))
@case('3.50', 'control: the same number in two forms within one account is one number', 60)
def _():
    o = Owner(); n = number(); t = o.trunk(ip4(), [n, n], expect=False); p = o.project(); r = [o.bind(p, x).status for x in (n, n.lstrip('+'))]; l = o.must('GET', '/numbers')['total']; return ok(t.status in (201, 400) and (t.status == 400 or l == 1 and r == [200, 200]), '%r %s %d' % (t, r, l))
@case('3.51', "control: a number moved to another trunk of the same account keeps its agent's calls", 60)
def _():
    o = Owner(); c, e = ip4(), ip4(); l = o.line(c); t2 = o.trunk(e, [], allowed_ips=[e]).json; o.must('PATCH', '/trunks/' + l.trunk, {'numbers': []}); r = o.api('PATCH', '/trunks/' + t2['id'], {'numbers': [l.number]}); o.bind(l.project, l.number); time.sleep(2.5); p = Peer(e, 5060); d = dial(p, 'sip:%s@%s:%d' % (l.number, *SIP)); d.bye(); return ok(r.status == 200 and d.status == 200, '%r %s' % (r, d.status))
@case('3.52', 'control: the owner of a registration has his number shown as verified once its call came, or the list says how to verify it', 60)
def _():
    s = Shared(); s.call(s.carrier.bindings[s.acc], to='<sip:%s@%s>' % (s.num, s.ip)); time.sleep(1.5); x = s.a.must('GET', '/numbers')['items'][0]; s.end(); return ok('verified' in x and (x['verified'] is True or verify_ops()), x)
