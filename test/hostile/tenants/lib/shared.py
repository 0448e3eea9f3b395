"""One carrier, two owners."""
from h import *

class Shared:
    """One carrier, two owners: A registers as acctA with one number. B is the stranger."""
    def __init__(s, kind='register', **more):
        s.ip = ip4(); s.acc = 'acct' + word(5); s.carrier = Carrier(s.ip, 5060, {s.acc: 'pwA'})
        s.a, s.b = Owner('a'), Owner('b'); s.pa, s.pb = s.a.project(name='AAA'), s.b.project(name='BBB'); s.num = number()
        if kind == 'register': s.line = s.a.line(s.ip, s.pa, 'register', s.num, username=s.acc, password='pwA', **more)
        else: s.line = s.a.line(s.ip, s.pa, 'ip', s.num, **more)
        if kind == 'register':
            for _ in range(40):
                if s.acc in s.carrier.bindings: break
                time.sleep(0.2)
            need(s.acc in s.carrier.bindings, 'the trunk did not register at the carrier')
    def uris(s):
        return {'account': 'sip:%s@%s:%d' % (s.acc, *SIP), 'number': 'sip:%s@%s:%d' % (s.num, *SIP), **({'contact': s.carrier.bindings[s.acc]} if s.acc in s.carrier.bindings else {})}
    def call(s, uri, to=None, frm=None):
        """(status, whose call it became)"""
        n = [len(o.calls(direction='in')) for o in (s.a, s.b)]
        d = dial(s.carrier, uri, frm=frm or '<sip:+12025550177@%s>' % s.ip, to=to); time.sleep(0.6); d.bye(); time.sleep(0.4)
        m = [len(o.calls(direction='in')) for o in (s.a, s.b)]
        return d.status, 'A' if m[0] > n[0] else 'B' if m[1] > n[1] else '-'
    def reaches_a(s, forms=('account', 'contact'), to=False):
        """With to: the To header names the number, as some carriers do; without, it repeats the request URI."""
        u = s.uris(); out = {}
        for f in forms:
            if f in u: out[f] = s.call(u[f], to='<sip:%s@%s>' % (s.num, s.ip) if to and f != 'number' else None)
        return all(v == (200, 'A') for v in out.values()) and len(out) == len([f for f in forms if f in u]), out
    def end(s): s.carrier.close()

