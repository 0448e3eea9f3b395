"""3. Numbers belong to who can show it."""
from h import *
from shared import Shared
VERIFY = r'verif'
def api_doc(): return once('openapi', lambda: http_('GET', '/openapi.json', src=ip4()).json)
def verify_ops(): return [(m.upper(), p, o) for p, x in api_doc()['paths'].items() for m, o in x.items() if isinstance(o, dict) and re.search(VERIFY, p + o.get('operationId', '')) and 'number' in p + o.get('operationId', '')]

@case('3.01', "A's number may stand on B's trunk too: 201, exactly as for a number of nobody")
def _():
    a, b = Owner(), Owner(); n = number(); a.line(ip4(), num=n); x, y = b.trunk(ip4(), [n], expect=False), b.trunk(ip4(), [number()], expect=False)
    return ok(x.status == y.status == 201 and set(x.json) == set(y.json), "A's number: %r; a free one: %r" % (x, y))
@case('3.02', "PATCH of B's trunk to A's number answers like any other number")
def _():
    a, b = Owner(), Owner(); n = number(); a.line(ip4(), num=n); t = b.trunk(ip4(), []).json; x, y = [b.api('PATCH', '/trunks/' + t['id'], {'numbers': [q]}) for q in (n, number())]
    return ok(x.status == y.status == 200, '%r / %r' % (x, y))
@case('3.03', "nothing in B's answers tells the two apart: number list, binding, trunk")
def _():
    a, b = Owner(), Owner(); n, f = number(), number(); a.line(ip4(), num=n); p = b.project(); t = b.trunk(ip4(), [n, f], expect=False); need(t.status == 201, 'trunk with both: %r' % t)
    x, y = [b.bind(p, q) for q in (n, f)]; l = {i['number']: {k: v for k, v in i.items() if k not in ('number', 'bindings')} for i in b.must('GET', '/numbers')['items']}
    return ok(x.status == y.status and l[n] == l[f] and set(x.json) == set(y.json), 'bind %r / %r; %s / %s' % (x, y, l.get(n), l.get(f)))
@case('3.04', 'a number says whether it is verified, and a fresh one is not')
def _():
    b = Owner(); n = number(); b.trunk(ip4(), [n]); l = b.must('GET', '/numbers')['items'][0]; return ok(l.get('verified') is False, l)
@case('3.05', 'squatting first does not keep the owner out: B lists the number before A, A registers and gets the calls', 60)
def _():
    s = None; b = Owner('squatter'); n = number(); ip = ip4(); x = b.trunk(ip, [n], 'ip', False, allowed_ips=[ip]); pb = b.project(); b.bind(pb, n)
    c = Carrier(ip, 5060, {'accA': 'pw'}); a = Owner('late'); pa = a.project(); t = a.trunk(ip, [n], 'register', False, username='accA', password='pw')
    need(t.status == 201, 'the owner cannot add his number: %r' % t); a.bind(pa, n); time.sleep(3.5); need('accA' in c.bindings, 'no registration')
    out = []
    for u in (c.bindings['accA'], 'sip:accA@%s:%d' % SIP, 'sip:%s@%s:%d' % (n, *SIP)):
        d = dial(c, u, to='<sip:%s@%s>' % (n, ip)); time.sleep(.5); d.bye(); out.append(d.status)
    time.sleep(.5); na, nb = len(a.calls(direction='in')), len(b.calls(direction='in')); c.close(); return ok(na == 3 and nb == 0, 'answers %s; calls: owner %d, squatter %d' % (out, na, nb))
@case('3.06', 'there is an operation that verifies a number, and the number list shows the result')
def _():
    v = verify_ops(); s = json.dumps(api_doc()['components']['schemas'].get('Number', {})); return ok(v and 'verified' in s, 'operations %s; Number has verified: %s' % ([(m, p) for m, p, _ in v], 'verified' in s))
@case('3.07', "B cannot verify A's number by a carrier of his own: no verification succeeds through B's trunk, and A keeps his calls", 60)
def _():
    need(verify_ops(), 'no operation verifies a number')
    s = Shared(kind='ip'); s.call('sip:%s@%s:%d' % (s.num, *SIP)); evil = Carrier(ip4(), 5060, {'e': 'e'}); heard = []
    evil.answer = lambda m: heard.append(m) or {}
    t = s.b.trunk(evil.ip, [s.num], 'both', False, username='e', password='e', allowed_ips=[evil.ip]); s.b.bind(s.pb, s.num); t2 = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); time.sleep(3)
    for m, p, o in verify_ops():
        if m == 'POST': s.b.session(m, p.replace('{number}', s.num), {}); s.b.api(m, p.replace('/v1/public', '').replace('{number}', s.num), {})
    if 'e' in evil.bindings: dial(evil, evil.bindings['e'], to='<sip:%s@%s>' % (s.num, evil.ip)).bye()       # the registration "brings the call"
    time.sleep(4); r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); l = [x.get('verified') for x in s.b.must('GET', '/numbers')['items'] if x['number'] == s.num]; s.end(); evil.close()
    return ok(r == (200, 'A'), "A's call after B's staged proof: %s; verified at B: %s; INVITEs at B's carrier %d" % (r, l, len(heard)))
@case('3.08', "neither of two owners has shown anything and only the number could decide: the first one's calls do not become the second's", 60)
def _():
    s = Shared(kind='ip'); x = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); s.b.bind(s.pb, s.num); time.sleep(2.5); r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); s.end()
    return ok(r == (200, 'A') and x.status == 201, '%s (B listed it: %r)' % (r, x))
@case('3.09', 'the error list of the API has no code that says a number is taken by another owner')
def _(): t = json.dumps(api_doc()); return ok('number_taken' not in t, 'number_taken %s in /openapi.json' % ('is' if 'number_taken' in t else 'is not'))
@case('3.50', 'control: within one account a number on two projects is still 409 number_bound')
def _():
    o = Owner(); l = o.line(ip4()); r = o.bind(o.project(), l.number); return ok(r.status == 409 and r.code == 'number_bound', r)
@case('3.51', 'control: a number moves: A deletes his trunk, B adds the number at the same carrier and gets its calls', 60)
def _():
    s = Shared(kind='ip'); s.call('sip:%s@%s:%d' % (s.num, *SIP)); s.a.api('DELETE', '/trunks/' + s.line.trunk); x = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]); y = s.b.bind(s.pb, s.num); time.sleep(2.6)
    r = s.call('sip:%s@%s:%d' % (s.num, *SIP)); s.end(); return ok(r == (200, 'B'), '%s (%r, %r)' % (r, x, y))
@case('3.52', "control: a number of another account is still 404 when bound without a trunk of one's own")
def _():
    a, b = Owner(), Owner(); l = a.line(ip4()); r = b.bind(b.project(), l.number); f = b.bind(b.project(), number()); return ok(r.status == f.status == 404, '%r / free %r' % (r, f))
@case('3.53', "control: a caller hears the same for A's number at B's trunk source as for a number of nobody")
def _():
    a, b = Owner(), Owner(); l = a.line(ip4()); c = ip4(); b.line(c); p = Peer(c, 5060); x, y = [dial(p, 'sip:%s@%s:%d' % (n, *SIP)) for n in (l.number, number())]
    return ok(x.status == y.status and x.final is not None and x.final.start == y.final.start, '%s / %s' % (x.final and x.final.start, y.final and y.final.start))
