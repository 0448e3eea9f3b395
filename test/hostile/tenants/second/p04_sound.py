"""4, second half."""
from h import *
from media import *
def ans(ip, port=18090, more='', **kw): return lambda m: {'body': sdp(ip, port, more, **kw)}
def every(ips, secs=2.6, port=18091):
    out = [silent(ans(i, port), secs) for i in ips]; return all(a for a, _ in out), ' ; '.join('%s: %s' % (i, f[:90]) for i, (a, f) in zip(ips, out) if not a) or 'none of %d' % len(ips)
@case('4.01', 'private networks at their edges: 10.255.255.254, 172.31.255.254, 192.168.255.1, 198.18.0.1, 192.0.0.8', 120)
def _(): return every(['10.255.255.254', '172.31.255.254', '192.168.255.1', '198.18.0.1', '192.0.0.8'])
@case('4.02', 'loopback in disguise: 127.255.0.1, 0.0.0.1, 127.1, 2130706433, 0x7f000001, 0177.0.0.1, localhost', 150)
def _(): return every(['127.255.0.1', '0.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', 'localhost'], 2.2)
@case('4.03', 'a name in c= that resolves to a private or own address', 90)
def _():
    W.dns.zone.update({'m1.evil.example.net': {'A': ['10.9.9.9']}, 'm2.evil.example.net': {'A': ['127.0.0.1']}, 'm3.evil.example.net': {'CNAME': ['m1.evil.example.net']}}); return every(['m1.evil.example.net', 'm2.evil.example.net', 'm3.evil.example.net'])
@case('4.04', 'IPv6 that carries IPv4: mapped hex, compatible, NAT64, 6to4, own global address', 120)
def _(): return every(['::ffff:a00:1', '::10.0.0.1', '64:ff9b::10.0.0.1', '2002:a00:1::1', OWN6], 2.2)
@case('4.05', 'c= with TTL and count, class E, documentation, the 0.x network', 90)
def _(): return every(['239.1.1.1/127/3', '240.0.0.9', '203.0.113.9', '0.1.2.3'])
@case('4.06', "own media ports: an answer that names Parley's own RTP address and a port of its range makes no loop", 60)
def _():
    o, c, l = caller(); me = []
    def a(m): me.append(media_at(m.body_text)); return {'body': sdp(me[-1][0], me[-1][1])}
    c.answer = a; m0 = metrics(); t0 = time.time(); p = o.place(l.project, number()); time.sleep(4); o.api('POST', '/calls/%s/hangup' % p.json['id']); x = o.wait_call(p.json['id'], secs=8); tr = inside(['cat', '/proc/net/snmp']); need(me, 'not dialled'); return ok(x['status'] in ('failed', 'completed', 'canceled') and not (x['status'] == 'completed' and (x.get('duration_seconds') or 0) >= 4 and not grown(m0, metrics(), REFUSALS)), '%s %s after an answer at %s; refusals %s' % (x['status'], x.get('ended_reason'), me, grown(m0, metrics(), REFUSALS)))
@case('4.07', 'rtcp-mux absent and a private a=rtcp without family; a=rtcp at an own address', 90)
def _():
    out = [silent(lambda m, r=r: {'body': sdp('5.5.70.9', 6100, r)}, 8) for r in ('a=rtcp:18092 IN IP4 127.0.0.1\r\n', 'a=rtcp:53 IN IP4 192.168.4.4\r\n')]; return all(a for a, _ in out), ' ; '.join(f for _, f in out)
@case('4.08', "packets whose source is forged as a private address do not turn the sound there (symmetric RTP)", 60)
def _():
    o, c, l = caller(); d = dial(c, 'sip:%s@%s:%d' % (l.number, *SIP), body=sdp('5.5.70.10', 6200)); need(d.status == 200, 'answer %s' % d.status); t0 = time.time(); r = Rtp('10.44.0.1', 7100).start(d.media); time.sleep(3.5); r.close(); leak = W.sniff.to(t0); d.bye(); return ok(not leak, 'packets %s' % (leak or 0))
