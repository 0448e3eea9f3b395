"""1, second half."""
from h import *

def refuse_all(lists, says=None, **more):
    o = once('gate2', lambda: Owner('gate')); out = []
    for ips in lists:
        r = o.trunk(ip4(), [], expect=False, allowed_ips=ips, **more)
        if r.status == 201: o.api('DELETE', '/trunks/' + r.json['id'])
        out.append((ips, r, r.status == 400 and problem_names(r, *([says] if says else [])) and any('allowed_ips' in e.get('pointer', '') for e in r.json.get('errors', []))))
    return ok(all(g for _, _, g in out), ' ; '.join('%s %r' % (i, r) for i, r, g in out if not g)[:380] or 'all %d refused' % len(out))
@case('1.01', 'other spellings of everything are refused', 60)
def _(): return refuse_all([['0.0.0.0/00'], ['0/0'], ['0.0.0.0/0.0.0.0'], ['1.2.3.4/0'], ['255.255.255.255/0'], ['000.000.000.000/0'], ['*'], ['any'], ['all'], ['0:0:0:0:0:0:0:0/0'], ['0000::/000'], ['ffff::/0'], ['5.5.5.5/-1'], ['5.5.5.5/+0'], ['5.5.5.5/0x0'], ['5.5.5.5/0 '], [' 0.0.0.0/0'], ['5.5.5.5/ 0']])
@case('1.02', 'IPv6 ways to say all of IPv4 are refused (mapped, compatible, NAT64, 6to4, Teredo)', 60)
def _(): return refuse_all([['::ffff:0:0/96'], ['::ffff:0.0.0.0/96'], ['::/96'], ['::/48'], ['64:ff9b::/96'], ['::ffff:37.1.0.0/112'], ['2002::/48'], ['2001:0:0::/48'], ['64:ff9b:1::/48']])
@case('1.03', 'quarters, eighths and a staircase of prefixes are refused')
def _(): return refuse_all([['0.0.0.0/2', '64.0.0.0/2', '128.0.0.0/2', '192.0.0.0/2'], ['31.0.0.0/8'], ['79.1.0.0/16'], ['85.3.128.0/20'], ['46.7.0.0/22'], ['2a0b::/16'], ['2a0b:1::/32'], ['2a0b:1::/44']], '/24|/48')
@case('1.04', 'one bad entry at the end of a good list makes the whole list bad, and the pointer names it')
def _():
    o = once('gate2', lambda: Owner('gate')); l = [ip4() for _ in range(6)] + ['62.0.0.0/9']; r = o.trunk(ip4(), [], expect=False, allowed_ips=l); p = [e.get('pointer') for e in (r.json or {}).get('errors', [])]; r.status == 201 and o.api('DELETE', '/trunks/' + r.json['id']); return ok(r.status == 400 and '/allowed_ips/6' in p, '%r %s' % (r, p))
@case('1.05', 'loopback and unspecified in disguise', 60)
def _(): return refuse_all([['127.255.255.254'], ['::ffff:127.0.0.1'], ['::ffff:7f00:1'], ['0:0:0:0:0:0:0:1'], ['::'], ['0.0.0.0'], ['0.0.0.0/32'], ['127.1.2.0/24'], ['::1/128'], ['2002:7f00:1::/48'], ['64:ff9b::7f00:1']])
@case('1.06', 'private, documentation, benchmark, multicast, reserved and carrier-grade networks', 60)
def _(): return refuse_all([['10.255.0.0/30'], ['172.31.255.255'], ['192.168.255.0/28'], ['100.127.255.0/24'], ['169.254.169.254'], ['198.18.1.0/24'], ['224.0.0.0/24'], ['240.1.1.0/24'], ['255.255.255.255'], ['fc00:1::/48'], ['fdff::1'], ['fec0::/48'], ['ff02::/48'], ['::ffff:10.0.0.1'], ['::ffff:192.168.0.0/120']])
@case('1.07', 'own addresses in disguise: mapped, inside a small network, long form', 60)
def _():
    o6 = ipaddress.ip_address(OWN6); return refuse_all([['::ffff:' + HOST], [HOST + '/30'], [OWN4 + '/32'], [OWN4.rsplit('.', 1)[0] + '.64/26'], [o6.exploded], [str(ipaddress.ip_network(OWN6 + '/48', False))], ['2a0b:1:1::1']])
