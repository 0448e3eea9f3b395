"""9. Accounts."""
from h import *
from accounts import *
@case('9.01', 'with TOTP on, the password alone gives no session; with the code it does', 60)
def _():
    o, s = with_totp(); a, r, _ = log_in(o); b, q, _ = log_in(o, totp(s, step=1)); return ok(not a and b, 'password alone: %s (%r); with code: %s (%r)' % (a, r, b, q))
@case('9.02', 'a wrong TOTP code and the code of an hour ago give no session', 60)
def _():
    o, s = with_totp(); a = [log_in(o, c)[0] for c in ('000000' if totp(s) != '000000' else '000001', totp(s, time.time() - 3600))]; return ok(a == [False, False], a)
@case('9.03', 'TOTP codes cannot be tried without end: 20 wrong ones meet 429 or a lock, and the account is not opened', 90)
def _():
    o, s = with_totp(); st = [log_in(o, '%06d' % random.randint(0, 999999)) for _ in range(20)]; c = collections.Counter(r.status for _, r, _ in st); return ok(not any(a for a, _, _ in st) and (c[429] or c[403] or c[423]), dict(c))
@case('9.04', 'passkeys: the registration options carry a fresh challenge, our relying party and user verification')
def _():
    o = Owner(); m, p, b = op('passkey_options', 'POST', r'(passkey|webauthn).*(option|start|begin|challenge|register)|(option|start|begin).*(passkey|webauthn)'); x, y = [o.session(m, p, {k: o.password for k in b if 'password' in k}) for _ in (1, 2)]; c = [find({'c': ((r.json or {}).get('challenge') or ((r.json or {}).get('publicKey') or (r.json or {}).get('options') or {}).get('challenge'))}, r'.{16,}') for r in (x, y)]; return ok(x.status in (200, 201) and c[0] and c[0] != c[1], '%r %s' % (x, c))
@case('9.05', 'a key limited to addresses works from them and is refused from elsewhere')
def _():
    o = Owner(); r, k = key_with(o, 'addresses', [o.src]); need(r.status == 201, '%r %s' % (r, r.text[:200])); a = o.api('GET', '/calls', key=k); b = o.api('GET', '/calls', key=k, src=ip4()); return ok(a.status == 200 and b.status in (401, 403), 'from its address %r, from another %r' % (a, b))
@case('9.06', 'a key limited to a project neither sees nor changes another one of the account, and starts no call for it')
def _():
    o = Owner(); p, q = o.project(), o.project(); l = o.line(ip4(), q); r, k = key_with(o, 'projects', [p]); need(r.status == 201, '%r %s' % (r, r.text[:200])); out = [o.api('GET', '/projects/' + p, key=k), o.api('GET', '/projects/' + q, key=k), o.api('PATCH', '/projects/' + q, {'name': 'x'}, key=k), o.api('POST', '/calls', {'project_id': q, 'phone': number()}, key=k)]; ls = [x['id'] for x in o.api('GET', '/projects', key=k).json['projects']]
    return ok(out[0].status == 200 and all(x.status in (403, 404) for x in out[1:]) and q not in ls, '%s list %d' % (out, len(ls)))
@case('9.07', 'sessions are listed, and one is ended without the others')
def _():
    o = Owner(); _, _, c2 = log_in(o); _, _, c3 = log_in(o); l = sessions_of(o); need(len(l) >= 3, '%d listed' % len(l)); cur = [x for x in l if x.get('current')]; t = [x for x in sessions_of(o, c2) if x.get('current')]; need(cur and t, 'which session is the current one is not shown'); r = end_session(o, t[0]['id']); st = [http_('GET', '/auth/session', None, {'Cookie': c}, o.src).status for c in (o.cookie, c2, c3)]
    return ok(st == [200, 401, 200] and r.status == 200, 'ended %r; sessions now %s' % (r, st))
@case('9.08', 'a person with the role "read only" reads and changes nothing')
def _():
    o = Owner(); p = o.project(); x = member(o, role('read only')); r = x.session('GET', '/v1/public/projects/' + p); w = [x.session('PATCH', '/v1/public/projects/' + p, {'name': 'n'}), x.session('POST', '/v1/public/projects', {'name': 'n', 'language': 'en'}), x.session('POST', '/v1/public/keys', {'name': 'n', 'scopes': ['read']}), x.session('PATCH', '/v1/public/limits', {'max_spend_a_day': None})]; return ok(r.status == 200 and all(i.status == 403 for i in w), 'read %r; write %s' % (r, w))
