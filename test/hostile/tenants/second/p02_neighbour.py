"""2, second half."""
from h import *
from shared import Shared
def ba(hostile, forms=('account', 'contact'), to=False, wait=2.6, **kw):
    s = Shared(**kw); a, x = s.reaches_a(forms, to); r = hostile(s); time.sleep(wait); b, y = s.reaches_a(forms, to); s.end(); return ok(a and b, 'before %s, after %s (hostile: %s)' % (x, y, r))
def alias(s): n = 'alias-%s.example.net' % word(); W.dns.zone[n] = {'A': [s.ip]}; return n
@case('2.01', 'B reaches the same carrier by a name of his own that resolves to it')
def _(): return ba(lambda s: s.b.trunk(alias(s), [number()], 'register', False, username='acctB', password='x'))
@case('2.02', 'B names the carrier only as a failover host')
def _(): return ba(lambda s: s.b.trunk(ip4(), [number()], 'ip', False, hosts=[{'host': s.ip, 'port': 5060, 'transport': 'udp'}]))
@case('2.03', 'B names the carrier only as outbound proxy')
def _(): return ba(lambda s: s.b.trunk('pbx-%s.example.net' % word(), [number()], 'register', False, username='acctB', password='x', outbound_proxy='%s:5060' % s.ip))
@case('2.04', "B names the carrier's /24 in allowed_ips of a trunk whose host is elsewhere")
def _(): return ba(lambda s: s.b.trunk(ip4(), [number()], 'ip', False, allowed_ips=[s.ip.rsplit('.', 1)[0] + '.0/24']))
@case('2.05', "B was there first: A comes later, and his account's calls are his", 60)
def _():
    ip = ip4(); b = Owner(); b.trunk(ip, [number()], 'both', False, username='acctB', password='x', allowed_ips=[ip]); b.trunk(ip, [], 'ip', False); time.sleep(2); old = ip4.__defaults__
    import shared
    real = shared.ip4; shared.ip4 = lambda *a: ip
    try: s = Shared()
    finally: shared.ip4 = real
    r, x = s.reaches_a(('account', 'contact', 'number')); s.end(); return ok(r, x)
@case('2.06', "B's user name is A's in other letters, and with A's realm and domain")
def _(): return ba(lambda s: [s.b.trunk(s.ip, [number()], 'register', False, username=u, password='x', realm=s.ip, from_domain=s.ip).status for u in (s.acc.upper(), s.acc + '@' + s.ip, s.acc)])
@case('2.07', "B's number is A's account name written as from_user, and A's number is B's from_user")
def _(): return ba(lambda s: s.b.trunk(s.ip, [number()], 'both', False, username='acctB', password='x', from_user=s.acc, allowed_ips=[s.ip]).status, ('account', 'contact', 'number'))
@case('2.08', "a trunk of B that is changed step by step towards A's: host, mode, user, numbers", 90)
def _():
    def go(s):
        t = s.b.trunk(ip4(), [], 'ip', False).json; out = []
        for c in ({'host': s.ip}, {'mode': 'both', 'username': 'q', 'password': 'x'}, {'username': s.acc}, {'allowed_ips': [s.ip]}, {'numbers': [s.num]}, {'realm': s.ip}): out.append(s.b.api('PATCH', '/trunks/' + t['id'], c).status); time.sleep(.4)
        return out
    return ba(go, ('account', 'contact', 'number'))
@case('2.09', 'forms that carriers use for the same number: 00, national, without plus, user=phone', 90)
def _():
    s = Shared(); s.b.trunk(s.ip, [number(), s.num], 'ip', False, allowed_ips=[s.ip]); s.b.trunk(s.ip, [number()], 'register', False, username='acctB', password='x'); time.sleep(2.6); d = s.num.lstrip('+'); out = {u: s.call('sip:%s@%s:%d%s' % (u, *SIP, x)) for u, x in (('00' + d, ''), (d, ''), (s.num, ';user=phone'), ('%2B' + d, ''))}; s.end(); return ok(all(v[1] != 'B' for v in out.values()) and sum(v == (200, 'A') for v in out.values()) >= 3, out)
@case('2.10', 'the contact in the request URI wins over a To and a number of B', 60)
def _():
    s = Shared(); nb = number(); t = s.b.trunk(s.ip, [nb], 'ip', False, allowed_ips=[s.ip]); s.b.bind(s.pb, nb); time.sleep(2.6); r = s.call(s.carrier.bindings[s.acc], to='<sip:%s@%s>' % (nb, s.ip)); s.end(); return ok(r == (200, 'A'), r)
@case('2.11', "B's failing registration at A's carrier (wrong password, 403) leaves A's contact and calls alone", 60)
def _(): return ba(lambda s: (s.b.trunk(s.ip, [number()], 'register', False, username=s.acc, password='bad').status, time.sleep(3), len(s.carrier.register_log)), ('account', 'contact'))
@case('2.12', 'A re-registers (restart of the carrier) while B stands there: the next calls are still his', 90)
def _():
    def go(s): s.b.trunk(s.ip, [number()], 'register', False, username='acctB', password='x'); s.a.must('PATCH', '/trunks/' + s.line.trunk, {'password': 'pwA', 'max_calls': 9}); time.sleep(2); return s.carrier.bindings
    return ba(go)
@case('2.13', "the request URI names B's contact format with A's account: a guess of another trunk's contact is nobody's", 60)
def _():
    s = Shared(); c = user_of(s.carrier.bindings[s.acc]); out = [s.call('sip:%s@%s:%d' % (u, *SIP)) for u in (c[:-1] + ('a' if c[-1] != 'a' else 'b'), c[::-1], word(len(c)))]; s.end(); return ok(all(o[1] == '-' and o[0] != 200 for o in out) or len(c) < 8 and False, '%s contact user %s' % (out, c))
@case('2.50', 'control: two honest ip trunks at one carrier, told apart by number, both orders of creation', 60)
def _():
    s = Shared(kind='ip'); nb = number(); s.b.line(s.ip, s.pb, num=nb); r = [s.call('sip:%s@%s:%d' % (n, *SIP)) for n in (s.num, nb, s.num)]; s.end(); return ok(r == [(200, 'A'), (200, 'B'), (200, 'A')], r)
@case('2.51', 'control: an honest owner with two accounts at two carriers, one trunk each, hears both', 60)
def _():
    s = Shared(); c2 = Carrier(ip4(), 5060, {'x2': 'y'}); n2 = number(); s.a.line(c2.ip, s.pa, 'register', n2, username='x2', password='y'); time.sleep(1); need('x2' in c2.bindings, 'no second registration'); a, r = s.reaches_a(('contact', 'number')); d = dial(c2, c2.bindings['x2']); d.bye(); s.end(); c2.close(); return ok(a and d.status == 200, '%s %s' % (r, d.status))
@case('2.52', 'control: outbound calls of both owners over the shared carrier go out with their own accounts', 60)
def _():
    s = Shared(); s.carrier.users['acctB'] = 'pwB'; nb = number(); s.b.line(s.ip, s.pb, 'register', nb, username='acctB', password='pwB'); s.carrier.answer = lambda m: {'status': 486}; x, y = s.a.place(s.pa, number()), s.b.place(s.pb, number()); time.sleep(3); f = [m.get('from') for m in s.carrier.legs.values()]; s.end(); t = ' '.join(f); return ok(x.status == y.status == 201 and len(f) >= 2 and (s.num in t or s.acc in t) and (nb in t or 'acctB' in t), f)