@case('4.09', 'UPDATE and a late answer in ACK (offer in 200) with private addresses', 90)
def _():
    def upd(c): m, a = c.last; tag = 't' + hashlib.md5((m.get('call-id') + c.at).encode()).hexdigest()[:8]; c.ask('UPDATE', uri_of(m.get('contact')), m.get('to').split(';tag=')[0], m.get('from'), 3, call_id=m.get('call-id'), ftag=tag, cseq=c.next(), body=sdp('10.45.0.1', 7102)); time.sleep(2.5)
    a, f = silent(lambda m: {}, 2.5, upd); o, c, l = caller(); t0 = time.time(); cid, ft = word(16), word(8); g = c.ask('INVITE', 'sip:%s@%s:%d' % (l.number, *SIP), '<sip:+12025550101@%s>' % c.ip, '<sip:%s@%s>' % (l.number, SIP[0]), 5, call_id=cid, ftag=ft)
    st = g[-1].status if g else None
    if st == 200: c.send(c.build('ACK', uri_of(g[-1].get('contact')), '<sip:+12025550101@%s>' % c.ip, g[-1].get('to'), call_id=cid, ftag=ft, body=sdp('10.45.0.2', 7103), contact=False)); time.sleep(3); c.ask('BYE', uri_of(g[-1].get('contact')), '<sip:+12025550101@%s>' % c.ip, g[-1].get('to'), 2, call_id=cid, ftag=ft, cseq=2, contact=False)
    leak = W.sniff.to(t0); return ok(a and not leak, '%s ; offerless INVITE %s, packets %s' % (f, st, leak or 0))
@case('4.10', 'two m= lines, the second private; and a first one with port 0', 60)
def _():
    two = 'm=audio 7104 RTP/AVP 0\r\nc=IN IP4 10.46.0.1\r\na=rtpmap:0 PCMU/8000\r\n'; a, f = silent(lambda m: {'body': sdp('5.5.70.11', 6300, two)}, 3); b, g = silent(lambda m: {'body': sdp('5.5.70.11', 0, two)}, 3); return a and b, f + ' ; ' + g
@case('4.11', 'signalling: Via, Route and Contact of an inbound call that name private hosts receive no response, BYE or ACK', 60)
def _():
    o, c, l = caller(); t0 = time.time(); c.send(c.build('INVITE', 'sip:%s@%s:%d' % (l.number, *SIP), '<sip:+12025550102@%s>' % c.ip, '<sip:%s@%s>' % (l.number, SIP[0]), ftag='q', body=sdp('5.5.70.12', 6400), via='10.47.0.1:5060;maddr=10.47.0.2;received=10.47.0.3')); time.sleep(1.5); d = dial(c, 'sip:%s@%s:%d' % (l.number, *SIP), contact='<sip:x@127.0.0.1:18093>', headers=['Record-Route: <sip:10.47.0.4:5060;lr>, <sip:192.168.47.5;lr>']); time.sleep(1)
    i = o.calls(limit=5)[0] if False else None; [o.api('POST', '/calls/%s/hangup' % x['id']) for x in o.calls() if x['status'] == 'in_progress']; time.sleep(2); leak, own = W.sniff.to(t0), canary(t0, ('lo',)); d.bye(); return ok(not leak and not own, 'INVITE %s; packets %s %s' % (d.status, leak or 0, own or 0))
@case('4.12', "a registrar's answers lead nowhere private: 302 Contact, Service-Route, Path, 305, an Alert-Info", 60)
def _():
    c = Carrier(ip4(), 5060); n = [0]; c.register_answer = lambda m: (302, 'Moved', '', ['Contact: <sip:10.48.0.1:5060>']) if n.__setitem__(0, n[0] + 1) or n[0] == 1 else (200, 'OK', '', ['Contact: %s;expires=60' % m.get('contact').split(';expires')[0], 'Service-Route: <sip:10.48.0.2;lr>', 'Path: <sip:10.48.0.3;lr>', 'Expires: 60']); o = Owner(); t0 = time.time(); l = o.line(c.ip, None, 'register', username='u', password='p'); time.sleep(3); o.place(l.project, number()); time.sleep(3); leak = W.sniff.to(t0); c.close(); return ok(not leak, '%d REGISTERs; packets %s' % (n[0], leak or 0))
