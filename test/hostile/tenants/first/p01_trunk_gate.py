"""1. A trunk may not open the gate for everybody."""
from h import *

def refuse(ips, *says, **more):
    """POST /trunks with these addresses is a 400 problem document that says what is allowed, and no trunk is made."""
    o = once('gate owner', lambda: Owner('gate'))
    before = o.must('GET', '/trunks')['total']
    r = o.trunk(ip4(), [], expect=False, allowed_ips=ips, **more)
    after = o.must('GET', '/trunks')['total']
    if r.status == 201: o.api('DELETE', '/trunks/' + r.json['id'])
    good = problem_names(r, *says) and any('/allowed_ips' in e.get('pointer', '') for e in (r.json or {}).get('errors', [])) and after == before
    return ok(good, 'allowed_ips %s -> %r, trunks %d -> %d %s' % (ips, r, before, after, (r.json or {}).get('errors', '')))

@case('1.01', 'the whole of IPv4 is refused, and the problem names the shortest prefix (/24)')
def _(): return refuse(['0.0.0.0/0'], '/24')
@case('1.02', 'the whole of IPv6 is refused, and the problem names the shortest prefix (/48)')
def _(): return refuse(['::/0'], '/48')
@case('1.03', 'two halves of IPv4 are refused like the whole')
def _(): return refuse(['0.0.0.0/1', '128.0.0.0/1'], '/24')
@case('1.04', 'one bit too short is refused: /23, and /47')
def _():
    a, f = refuse(['37.20.4.0/23'], '/24'); b, g = refuse(['2a0b:4::/47'], '/48'); return a and b, f + ' ; ' + g
@case('1.05', 'loopback is refused: 127.0.0.1, 127.0.0.0/24, ::1')
def _():
    out = [refuse([x]) for x in ('127.0.0.1', '127.0.0.0/24', '::1')]; return all(a for a, _ in out), ' ; '.join(f[:110] for _, f in out)
@case('1.06', 'private, shared and link-local networks are refused')
def _():
    out = [refuse([x]) for x in ('10.1.2.0/24', '172.16.9.0/24', '192.168.1.7', '100.64.3.0/24', '169.254.7.0/24', 'fd12:3456:789a::/48', 'fe80::1')]
    return all(a for a, _ in out), ' ; '.join(f[:70] for _, f in out)
@case('1.07', "this machine's own addresses are refused, on every interface")
def _():
    out = [refuse([x]) for x in (HOST, OWN4, OWN6, OWN4.rsplit('.', 1)[0] + '.0/24')]; return all(a for a, _ in out), ' ; '.join(f[:90] for _, f in out)
@case('1.08', 'PATCH cannot open what POST may not; the old list stays')
def _():
    o = Owner(); c = ip4(); t = o.trunk(c, allowed_ips=[c]).json
    r = o.api('PATCH', '/trunks/' + t['id'], {'allowed_ips': [c, '0.0.0.0/0']}); now = o.must('GET', '/trunks/' + t['id'])['allowed_ips']
    o.api('DELETE', '/trunks/' + t['id']); return ok(problem_names(r, '/24') and now == t['allowed_ips'], '%r, list %s' % (r, now))

def gate():
    """An honest owner with a telephone, and an attacker with a trunk that lets in a /28 (or today: everybody)."""
    def make():
        a = Owner('victim'); pa = a.project(); ph = Phone(a, pa)
        b = Owner('attacker'); net = ip4().rsplit('.', 1)[0]; t = b.trunk(net + '.1', [number()], allowed_ips=[net + '.0/28'])
        wide = b.trunk(ip4(), [], expect=False, allowed_ips=['0.0.0.0/0'])         # accepted today
        time.sleep(2.5); return a, pa, ph, b, net, wide
    return once('gate', make)

@case('1.09', 'a source within a trunk is heard for calls only: OPTIONS, SUBSCRIBE, MESSAGE, INFO, PUBLISH stay unanswered')
def _():
    *_, net, wide = gate(); p = Peer(net + '.3', 5060); heard = {}
    for m in ('OPTIONS', 'SUBSCRIBE', 'MESSAGE', 'INFO', 'PUBLISH', 'NOTIFY'):
        g = p.ask(m, 'sip:%s:%d' % SIP, '<sip:x@%s>' % p.ip, '<sip:%s>' % SIP[0], 1.5)
        if g: heard[m] = g[-1].status
    p.close(); return ok(not heard, 'answered: %s' % (heard or 'none'))
@case('1.10', "REGISTER from within a stranger's trunk is treated exactly like one from an unknown source")
def _():
    a, pa, ph, b, net, wide = gate(); inn, out = Peer(net + '.4', 5060), Peer(ip4(), 5060)
    x = [register(p, '1000', 'x', timeout=1.5) for p in (inn, out)]; y = [register(p, 'phone-abcdefgh', 'x', timeout=2) for p in (inn, out)]
    return ok(x == [None, None] and y[0] == y[1], 'name 1000: inside %s, outside %s; a phone name: inside %s, outside %s' % (*x, *y))