@case('9.09', "an invited person sees this account only, and removing him ends his sessions at once")
def _():
    o, z = Owner(), Owner(); zp = z.project(); x = member(o, role('developer')); a = x.session('GET', '/v1/public/projects/' + zp); m, p, _ = op('members', 'GET', r'/(members|people|team)\b'); l = o.session(m, p); i = next(q for q in (l.json.get('items') or l.json.get('members')) if x.email in json.dumps(q)); m, p, _ = op('member_remove', 'DELETE', r'(members|people|team)/\{'); r = o.session(m, re.sub(r'\{\w+\}', i['id'], p)); time.sleep(5.2); b = x.session('GET', '/v1/public/projects'); return ok(a.status == 404 and r.status == 200 and b.status == 401, "other account %r, removed %r, then %r" % (a, r, b))
@case('9.10', 'the audit log names the person who changed something')
def _():
    o = Owner(); x = member(o, role('admin')); r = x.session('POST', '/v1/public/projects', {'name': 'n', 'language': 'en'}); t = o.session('GET', '/v1/public/audit?limit=5').text; return ok(r.status == 201 and x.email in t, t[:300])
def spree(off=False):
    o = Owner('spree'); c = Carrier(ip4(), 5060); c.answer = lambda m: {'status': 486, 'reason': 'Busy Here'}; l = o.line(c.ip); st = []
    for i in range(6): st.append(o.place(l.project, number()).status); time.sleep(.2)
    time.sleep(2); new = ['+2250%d' % random.randint(100000000, 999999999), '+3706%07d', '+9609%06d', '+2487%06d', '+6768%05d', '+2327%07d', '+3855%07d', '+5939%08d', '+8801%09d', '+2637%08d', '+5047%07d', '+9477%07d']
    new = [n % random.randint(10 ** 4, 10 ** 4 * 9) if '%' in n else n for n in new]; out = [o.place(l.project, n) for n in new]; time.sleep(2); x = o.place(l.project, '+37061234567'); c.close(); return o, st, out, x
@case('9.11', 'an account that suddenly calls a dozen new countries is stopped and alerted', 60)
def _():
    o, st, out, x = spree(); al = [t for t in mails(o.email) if re.search(r'countr|unusual|stopp', t, re.I)]; codes = collections.Counter((r.status, r.code) for r in out); return ok(x.status != 201 and al, 'home calls %s; new countries %s; last %r; alerts by mail %d' % (st, dict(codes), x, len(al)))
@case('9.12', 'one switch turns the stop off', 60)
def _():
    m, p, b = op('fraud_switch', 'PATCH', r'/limits\b'); f = field(b, 'fraud_switch', r'unusual|alert|automatic|anomal|stop|fraud|sudden'); o = Owner(); r = o.session(m, p, {f: False}); return ok(r.status == 200 and f in (r.json or {}), '%r %s' % (r, r.text[:200]))
@case('9.50', 'control: without a second factor the password is enough, and an unlimited key works from anywhere')
def _(): o = Owner(); a, r, _ = log_in(o); k = [o.api('GET', '/calls', src=ip4()).status for _ in range(3)]; return ok(a and k == [200] * 3, '%s %s' % (a, k))
@case('9.51', 'control: ordinary calls to two countries a day are nobody\'s alarm', 60)
def _():
    o = Owner(); c = Carrier(ip4(), 5060); c.answer = lambda m: {'status': 486, 'reason': 'Busy Here'}; l = o.line(c.ip); st = [o.place(l.project, n).status for n in [number(), number(), '+493012345%03d' % random.randint(1, 999), number(), '+493012346%03d' % random.randint(1, 999)]]; time.sleep(1); c.close(); return ok(st == [201] * 5, st)
@case('9.52', 'control: log-out everywhere ends all sessions, keys go on')
def _():
    o = Owner(); _, _, c2 = log_in(o); o.session('POST', '/auth/log-out-everywhere', {}); time.sleep(5.2); st = [http_('GET', '/auth/session', None, {'Cookie': c}, o.src).status for c in (o.cookie, c2)]; return ok(st == [401, 401] and o.api('GET', '/calls').status == 200, st)