@case('4.13', 'a trunk by SRV and NAPTR whose targets are private, and one whose A record turns private after it was saved', 60)
def _():
    n = word(); W.dns.zone.update({n + '.example.net': {'NAPTR': [(10, 10, 's', 'SIP+D2U', '_sip._udp.%s.example.net' % n)]}, '_sip._udp.%s.example.net' % n: {'SRV': [(1, 1, 5060, 't.%s.example.net' % n)]}, 't.%s.example.net' % n: {'A': ['10.49.0.1']}}); turn = [ip4()]; W.dns.zone['turn-%s.example.net' % n] = {'A': lambda: [turn[0]]}; o = Owner(); t0 = time.time(); a = o.trunk('%s.example.net' % n, [number()], 'register', False, port=None, username='u', password='p'); b = o.trunk('turn-%s.example.net' % n, [], 'ip', False); num = number(); b.status == 201 and o.api('PATCH', '/trunks/' + b.json['id'], {'numbers': [num]}); p = o.project(); o.bind(p, num); time.sleep(2.3); turn[0] = '192.168.49.1'; c = o.place(p, number()); a.status == 201 and o.api('POST', '/trunks/%s/check' % a.json['id'], timeout=40); time.sleep(5); leak = W.sniff.to(t0); return ok(not leak, 'trunks %r %r, call %r, packets %s' % (a, b, c, leak or 0))
@case('4.14', 'REFER and transfers: a SIP URI target with a private host, by bridge, sends nothing there', 60)
def _():
    from fence import Agent
    t0 = time.time(); o = Owner(); r = o.api('POST', '/projects', {'name': 'x', 'language': 'en', 'prompt': 'x', 'transfers': [{'name': 'desk', 'to': 'sip:desk@10.50.0.1', 'description': 'd'}]})
    if r.status != 201: return ok(r.status == 400, 'refused when saved: %r' % r)
    a = Agent(lambda n, m, t: [('transfer_call', {k: 'desk' for k in next(x['function'] for x in t if x['function']['name'] == 'transfer_call')['parameters']['properties']})] if n == 1 else 'No.', o, transfers=[{'name': 'desk', 'to': 'sip:desk@10.50.0.1', 'description': 'd'}]); o.api('PATCH', '/trunks/' + a.line.trunk, {'transfer': 'bridge'}); time.sleep(2.2); a.call(8); leak = W.sniff.to(t0); a.close(); return ok(not leak, 'packets %s' % (leak or 0))
def reach_own(o, url):
    p = o.project(tools=[{'name': 'x', 'description': 'x', 'method': 'POST', 'url': url}]); return o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40)
@case('4.15', 'own public addresses by name, by redirect, by userinfo, by AAAA, and by a changing answer are not reached by tools', 90)
def _():
    n = word(); k = [0]
    def flip(): k[0] += 1; return ['5.5.82.1'] if k[0] % 2 else [OWN4]
    W.dns.zone.update({'o4.%s.example.net' % n: {'A': [OWN4]}, 'o6.%s.example.net' % n: {'AAAA': [OWN6]}, 'fl.%s.example.net' % n: {'A': flip}, 'hs.%s.example.net' % n: {'A': [HOST]}}); red = Web(ip4(), 80, lambda q: (307, {'Location': 'http://%s:%d/r' % (OWN4, CANARY)}, b'')); pub = Web('5.5.82.1', CANARY); o = Owner(); t0 = time.time(); us = ['http://o4.%s.example.net:%d/' % (n, CANARY), 'http://o6.%s.example.net:%d/' % (n, CANARY), 'http://hs.%s.example.net:%d/' % (n, CANARY), 'http://u:p@%s:%d/' % (OWN4, CANARY), 'http://%s/' % red.ip, 'http://[::ffff:%s]:%d/' % (OWN4, CANARY)] + ['http://fl.%s.example.net:%d/' % (n, CANARY)] * 4
    st = []
    for u in us:
        try: st.append(reach_own(o, u).status)
        except Bad as e: st.append('refused')
    got = canary(t0); red.close(); pub.close(); return ok(not got, 'reached %s; %s' % (got or 'none', st))
