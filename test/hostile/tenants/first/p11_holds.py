"""H. What already holds must go on holding."""
from h import *
def private_targets():
    return ['http://127.0.0.1:%d/' % CANARY, 'http://localhost:%d/' % CANARY, 'http://[::1]:%d/' % CANARY, 'http://0.0.0.0:%d/' % CANARY, 'http://0:%d/' % CANARY, 'http://127.1:%d/' % CANARY, 'http://2130706433:%d/' % CANARY, 'http://0x7f000001:%d/' % CANARY, 'http://0177.0.0.1:%d/' % CANARY, 'http://0x7f.1:%d/' % CANARY,
            'http://[::ffff:127.0.0.1]:%d/' % CANARY, 'http://[::ffff:7f00:1]:%d/' % CANARY, 'http://[64:ff9b::7f00:1]:%d/' % CANARY, 'http://[2002:7f00:1::]:%d/' % CANARY, 'http://[fe80::1]:%d/' % CANARY, 'http://[fd00::1]/', 'http://10.0.0.1/', 'http://172.31.255.1/', 'http://192.168.0.1/', 'http://169.254.169.254/latest/meta-data/', 'http://100.64.0.1/', 'http://198.18.0.1/', 'http://192.0.2.1/', 'http://240.0.0.1/', 'http://255.255.255.255/', 'http://224.0.0.1/', 'http://a@127.0.0.1:%d/' % CANARY, 'http://127.0.0.1.:%d/' % CANARY, 'http://\u2460\u2461\u2466.0.0.1:%d/' % CANARY, 'http://%s:%d/' % (OWN_PRIVATE, CANARY)]
def touched(fn):
    t0 = time.time(); out = fn(); time.sleep(1); return out, W.sniff.to(t0), canary(t0)
def no_touch(fn):
    out, leak, own = touched(fn); c = collections.Counter(str(x) for x in out); return ok(not leak and not own, 'answers %s; private %s; own %s' % (dict(c), leak or 0, own or 0))
@case('H.01', 'tools: thirty hostile addresses, not one connection', 240)
def _():
    o = Owner(); pr = o.project()
    def go():
        out = []
        for u in private_targets():
            r = o.api('PATCH', '/projects/' + pr, {'tools': [{'name': 'x', 'description': 'x', 'method': 'GET', 'url': u}]}); out.append(r.status)
            if r.status == 200: o.api('POST', '/projects/%s/tools/x/test' % pr, {'arguments': {}}, timeout=40)
        return out
    return no_touch(go)
@case('H.02', 'webhooks: thirty hostile addresses, not one connection', 180)
def _():
    o = Owner()
    def go():
        out = []
        for u in private_targets():
            r = o.api('POST', '/webhooks', {'url': u, 'events': ['call.completed']}); out.append(r.status)
            if r.status == 201: o.api('POST', '/webhooks/%s/test' % r.json['id'], {}); time.sleep(.2); o.api('DELETE', '/webhooks/' + r.json['id'])
        time.sleep(2); return out
    return no_touch(go)
@case('H.03', 'knowledge pages: thirty hostile addresses, not one connection', 240)
def _():
    o = Owner(); p = o.project()
    def go():
        out = [o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': u}).status for u in private_targets()]; time.sleep(8); return out
    return no_touch(go)
@case('H.04', 'names that resolve to private addresses, by A, AAAA and CNAME, are not reached', 90)
def _():
    n = word(); W.dns.zone.update({'a.%s.example.net' % n: {'A': ['10.0.0.1']}, 'b.%s.example.net' % n: {'AAAA': ['::1']}, 'c.%s.example.net' % n: {'CNAME': ['a.%s.example.net' % n]}, 'd.%s.example.net' % n: {'A': ['127.0.0.1']}, 'e.%s.example.net' % n: {'A': ['5.5.80.1', '10.0.0.2']}})
    o = Owner(); p = o.project()
    def go():
        out = []
        for x in 'abcde': o.api('PATCH', '/projects/' + p, {'tools': [{'name': 'x', 'description': 'x', 'method': 'GET', 'url': 'http://%s.%s.example.net:%d/' % (x, n, CANARY)}]}); out.append(o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40).status)
        return out
    return no_touch(go)
@case('H.05', 'a redirect to a private host is not followed', 60)
def _():
    w = Web(ip4(), 80, lambda q: (302, {'Location': 'http://10.0.0.1/' if q.path == '/a' else 'http://127.0.0.1:%d/' % CANARY}, b'')); o = Owner(); p = o.project()
    def go():
        out = []
        for x in ('a', 'b'): o.api('PATCH', '/projects/' + p, {'tools': [{'name': 'x', 'description': 'x', 'method': 'GET', 'url': 'http://%s/%s' % (w.ip, x)}]}); out.append(o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40).status); o.api('POST', '/projects/%s/knowledge' % p, {'type': 'url', 'url': 'http://%s/%s' % (w.ip, x)})
        time.sleep(4); return out
    return no_touch(go)
