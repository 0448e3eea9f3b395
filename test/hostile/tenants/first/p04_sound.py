"""4. No sound to private hosts; one policy for every packet."""
from h import *
from media import *
def ans(ip, port=18088, more='', **kw): return lambda m: {'body': sdp(ip, port, more, **kw)}

@case('4.01', 'an answer with c=IN IP4 10.0.0.1 gets no packet')
def _(): return silent(ans('10.0.0.1', 8889))
@case('4.02', 'an answer with c=IN IP4 127.0.0.1 gets no packet')
def _(): return silent(ans('127.0.0.1'))
@case('4.03', 'answers with 192.168.1.1, 172.16.0.9, 169.254.169.254, 100.64.0.1 get no packet', 120)
def _():
    out = [silent(ans(i, 4000), 3) for i in ('192.168.1.1', '172.16.0.9', '169.254.169.254', '100.64.0.1')]; return all(a for a, _ in out), ' ; '.join(f for _, f in out)
@case('4.04', "answers with this machine's own addresses (signalling, another interface, a private one) get no packet", 120)
def _():
    out = [silent(ans(i), 3) for i in (HOST, OWN4, OWN_PRIVATE)]; return all(a for a, _ in out), ' ; '.join(f for _, f in out)
@case('4.05', 'multicast and broadcast get no packet', 90)
def _():
    out = [silent(ans(i, 5004), 3) for i in ('224.2.1.1', '255.255.255.255')]; return all(a for a, _ in out), ' ; '.join(f for _, f in out)
@case('4.06', 'a media-level c= with a private address overrides a public one and gets no packet')
def _(): return silent(ans('5.5.70.1', 6000, media_c='IP4 10.0.0.2'))
@case('4.07', 'a=rtcp with a private address gets no RTCP', 60)
def _(): return silent(lambda m: {'body': sdp('5.5.70.2', 6000, 'a=rtcp:6001 IN IP4 10.0.0.3\r\n')}, 9)
@case('4.08', 'early media (183) that points to a private host gets no packet')
def _(): return silent(lambda m: {'early': sdp('10.0.0.4', 7000), 'early_secs': 3, 'status': 486, 'reason': 'Busy'}, 4.5)
@case('4.09', 'a re-INVITE that moves the sound to a private host moves nothing')
def _(): return silent(lambda m: {}, 3, lambda c: (c.again_to(sdp('10.0.0.5', 7002)), time.sleep(3)))
@case('4.10', 'an inbound offer with a private c= gets no packet, however the call is answered')
def _(): return inbound(sdp('192.168.77.7', 7004))
@case('4.11', 'the Contact of an answer sends no ACK and no BYE to a private host')
def _(): return silent(lambda m: {'contact': '<sip:x@10.0.0.6:5060>'}, 3)
@case('4.12', 'a 302 to a private host is not followed')
def _(): return silent(lambda m: {'status': 302, 'reason': 'Moved Temporarily', 'contact': '<sip:+12025550123@192.168.7.7:5060>'}, 3)
@case('4.13', 'a Record-Route with a private host receives nothing')
def _(): return silent(lambda m: {'headers': ['Record-Route: <sip:10.0.0.8:5060;lr>']}, 3)
@case('4.14', 'ICE candidates with private addresses get no STUN and no sound', 60)
def _(): return silent(lambda m: {'body': sdp('5.5.70.3', 6002, 'a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=candidate:1 1 UDP 2130706431 10.0.0.9 7006 typ host\r\na=candidate:2 1 UDP 1694498815 192.168.9.9 7008 typ srflx raddr 0.0.0.0 rport 0\r\n')}, 5)
@case('4.15', 'IPv6: ::1, fd00::1 and ::ffff:10.0.0.1 get no packet', 90)
def _():
    out = [silent(ans(i), 3) for i in ('::1', 'fd00::1', '::ffff:10.0.0.1')]; return all(a for a, _ in out), ' ; '.join(f for _, f in out)
@case('4.16', 'a trunk whose name resolves to a private host receives no INVITE, no OPTIONS, no REGISTER', 60)
def _():
    n = 'sip-%s.example.net' % word(); W.dns.zone[n] = {'A': ['10.0.0.10']}; o = Owner(); t0 = time.time()
    r = o.trunk(n, [number()], 'register', False, username='u', password='p', options_interval_seconds=10)
    if r.status == 201: o.api('POST', '/trunks/%s/check' % r.json['id'], timeout=40); time.sleep(4)
    leak = W.sniff.to(t0); 
    if r.status == 201: o.api('DELETE', '/trunks/' + r.json['id'])
    return ok(not leak, 'trunk %r, packets %s' % (r, leak or 0))
def tool(o, url, method='GET', **more):
    p = o.project(tools=[{'name': 'look', 'description': 'Looks.', 'method': method, 'url': url, **more}]); t0 = time.time(); r = o.api('POST', '/projects/%s/tools/look/test' % p, {'arguments': {}}, timeout=40)
    return r, W.sniff.to(t0), canary(t0)
@case('4.17', "a tool does not reach this machine's own addresses: another interface, the API itself, IPv6")
def _():
    o = once('tooler', lambda: Owner('tooler')); out = {}
    for u in ('http://%s:%d/x' % (OWN4, CANARY), 'http://%s:%d/x' % (HOST, CANARY), 'http://[%s]:%d/x' % (OWN6, CANARY), 'http://%s:8080/healthz' % HOST):
        r, leak, own = tool(o, u); out[u] = (r.status, own, 'CANARY' in r.text or '"status"' in str((r.json or {}).get('result', ''))[:0])
        if own or 'CANARY' in r.text or (u.endswith('healthz') and re.search(r'"http_status"\s*:\s*200|"status"\s*:\s*200', r.text)): out[u] = ('REACHED', r.text[:80])
    return ok(not any(v[0] == 'REACHED' for v in out.values()), out)