@case('1.08', 'the MCP tool, PATCH of another field beside it, and the mode "both" and "register" are no way round', 60)
def _():
    o = Owner(); c = ip4(); out = []
    m = http_('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'create_trunk', 'arguments': {'name': 'm', 'mode': 'ip', 'host': c, 'allowed_ips': ['0.0.0.0/1']}}}, {'Authorization': 'Bearer ' + o.keys[0], 'Accept': 'application/json, text/event-stream'}, o.src); out.append('"isError":true' in m.text.replace(' ', ''))
    t = o.trunk(c, allowed_ips=[c]).json; r = o.api('PATCH', '/trunks/' + t['id'], {'name': 'n', 'mode': 'both', 'username': 'u', 'password': 'p', 'allowed_ips': ['128.0.0.0/1']}); out.append(r.status == 400)
    for mode in ('both', 'register'): out.append(o.trunk(ip4(), [], mode, False, username='u', password='p', allowed_ips=['64.0.0.0/3']).status == 400)
    l = o.must('GET', '/trunks')['items']; [o.api('DELETE', '/trunks/' + x['id']) for x in l]; return ok(all(out) and len(l) == 1 and l[0]['allowed_ips'] == t['allowed_ips'], '%s, trunks %s' % (out, [(x['mode'], x['allowed_ips']) for x in l]))
@case('1.09', "a trunk's host name that resolves to a crowd, to own and to private addresses makes nobody known for anything but calls", 60)
def _():
    crowd = [ip4() for _ in range(20)]; n = 'crowd-%s.example.net' % word(); W.dns.zone[n] = {'A': crowd + ['127.0.0.1', '10.0.0.1', HOST]}; o = Owner(); r = o.trunk(n, [number()], 'ip', False); time.sleep(4); heard = {}
    for ip in crowd[:3]:
        p = Peer(ip, 5060)
        for m in ('OPTIONS', 'REGISTER', 'MESSAGE', 'PUBLISH', 'FOO'):
            g = p.ask(m, 'sip:%s:%d' % SIP, '<sip:1000@%s>' % SIP[0], '<sip:1000@%s>' % SIP[0], 1)
            if g: heard[m] = heard.get(m, 0) + 1
        p.close()
    r.status == 201 and o.api('DELETE', '/trunks/' + r.json['id']); return ok(not heard, 'trunk %r; answered %s' % (r, heard or 'none'))
def yard():
    def make():
        a = Owner('v'); pa = a.project(); b = Owner('b'); net = ip4().rsplit('.', 1)[0]; b.trunk(net + '.200', [number()], expect=False, allowed_ips=[net + '.0/24']); time.sleep(2.5); return a, pa, b, net
    return once('yard', make)
@case('1.10', 'out of dialog UPDATE, REFER, PRACK, BYE, CANCEL, ACK and an INVITE with a To tag from a trunk source hear nothing that a scanner would not', 60)
def _():
    a, pa, b, net = yard(); inn, out = Peer(net + '.9', 5060), Peer(ip4(), 5060); h_ = {}
    for m in ('UPDATE', 'REFER', 'PRACK', 'BYE', 'CANCEL', 'INVITE'):
        x = [p.ask(m, 'sip:agent@%s:%d' % SIP, '<sip:x@%s>' % p.ip, '<sip:agent@%s>;tag=zz' % SIP[0], 1, headers=['Refer-To: <sip:x@%s>' % p.ip] if m == 'REFER' else ()) for p in (inn, out)]
        if x[0] and not x[1] and x[0][-1].status not in (481,): h_[m] = x[0][-1].status
    return ok(not h_, 'heard only inside: %s' % (h_ or 'none'))
@case('1.11', 'a trunk first, then the guesses: the guesser from an address of his own trunk is banned like a stranger', 120)
def _():
    a, pa, b, net = yard(); p = Peer(ip4(), 5060); e = Owner(); e.trunk(p.ip, [number()], expect=False, allowed_ips=[p.ip]); time.sleep(2.6); v = Phone(a, pa); g = guess(p, v.user, 45, .8); l = guess(p, v.user, 4, .8); return ok(not any(k in l for k in (401, 403, 200)), '%s then %s' % (g, l))
@case('1.12', 'a banned guesser stays banned over TCP, from another port, and when his trunk is changed, removed and added again', 150)
def _():
    a, pa, b, net = yard(); ip = ip4(); v = Phone(a, pa); p = Peer(ip, 5060); guess(p, v.user, 32, .7); e = Owner(); t = e.trunk(ip4(), [], expect=False).json; heard = []
    for step in (lambda: e.api('PATCH', '/trunks/' + t['id'], {'allowed_ips': [ip]}), lambda: e.api('DELETE', '/trunks/' + t['id']), lambda: e.trunk(ip, [number()], expect=False), lambda: e.trunk(ip4(), [], expect=False, allowed_ips=[ip.rsplit('.', 1)[0] + '.0/24'])):
        step(); time.sleep(2.3); q = Peer(ip, 0); heard.append(register(q, v.user, 'x', timeout=1)); q.close()
    try: q = Peer(ip, tcp=True); heard.append(register(q, v.user, 'x', timeout=1.5)); q.close()
    except OSError: heard.append(None)
    return ok(not any(x in (401, 403, 200) for x in heard), heard)
@case('1.13', "INVITEs from a trunk's address to `agent`, to a project's name and to a softphone reach nobody of another owner", 60)
def _():
    a, pa, b, net = yard(); name = a.must('GET', '/projects/' + pa)['name']; v = Phone(a, pa); v.register(); p = Peer(net + '.77', 5060); n = len(a.calls()); st = []
    for u in ('agent', name.replace(' ', '%20'), v.user, pa): d = dial(p, 'sip:%s@%s:%d' % (u, *SIP), timeout=3); d.bye(); st.append(d.status)
    time.sleep(1); rung = len(v.peer.requests('INVITE')); return ok(200 not in st and len(a.calls()) == n and not rung, '%s; the telephone rang %d times' % (st, rung))
@case('1.14', "A's number is not reached from B's trunk by To, P-Called-Party-ID, Diversion, Request-URI parameters or a tel: URI", 60)
def _():
    a, pa, b, net = yard(); c = ip4(); l = a.line(c, pa); p = Peer(net + '.78', 5060); n = len(a.calls(direction='in')); st = []; d = l.number.lstrip('+')
    for u, h_, to in (('sip:%s@%s:%d;user=phone' % (l.number, *SIP), (), None), ('sip:x@%s:%d' % SIP, ['P-Called-Party-ID: <sip:%s@x>' % l.number], None), ('sip:x@%s:%d' % SIP, ['Diversion: <sip:%s@x>' % l.number], '<sip:%s@%s>' % (l.number, SIP[0])), ('tel:' + l.number, (), None), ('sip:00%s@%s:%d' % (d, *SIP), (), None), ('sip:%s@%s:%d' % (d, *SIP), ['P-Asserted-Identity: <sip:%s@%s>' % (l.number, c)], None)):
        x = dial(p, u, headers=h_, to=to, timeout=3); x.bye(); st.append(x.status)
    time.sleep(1); return ok(200 not in st and len(a.calls(direction='in')) == n, st)
@case('1.50', 'control: two owners may name the same /24, and each gets his own calls', 60)
def _():
    a, b = Owner(), Owner(); net = ip4().rsplit('.', 1)[0]; x, y = a.line(net + '.1', allowed_ips=[net + '.0/24']), b.line(net + '.1', allowed_ips=[net + '.0/24']); p = Peer(net + '.55', 5060); st = []
    for l in (x, y): d = dial(p, 'sip:%s@%s:%d' % (l.number, *SIP)); time.sleep(.3); d.bye(); st.append(d.status)
    time.sleep(1); n = [len(o.calls(direction='in')) for o in (a, b)]; return ok(st == [200, 200] and n == [1, 1], '%s %s' % (st, n))
@case('1.51', 'control: /25 to /32, /56 to /128, host bits of a /26, and upper-case IPv6 are accepted')
def _():
    o = Owner(); n = ip4().rsplit('.', 1)[0]; st = [o.trunk(ip4(), [], expect=False, allowed_ips=[x]).status for x in (n + '.128/25', n + '.4/31', '2a0b:7:7:1::/64', '2a0b:7:7:100::/56', '2A0B:7:7::ABCD', '2a0b:7:7::abcd/128')]; return ok(st == [201] * 6, st)
@case('1.52', 'control: a telephone at an address inside a trunk network (an office with its own PBX) registers and calls', 60)
def _():
    a, pa, b, net = yard(); o = Owner(); p = o.project(); office = ip4().rsplit('.', 1)[0]; o.line(office + '.1', p, allowed_ips=[office + '.0/29']); v = Phone(o, p, office + '.5'); s = v.register(); d = dial(v.peer, 'sip:agent@%s:%d' % SIP, frm='<sip:%s@%s>' % (v.user, SIP[0]), auth=(v.user, v.password)); d.bye(); return ok(s == 200 and d.status == 200, '%s %s' % (s, d.status))
@case('1.53', 'control: PATCH narrows a trunk: the address that was removed is a stranger within 2.5 s')
def _():
    o = Owner(); c, e = ip4(), ip4(); l = o.line(c, allowed_ips=[c, e]); p = Peer(e, 5060); x = dial(p, 'sip:%s@%s:%d' % (l.number, *SIP)); x.bye(); o.must('PATCH', '/trunks/' + l.trunk, {'allowed_ips': [c]}); time.sleep(2.5); y = dial(p, 'sip:%s@%s:%d' % (l.number, *SIP), timeout=2.5); return ok(x.status == 200 and y.status is None, '%s %s' % (x.status, y.status))
@case('1.15', 'a flood of OPTIONS and REGISTER from fifty addresses of one trunk network does not slow the calls of another trunk', 60)
def _():
    a, pa, b, net = yard(); c = ip4(); l = a.line(c, pa); ps = [Peer('%s.%d' % (net, i), 5060) for i in range(20, 70)]; stop = [0]; sent = [0]
    def flood():
        while not stop[0]:
            for p in ps: p.send(p.build(random.choice(['OPTIONS', 'REGISTER']), 'sip:%s' % SIP[0], '<sip:phone-abcdefgh@%s>' % SIP[0], '<sip:phone-abcdefgh@%s>' % SIP[0], ftag=word(6))); sent[0] += 1
            time.sleep(.04)
    t = threading.Thread(target=flood); t.start(); time.sleep(2); q = Peer(c, 5060); out = []
    for _ in range(4): t0 = time.time(); d = dial(q, 'sip:%s@%s:%d' % (l.number, *SIP)); out.append((d.status, round(time.time() - t0, 2))); d.bye()
    stop[0] = 1; t.join(); time.sleep(8); heard = sum(len(p.log) for p in ps); [p.close() for p in ps]; return ok(all(s == 200 and x < 2 for s, x in out) and heard <= 20 * 60, '%d sent, %d heard; calls %s' % (sent[0], heard, out))
