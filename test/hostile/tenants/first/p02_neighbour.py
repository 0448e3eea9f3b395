"""2. A neighbour at the same carrier may not take inbound calls."""
from h import *
from shared import Shared

def before_after(hostile, forms=('account', 'contact'), to=False, **kw):
    s = Shared(**kw); a, before = s.reaches_a(forms, to); x = hostile(s); time.sleep(2.6); b, after = s.reaches_a(forms, to); s.end()
    return ok(a and b, 'before %s, after %s (hostile: %s)' % (before, after, x))

@case('2.01', "B adds a trunk with the same host and another user: A's calls that name the account or the contact stay A's")
def _(): return before_after(lambda s: s.b.trunk(s.ip, [number()], 'register', False, username='acctB', password='x'))
@case('2.11', 'as 2.01, at a carrier whose To names the number')
def _(): return before_after(lambda s: s.b.trunk(s.ip, [number()], 'register', False, username='acctB', password='x'), to=True)
@case('2.02', 'B adds an ip trunk at the same host without numbers')
def _(): return before_after(lambda s: s.b.trunk(s.ip, [], 'ip', False, allowed_ips=[s.ip]))
@case('2.03', "B adds a trunk with A's own user name and a wrong password")
def _(): return before_after(lambda s: s.b.trunk(s.ip, [number()], 'register', False, username=s.acc, password='wrong'))
@case('2.04', "B adds an ip trunk whose /28 covers the carrier, with A's number on it, bound")
def _():
    def hostile(s):
        r = s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip.rsplit('.', 1)[0] + '.%d/28' % (int(s.ip.rsplit('.', 1)[1]) & 240)]); return r, s.b.bind(s.pb, s.num)
    return before_after(hostile, ('account', 'contact', 'number'))
@case('2.05', "the dialled number decides while B has other numbers there: A's number in the request URI stays A's")
def _(): return before_after(lambda s: s.b.trunk(s.ip, [number() for _ in range(5)], 'both', False, username='acctB', password='x', allowed_ips=[s.ip]), ('number', 'account', 'contact'))
@case('2.06', 'B adds eight trunks of all modes at the host')
def _(): return before_after(lambda s: [s.b.trunk(s.ip, [number()], m, False, username='u%d' % i, password='x', **({'allowed_ips': [s.ip]} if m != 'register' else {})).status for i, m in enumerate(['register', 'ip', 'both', 'ip', 'register', 'both', 'ip', 'ip'])])
@case('2.07', "the contact user of a registration is unique to the trunk and is not the account's name")
def _():
    s = Shared(); s.carrier.users['acctZ'] = 'pwZ'; z = Owner('z'); z.trunk(s.ip, [number()], 'register', username='acctZ', password='pwZ')
    for _ in range(40):
        if 'acctZ' in s.carrier.bindings: break
        time.sleep(0.2)
    u = [user_of(s.carrier.bindings.get(x, '')) for x in (s.acc, 'acctZ')]; s.end()
    return ok(all(len(x) >= 8 for x in u) and u[0] != u[1] and s.acc not in u[0], 'contact users %s' % u)
@case('2.08', "an ip trunk of A at a carrier: B's ip trunk at the same carrier with other numbers changes nothing")
def _(): return before_after(lambda s: s.b.line(s.ip, s.pb), ('number',), kind='ip')
@case('2.09', "both have ip trunks at the carrier and B lists A's number too: the number stays with A, who had calls by it")
def _(): return before_after(lambda s: (s.b.trunk(s.ip, [s.num], 'ip', False, allowed_ips=[s.ip]), s.b.bind(s.pb, s.num)), ('number',), kind='ip')
@case('2.10', "a call that names nobody's number, account or contact is refused and is nobody's")
def _():
    s = Shared(); s.b.trunk(s.ip, [], 'ip', False, allowed_ips=[s.ip]); time.sleep(2.5); r = s.call('sip:%s@%s:%d' % (number(), *SIP)); s.end()
    return ok(r[0] in (404, 403) and r[1] == '-', r)
@case('2.50', "control: two honest owners at one carrier with their own accounts each get their own calls, by account, contact and number")
def _():
    s = Shared(); s.carrier.users['acctB'] = 'pwB'; nb = number(); s.b.line(s.ip, s.pb, 'register', nb, username='acctB', password='pwB'); time.sleep(1.5)
    need('acctB' in s.carrier.bindings, 'B did not register')
    a, ra = s.reaches_a(('account', 'contact', 'number')); rb = [s.call('sip:acctB@%s:%d' % SIP), s.call(s.carrier.bindings['acctB']), s.call('sip:%s@%s:%d' % (nb, *SIP))]; s.end()
    return ok(a and all(x == (200, 'B') for x in rb), 'A %s, B %s' % (ra, rb))
@case('2.51', 'control: after B removes his trunk, A is as before')
def _():
    s = Shared(); t = s.b.trunk(s.ip, [number()], 'register', username='acctB', password='x').json; time.sleep(2.4); s.b.api('DELETE', '/trunks/' + t['id']); time.sleep(2.4)
    a, r = s.reaches_a(('account', 'contact', 'number')); s.end(); return ok(a, r)
@case('2.52', 'control: one owner with two trunks at one carrier gets the calls of each at the right agent')
def _():
    s = Shared(); p2 = s.a.project(name='A2'); s.carrier.users['acct2'] = 'pw2'; n2 = number(); s.a.line(s.ip, p2, 'register', n2, username='acct2', password='pw2'); time.sleep(1.5)
    r = [s.call(u) for u in (s.carrier.bindings[s.acc], s.carrier.bindings['acct2'], 'sip:%s@%s:%d' % (n2, *SIP))]; pr = [c['project_id'] for c in s.a.calls(direction='in')]; s.end()
    return ok([x[0] for x in r] == [200] * 3 and pr[::-1] == [s.pa, p2, p2], '%s, agents %s' % (r, ['1' if x == s.pa else '2' for x in pr[::-1]]))