@case('1.11', "a flood of wrong passwords from within a trunk hears no more than a stranger's (100 burst + 20 a second)", 60)
def _():
    a, pa, ph, b, net, wide = gate(); p = Peer(net + '.5', 5060); n0 = len(p.log); t = time.time(); n = 0
    while time.time() - t < 3:
        for _ in range(20): p.send(p.build('REGISTER', 'sip:%s' % SIP[0], '<sip:phone-%s@%s>' % ('abcdefgh', SIP[0]), '<sip:phone-abcdefgh@%s>' % SIP[0], ftag=word(6), headers=['Expires: 60'])); n += 1
        time.sleep(0.05)
    time.sleep(0.5); heard = len([1 for _, m, _ in p.log[n0:] if m.status]); p.close()
    return ok(heard <= 190, '%d sent in 3 s, %d answered' % (n, heard))
@case('1.12', 'a guesser who is banned stays banned when he adds a trunk with his own address', 120)
def _():
    a, pa, ph, b, net, wide = gate(); p = Peer(ip4(), 5060); v = Phone(a, pa)
    g = guess(p, v.user, 30, 1); banned = register(p, v.user, 'wrong', timeout=1.2)
    e = Owner('guesser'); t = e.trunk(p.ip, [], expect=False, allowed_ips=[p.ip + '/32']); time.sleep(3)
    after = guess(p, v.user, 5, 1.2); p.close()
    return ok(banned in (None, 403, 503) and not any(k in after for k in (401, 200)) and sum(after.values()) == 5, 'guesses %s, banned answers %s; with the trunk (%r): %s' % (g, banned, t, after))
@case('1.13', 'an address that is known because of a trunk is banned as a guesser like any other', 120)
def _():
    a, pa, ph, b, net, wide = gate(); p = Peer(net + '.6', 5060); v = Phone(a, pa); g = guess(p, v.user, 40, 1)
    last = guess(p, v.user, 5, 1); p.close()
    return ok(g.get(401, 0) + g.get(403, 0) <= 30 and not any(k in last for k in (401, 403)) or set(last) == {None}, '40 guesses heard %s, then %s' % (g, last))
@case('1.14', "a trunk's sources call numbers of that trunk only: another owner's number is not reached from there")
def _():
    a, pa, ph, b, net, wide = gate(); c = ip4(); la = a.line(c, pa); p = Peer(net + '.7', 5060)
    n0 = len(a.calls(direction='in')); d = dial(p, 'sip:%s@%s:%d' % (la.number, *SIP)); d.bye(); time.sleep(1); n1 = len(a.calls(direction='in'))
    return ok(d.status != 200 and n1 == n0, "INVITE to the neighbour's number from the attacker's trunk: %s; his calls %d -> %d" % (d.status, n0, n1))
@case('1.15', 'an INVITE from an address of nobody stays unanswered although trunks exist')
def _():
    gate(); p = Peer(ip4(), 5060); d = dial(p, 'sip:%s@%s:%d' % (number(), *SIP), timeout=2.5); return ok(d.status is None, 'answer %s' % d.status)
@case('1.16', 'a real telephone registers within 3 s while a stranger floods from an address that his trunk names', 60)
def _():
    a, pa, ph, b, net, wide = gate(); f = [Peer(net + '.%d' % i, 5060) for i in (8, 9, 10)]; stop = [0]
    def flood(p):
        while not stop[0]:
            for _ in range(15): p.send(p.build('REGISTER', 'sip:%s' % SIP[0], '<sip:%s@%s>' % (ph.user, SIP[0]), '<sip:%s@%s>' % (ph.user, SIP[0]), ftag=word(6)))
            time.sleep(0.05)
    ts = [threading.Thread(target=flood, args=(p,)) for p in f]; [t.start() for t in ts]; time.sleep(1.5); out = []
    for _ in range(4):
        t = time.time(); q = Peer(ip4(), 0); out.append((ph.register(q, timeout=3.5), round(time.time() - t, 1))); q.close()
    stop[0] = 1; [t.join() for t in ts]; [p.close() for p in f]
    return ok(all(s == 200 and t <= 3 for s, t in out), 'four registrations from new networks: %s' % out)
def close_gate():
    *_, b, net, wide = gate()
    if wide.status == 201: b.api('DELETE', '/trunks/' + wide.json['id']); wide.status = 204; time.sleep(2.5)
@case('1.50', 'control: an honest trunk with a /28 takes calls from within it, and not from beside it')
def _():
    close_gate(); o = Owner(); net = ip4().rsplit('.', 1)[0]; l = o.line(net + '.17', allowed_ips=[net + '.16/28'])
    i, x = Peer(net + '.30', 5060), Peer(net + '.40', 5060)
    d = dial(i, 'sip:%s@%s:%d' % (l.number, *SIP)); d.bye(); e = dial(x, 'sip:%s@%s:%d' % (l.number, *SIP), timeout=2.5)
    return ok(d.status == 200 and e.status is None, 'inside %s, beside %s' % (d.status, e.status))
@case('1.51', 'control: exactly /24, exactly /48, single addresses and a list of ten are accepted')
def _():
    o = Owner(); n = ip4().rsplit('.', 1)[0]
    out = [o.trunk(ip4(), [], expect=False, allowed_ips=x).status for x in ([n + '.0/24'], ['2a0b:99:7::/48'], [ip4(), ip6()], [ip4() + '/32' for _ in range(10)])]
    return ok(out == [201] * 4, out)
@case('1.52', 'control: a softphone registers and calls its agent while hostile trunks stand')
def _():
    a, pa, ph, *_ = gate(); p = Peer(ip4(), 0); s = ph.register(p); d = dial(p, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (ph.user, SIP[0]), auth=(ph.user, ph.password)); d.bye()
    return ok(s == 200 and d.status == 200, 'REGISTER %s, INVITE agent %s' % (s, d.status))