@case('4.16', "leads' websites, directories' hosts and a crawled site's links at own public addresses are not visited", 90)
def _():
    o = Owner(); t0 = time.time(); b, h_ = multipart('file', ('company,phone,website,city,category\nX,+14155552671,http://%s:%d/,Oakland,dental clinic\nY,+14155552672,http://%s:%d/,Oakland,dental clinic\n' % (OWN4, CANARY, HOST, CANARY)).encode(), 'text/csv', 'd.csv'); o.api('POST', '/lead-search/directories', b, h_); o.api('POST', '/lead-search', {'brief_raw': 'dental clinics in Oakland', 'brief_parsed': {'niche': 'dental clinic', 'geo': 'Oakland', 'signals': [], 'exclusions': [], 'target_leads': 2, 'queries': []}, 'accept_terms': True})
    w = Web(ip4(), 80, lambda q: (200, {'Content-Type': 'text/html'}, '<html><head><link rel="canonical" href="http://%s:%d/c"></head><body>Hello <a href="http://%s:%d/l">x</a><meta http-equiv="refresh" content="0;url=http://%s:%d/m"></body></html>' % ((OWN4, CANARY) * 3)) if 'robots' not in q.path and 'sitemap' not in q.path else (200, {'Content-Type': 'text/plain'}, 'Sitemap: http://%s:%d/s.xml\n' % (OWN4, CANARY))); p = o.project(); o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/' % w.ip, 'crawl': True}); time.sleep(12); got = canary(t0, ('http', 'lo')); w.close(); return ok(not got, 'reached %s' % (got or 'none'))
@case('4.17', 'refusals of signalling and of HTTP count in metrics too, and the number of series does not grow with the attacks', 60)
def _():
    m = metrics(); o = Owner()
    for h_ in ('http://10.51.0.1/', 'http://%s:%d/' % (OWN4, CANARY)):
        try: reach_own(o, h_)
        except Bad: pass
    silent(ans('10.51.0.2'), 2.5); silent(lambda q: {'contact': '<sip:x@10.51.0.3>'}, 2.5); n = metrics(); g = grown(m, n, REFUSALS); return ok(len(g) >= 2 and len(n) - len(m) <= 3 and not any('10.51' in k for k in n), 'grew %s; %d -> %d series' % (g, len(m), len(n)))
@case('4.50', 'control: early media, then the answer from another public host: sound flows to each', 60)
def _():
    a, b = Rtp('5.5.71.11', 9200), Rtp('5.5.71.12', 9202); leak, own, x = outbound(lambda m: (a.start(media_at(m.body_text)), b.start(media_at(m.body_text)), {'early': sdp('5.5.71.11', 9200), 'early_secs': 1.5, 'body': sdp('5.5.71.12', 9202)})[2], 5.5); n = b.got; a.close(); b.close(); return ok(n > 40 and not leak, '%d packets after the answer; %s' % (n, leak))
@case('4.51', 'control: a caller behind NAT (private c=, sound from his public address) is at least not harmed: the call is answered or refused properly, and nothing goes to the private address', 60)
def _():
    o, c, l = caller(); t0 = time.time(); d = dial(c, 'sip:%s@%s:%d' % (l.number, *SIP), body=sdp('192.168.0.23', 6500)); r = None
    if d.status == 200: r = Rtp(c.ip).start(d.media); time.sleep(4)
    leak = W.sniff.to(t0); n = r.got if r else 0; d.bye(); r and r.close(); return ok(not leak and (d.status != 200 and d.status is not None or n > 40), 'INVITE %s; %d packets to the public source; private %s' % (d.status, n, leak or 0))
@case('4.52', 'control: IPv6 tools and names with A and AAAA work', 60)
def _():
    v6 = Web(ip6(), 80); n = 'dual-%s.example.net' % word(); v4 = Web(ip4(), 80); W.dns.zone[n] = {'A': [v4.ip], 'AAAA': [v6.ip]}; o = Owner(); r = [reach_own(o, 'http://[%s]/a' % v6.ip), reach_own(o, 'http://%s/b' % n)]; x = [q.path for q in v6.got + v4.got]; return ok({'/a', '/b'} <= set(x), '%s %s' % (r, x))