@case('4.18', "a webhook, a knowledge page, a crawl and a model's base URL do not reach this machine's own public address", 60)
def _():
    o = once('tooler', lambda: Owner('tooler')); t0 = time.time(); u = 'http://%s:%d/' % (OWN4, CANARY); out = []
    w = o.api('POST', '/webhooks', {'url': u + 'hook', 'events': ['call.completed']}); out.append(w)
    if w.status == 201: out.append(o.api('POST', '/webhooks/%s/test' % w.json['id'], {}))
    p = o.project(); out.append(o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': u + 'page'})); out.append(o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': u + 'site', 'crawl': True}))
    l = o.line(ip4(), o.api('POST', '/projects', {'name': 'x', 'language': 'en', 'prompt': 'x', 'llm': {'provider': 'openai_compatible', 'base_url': u + 'v1', 'model': 'm'}}).json.get('id') or o.project())
    pr = Peer(o.must('GET', '/trunks/' + l.trunk)['host'], 5060); d = dial(pr, 'sip:%s@%s:%d' % (l.number, *SIP)); time.sleep(4); d.bye(); pr.close()
    got = canary(t0, ('http',)); return ok(not got, 'reached: %s (answers %s, call %s)' % (got or 'none', out, d.status))
@case('4.19', 'each refusal of sound counts in a metric', 40)
def _():
    m = metrics(); need(m, 'no metrics'); outbound(ans('10.0.0.1', 8889), 3); g = grown(m, metrics(), REFUSALS); return ok(g, 'series that grew: %s' % g)
@case('4.20', 'the doctor names what was refused and where', 120)
def _():
    outbound(ans('10.66.0.1', 8889), 2)
    s = inside(['bash', '-c', 'cd %s; set -a; PATH=%s/node_modules/.bin:$PATH; for l in $(tr "\\0" "\\n" < /proc/%s/environ | grep -E "^(PARLEY_|HTTP_|SIP_|RTP_|METRICS_|TRUNK_|PUBLIC_URL|HOME)"); do export $l; done; npm run -s doctor 2>&1' % (DIR, DIR, product_pid())], uid=int(ENV('RUN_UID', 65534)), timeout=110)
    lines = [l for l in s.splitlines() if re.search(r'refus|private|10\.66\.0\.1', l, re.I)]; return ok(any('10.66.0' in l for l in lines) or any(re.search(r'refused|not allowed', l) and re.search(r'\d', l) for l in lines), '%d lines, of them: %s' % (len(s.splitlines()), lines[:3] or s[-150:]))
@case('4.50', 'control: sound to an ordinary public host that is not the signalling host flows both ways')
def _():
    o, c, l = caller(); m = Rtp('5.5.71.1', 9000); leak, own, x = outbound(lambda q: (m.start(media_at(q.body_text)), {'body': sdp('5.5.71.1', 9000)})[1], 4); n = m.got; m.close()
    return ok(n > 60 and not leak, '%d packets came to the public media host; call %s' % (n, x['status']))
@case('4.51', 'control: hold with c=0.0.0.0 and back leaves the call alive')
def _():
    o, c, l = caller(); st = []
    def after(c):
        st.append([m.status for m in c.again_to(sdp('0.0.0.0', c.rtp.port))][-1:]); time.sleep(1); n = c.rtp.got; st.append([m.status for m in c.again_to(sdp(c.ip, c.rtp.port))][-1:]); time.sleep(2.5); st.append(c.rtp.got - n)
    leak, own, x = outbound(lambda q: {}, 2.5, after); return ok(st[0] == [200] and st[1] == [200] and st[2] > 10 and not leak, '%s; leaks %s' % (st, leak))
@case('4.52', 'control: a tool at an ordinary host and a webhook receiver work')
def _():
    o = once('tooler', lambda: Owner('tooler')); s = once('plain web', lambda: Web('5.5.72.1', 80)); r, leak, own = tool(o, 'http://5.5.72.1/ok'); w = o.must('POST', '/webhooks', {'url': 'http://5.5.72.1/hook', 'events': ['call.completed']}); o.api('POST', '/webhooks/%s/test' % w['id'], {}); time.sleep(2)
    return ok(r.status == 200 and {'/ok', '/hook'} <= {q.path for q in s.got}, '%r %s; the server saw %s' % (r, r.text[:100], sorted({q.path for q in s.got})))
@case('4.53', 'control: a carrier with a name, whose sound comes from another public network (NAT), is heard and answered')
def _():
    n = 'carrier-%s.example.net' % word(); o, c, l = Owner(), Carrier(ip4(), 5060), None; W.dns.zone[n] = {'A': [c.ip]}
    m = Rtp(ip4(), 9100); c.answer = lambda q: (m.start(media_at(q.body_text)), {'body': sdp(m.ip, 9100)})[1]; l = o.line(n, o.project(greeting='Hello hello hello, this is a longer sentence.')); p = o.place(l.project, number()); need(p.status == 201, repr(p)); time.sleep(4); k = m.got
    o.api('POST', '/calls/%s/hangup' % p.json['id']); m.close(); c.close(); return ok(k > 60, '%d packets' % k)