@case('H.06', 'DNS rebinding: first a public answer, then a private one', 60)
def _():
    n = 'r-%s.example.net' % word(); k = [0]
    def a(): k[0] += 1; return ['5.5.81.1'] if k[0] == 1 else ['127.0.0.1']
    W.dns.zone[n] = {'A': a}; w = Web('5.5.81.1', CANARY); o = Owner(); p = o.project(tools=[{'name': 'x', 'description': 'x', 'method': 'GET', 'url': 'http://%s:%d/' % (n, CANARY)}]); r = no_touch(lambda: [o.api('POST', '/projects/%s/tools/x/test' % p, {'arguments': {}}, timeout=40).status for _ in range(5)]); w.close(); return r
@case('H.07', 'scanners are not answered: OPTIONS, INVITE, REGISTER, SUBSCRIBE and garbage from forty strangers', 90)
def _():
    heard = 0; ps = []
    for i in range(40):
        p = Peer(ip4(), 5060); ps.append(p); u = random.choice(['100', '1000', 'admin', 'agent', '+12025550111', 'sip', 'test'])
        p.send(p.build(['OPTIONS', 'INVITE', 'REGISTER', 'SUBSCRIBE'][i % 4], 'sip:%s@%s:%d' % (u, *SIP), '<sip:%s@%s>' % (u, SIP[0]), '<sip:%s@%s>' % (u, SIP[0]), ftag=word(6), body=sdp(p.ip, 4000) if i % 4 == 1 else '')); p.send(b'\x00\x01GET / HTTP/1.1\r\n\r\n')
    time.sleep(2.5); heard = sum(1 for p in ps for _ in p.log); [p.close() for p in ps]; return ok(heard == 0, '%d messages heard' % heard)
@case('H.08', "B's requests for A's objects are 404, in every operation with an id", 240)
def _(): return sweep(('GET', 'DELETE'))
def sweep(methods):
    a, b = Owner('a'), Owner('b'); l = a.line(ip4()); ph = a.must('POST', '/softphones', {'name': 'x', 'project_id': l.project}); wh = a.must('POST', '/webhooks', {'url': 'http://5.5.72.9/', 'events': ['call.completed']}); ks = a.must('POST', '/projects/%s/knowledge' % l.project, {'type': 'text', 'title': 't', 'content': 'words'}); c = a.must('POST', '/campaigns', {'name': 'c', 'project_id': l.project, 'task': 't', 'params': {'timezone': 'UTC'}}); k = a.session('GET', '/v1/public/keys').json['items'][0]['id']
    ids = {'project_id': l.project, 'trunk_id': l.trunk, 'softphone_id': ph['id'], 'webhook_id': wh['id'], 'source_id': ks['id'], 'campaign_id': c['id'], 'number': l.number, 'key_id': k}; bad, n = [], 0
    for p, x in http_('GET', '/openapi.json', src=ip4()).json['paths'].items():
        v = re.findall(r'\{(\w+)\}', p)
        if not v or not all(i in ids for i in v): continue
        for m in methods:
            if m.lower() not in x: continue
            q = re.sub(r'\{(\w+)\}', lambda i: ids[i.group(1)], p); r = b.session(m, q, None if m in ('GET', 'DELETE') else {}); n += 1
            if r.status not in (404, 400) or (r.status == 400 and m in ('GET', 'DELETE')): bad.append((m, p, r.status))
    still = a.api('GET', '/projects/' + l.project).status == 200 and a.api('GET', '/trunks/' + l.trunk).status == 200; return ok(not bad and n > 8 and still, '%d requests, not 404: %s' % (n, bad))
@case('H.09', 'a trunk with a private host is refused in every way to write it', 60)
def _():
    o = Owner(); t0 = time.time(); out = {h: o.trunk(h, [], expect=False).status for h in ('10.0.0.1', '127.0.0.1', 'localhost', '::1', '192.168.1.1', '169.254.1.1', '0.0.0.0', '0x7f000001', '2130706433', '127.1', 'fd00::1', '::ffff:10.0.0.1')}; time.sleep(2); leak, own = W.sniff.to(t0), canary(t0); return ok(not leak and not own and not any(v == 201 for h, v in out.items() if re.fullmatch(r'[\d.:a-f]+', h)), '%s; packets %s %s' % (out, leak or 0, own or 0))
@case('H.10', "no money is lost: twenty calls ended in every way leave balance and held equal to the entries", 90)
def _():
    o = Owner(); c = Carrier(ip4(), 5060); l = o.line(c.ip); i = [0]
    def a(m): i[0] += 1; return [{'status': 486}, {'status': 404}, {}, {'status': 503}, {'drop': True}][i[0] % 5]
    c.answer = a; ids = [o.place(l.project, number()).json.get('id') for _ in range(20)]; time.sleep(4)
    for x in ids:
        if x: o.api('POST', '/calls/%s/hangup' % x)
    for x in ids:
        if x: o.wait_call(x, secs=12)
    time.sleep(1.5); b = o.must('GET', '/balance'); cost = sum(float((o.must('GET', '/calls/' + x).get('cost') or {}).get('amount') or 0) for x in ids if x); c.close(); bal, held = float(b['balance']['amount']), float(b['held']['amount']); return ok(abs(5000 - cost - bal) < 0.001 and held == 0, 'balance %.4f, cost %.4f, held %.4f' % (bal, cost, held))
