"""9, second half."""
from h import *
from accounts import *
@case('9.01', 'one TOTP code opens one session: the same code a second time, from elsewhere, does not', 60)
def _(): o, s = with_totp(); c = totp(s, step=1); a = log_in(o, c)[0]; b = log_in(o, c)[0]; return ok(a and not b, '%s then %s' % (a, b))
@case('9.02', 'TOTP cannot be turned off by a session alone, nor by an API key: it takes the password or a code', 60)
def _():
    o, s = with_totp(); out = []
    for m in ('DELETE', 'POST'):
        try: _, p, b = op('totp_off', m, r'(totp|factor|mfa)(?!.*(confirm|verify|enable)).*' if m == 'DELETE' else r'(totp|factor|mfa).*(disable|off|remove|delete)')
        except Bad: continue
        out.append(o.session(m, re.sub(r'\{\w+\}', 'x', p), {} if m == 'POST' else None)); out.append(http_(m, re.sub(r'\{\w+\}', 'x', p), {} if m == 'POST' else None, {'X-API-Key': o.keys[0]}, o.src))
    need(out, 'no operation turns it off'); a, r, _ = log_in(o); return ok(all(x.status >= 400 for x in out) and not a, '%s; password alone %s' % (out, a))
@case('9.03', 'password reset by mail does not go round the second factor', 90)
def _():
    o, s = with_totp(); http_('POST', '/auth/password-reset', {'email': o.email}, {'Origin': URL}, ip4()); time.sleep(2.5); m = mails(o.email); need(m, 'no mail'); code = re.search(r'\b([A-Z0-9]{4,}(?:-[A-Z0-9]{4,})*|\d{6,10})\b', m[-1].split('\n\n', 1)[-1]); need(code, 'no code in the mail'); _, _, b = op('reset', 'POST', r'^/auth/password-reset/confirm'); body = {k: o.email if 'mail' in k else 'pw-brand-new-1' if 'password' in k else code.group(1) for k in b}; r = http_('POST', '/auth/password-reset/confirm', body, {'Origin': URL}, ip4()); a, q, _ = log_in(o, password='pw-brand-new-1'); ck = '; '.join(c.split(';')[0] for c in r.headers.get_all('Set-Cookie') or []); g = http_('GET', '/v1/public/keys', None, {'Cookie': ck, 'Origin': URL}, ip4()).status if ck else 0; return ok(not a and g != 200, 'reset %r; new password alone %s; session of the reset %s' % (r, a, g))
@case('9.04', 'recovery codes: several, each works once', 60)
def _():
    o, s = with_totp(); c = [x for x in re.findall(r'"([A-Za-z0-9]{4,}(?:[- ][A-Za-z0-9]{3,})+|[A-Za-z0-9]{8,16})"', json.dumps(getattr(o, 'totp_answer', None) or {})) if not x.isalpha()]; need(len(c) >= 5, 'no recovery codes in the answer to the enrolment'); a, b = log_in(o, c[0])[0], log_in(o, c[0])[0]; return ok(a and not b, '%d codes; first use %s, second %s' % (len(c), a, b))
@case('9.05', 'the address limit of a key holds for MCP, for X-Forwarded-For and Forwarded headers, for IPv4-mapped forms, and for a network /24', 60)
def _():
    o = Owner(); net = ip4().rsplit('.', 1)[0]; r, k = key_with(o, 'addresses', [net + '.0/24']); need(r.status == 201, '%r %s' % (r, r.text[:150])); x = ip4(); out = [o.api('GET', '/calls', key=k, src=net + '.9').status, o.api('GET', '/calls', key=k, src=x, headers={'X-Forwarded-For': net + '.9'}).status, o.api('GET', '/calls', key=k, src=x, headers={'Forwarded': 'for=' + net + '.9', 'X-Real-IP': net + '.9', 'CF-Connecting-IP': net + '.9'}).status, http_('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}, {'Authorization': 'Bearer ' + k, 'Accept': 'application/json, text/event-stream'}, x).status]; return ok(out[0] == 200 and all(v in (401, 403) for v in out[1:]), out)
@case('9.06', 'bad address limits are problems: 0.0.0.0/0 means nothing is limited, words, an empty list', 60)
def _():
    o = Owner(); out = []
    for v in (['everywhere'], ['300.1.1.1'], ['1.2.3.4/33'], [''], 'x'): r, k = key_with(o, 'addresses', v); out.append(r.status)
    return ok(all(s == 400 for s in out), out)
@case('9.07', "a key limited to a project cannot reach another through campaigns, knowledge, calls' records, realtime sessions, MCP or numbers", 90)
def _():
    o = Owner(); p, q = o.project(), o.project(); l = o.line(ip4(), q); i = o.must('POST', '/projects/%s/knowledge' % q, {'type': 'text', 'title': 't', 'content': 'w'})['id']; c = o.must('POST', '/campaigns', {'name': 'c', 'project_id': q, 'task': 't', 'params': {'timezone': 'UTC'}}); r, k = key_with(o, 'projects', [p]); need(r.status == 201, '%r' % r); out = {u: o.api(m, u, b, key=k).status for m, u, b in (('GET', '/campaigns/' + c['id'], None), ('POST', '/campaigns/%s/start' % c['id'], {'consent': True}), ('GET', '/projects/%s/knowledge' % q, None), ('DELETE', '/projects/%s/knowledge/%s' % (q, i), None), ('POST', '/realtime/session', {'project_id': q}), ('POST', '/projects/%s/numbers' % q, {'number': l.number, 'direction': 'in'}), ('POST', '/campaigns', {'name': 'c', 'project_id': q, 'task': 't', 'params': {'timezone': 'UTC'}}), ('DELETE', '/projects/' + q, None))}; m = http_('POST', '/mcp', {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'get_project', 'arguments': {'project_id': q}}}, {'Authorization': 'Bearer ' + k, 'Accept': 'application/json, text/event-stream'}, o.src); return ok(all(v in (403, 404) for v in out.values()) and q not in json.dumps((m.json or {}).get('result', {}).get('structuredContent', {})), '%s' % out)
@case('9.08', "a foreign account's project in a key's list is a 400 or 404, and the list of sessions of another account is not reachable", 60)
def _():
    o, z = Owner(), Owner(); zp = z.project(); r, k = key_with(o, 'projects', [zp]); l = sessions_of(z); e = end_session(o, l[0]['id']); st = http_('GET', '/auth/session', None, {'Cookie': z.cookie}, z.src).status; return ok(r.status in (400, 404) and e.status == 404 and st == 200, '%r %r %s' % (r, e, st))
@case('9.09', 'sessions show where and when, never a token; an ended one cannot end others; an API key sees no sessions', 60)
def _():
    o = Owner(); _, _, c2 = log_in(o); l = sessions_of(o); tok = [x.split('=', 1)[1] for x in (o.cookie + '; ' + c2).split('; ')]; m, p, _ = op('sessions', 'GET', r'/sessions\b'); k = http_('GET', p, None, {'X-API-Key': o.keys[0]}, o.src).status; t = json.dumps(l); end_session(o, next(x['id'] for x in sessions_of(o, c2) if x.get('current'))); again = http_('GET', p, None, {'Cookie': c2, 'Origin': URL}, o.src).status; return ok(not any(x in t for x in tok) and any(re.search(r'\d+\.\d+\.\d+\.\d+', json.dumps(x)) for x in l) and k in (401, 403) and again == 401, '%s; key %s; ended one %s' % (t[:200], k, again))
MATRIX = {'billing': {'GET /v1/public/balance': True, 'GET /v1/public/balance/entries': True, 'PATCH /v1/public/projects/{p}': False, 'POST /v1/public/calls': False, 'GET /v1/public/keys': False}, 'operator': {'GET /v1/public/calls': True, 'PATCH /v1/public/projects/{p}': False, 'POST /v1/public/keys': False, 'PATCH /v1/public/limits': False}, 'developer': {'PATCH /v1/public/projects/{p}': True, 'PATCH /v1/public/limits': False, 'POST /auth/delete-account': False}, 'read only': {'GET /v1/public/projects/{p}': True, 'POST /v1/public/do-not-call': False, 'POST /v1/public/erasure': False}}
for i_, r_ in enumerate(MATRIX):
    @case('9.1%d' % i_, 'the role "%s" may do its own things and nothing above' % r_, 60)
    def _(r_=r_):
        o = Owner(); p = o.project(); x = member(o, role(r_)); out = {}
        for k, may in MATRIX[r_].items():
            m, u = k.split(); b = {'GET': None, 'PATCH': {'name': 'n'} if 'projects' in u else {'max_spend_a_day': '5'}, 'POST': {'project_id': p, 'phone': number()} if u.endswith('calls') else {'phone': number()} if 'erasure' in u or 'do-not' in u else {'password': x.password} if 'auth' in u else {'name': 'k', 'scopes': ['read']}}[m]; out[k] = (x.session(m, u.replace('{p}', p), b).status, may)
        return ok(all((s < 300) == may and (may or s == 403) for s, may in out.values()), out)
@case('9.20', 'a member cannot raise himself, remove or demote the last owner, or invite above his own role', 90)
def _():
    o = Owner(); x = member(o, role('admin')); m, p, b = op('invite', 'POST', r'invit|members?$|people|team'); r = [x.session(m, p, {field(b, 'invite_email', 'mail'): 'z-%s@example.com' % word(), field(b, 'invite_role', 'role'): role('owner')})]; m, p, _ = op('members', 'GET', r'/(members|people|team)\b'); l = o.session(m, p).json; l = l.get('items') or l.get('members'); own = next(q for q in l if o.email in json.dumps(q)); me = next(q for q in l if x.email in json.dumps(q)); m, p, _ = op('member_remove', 'DELETE', r'(members|people|team)/\{'); r.append(x.session(m, re.sub(r'\{\w+\}', own['id'], p))); r.append(o.session(m, re.sub(r'\{\w+\}', own['id'], p)))
    try: m, q, b = op('member_role', 'PATCH', r'(members|people|team)/\{'); r.append(x.session(m, re.sub(r'\{\w+\}', me['id'], q), {field(b, 'member_role_field', 'role'): role('owner')}))
    except Bad: pass
    return ok(all(y.status in (400, 403, 409) for y in r), r)
@case('9.21', 'many times the usual hour in one known country stops the account as well, its other work goes on, and the owner is told', 90)
def _():
    o = Owner(); c = Carrier(ip4(), 5060); c.answer = lambda m: {'status': 486}; l = o.line(c.ip); st = []
    for _ in range(4): st.append(o.place(l.project, number()).status); time.sleep(.3)
    out = []
    for i in range(130):
        r = o.place(l.project, number()); out.append((r.status, r.code))
        if r.status not in (201, 429): break
        if i % 40 == 39: time.sleep(1)
    time.sleep(2); x = o.api('GET', '/projects'); al = [t for t in mails(o.email) if re.search(r'unusual|stopp|spend|hour', t, re.I)]; c.close(); return ok(out[-1][0] not in (201, 429) and x.status == 200 and al, '%s; other work %r; mails %d' % (collections.Counter(out), x, len(al)))
@case('9.50', 'control: wrong passwords of a stranger do not lock the account owner out from his own place', 60)
def _():
    o = Owner()
    for _ in range(6): http_('POST', '/auth/log-in', {'email': o.email, 'password': 'nonsense-1'}, {'Origin': URL}, '31.7.7.7')
    a = http_('GET', '/auth/session', None, {'Cookie': o.cookie}, o.src).status; return ok(a == 200, a)
@case('9.51', 'control: a key that expires, a revoked key, and the two scopes are as before', 60)
def _():
    o = Owner(); r = o.session('POST', '/v1/public/keys', {'name': 'r', 'scopes': ['read']}).json; k = find(r, r'^svc_\S{20,}'); a = o.api('GET', '/calls', key=k).status; b = o.api('POST', '/projects', {'name': 'x', 'language': 'en'}, key=k).status; i = next(x['id'] for x in o.session('GET', '/v1/public/keys').json['items'] if x['name'] == 'r'); o.session('DELETE', '/v1/public/keys/' + i); time.sleep(5.2); c = o.api('GET', '/calls', key=k).status; return ok((a, b, c) == (200, 403, 401), (a, b, c))
@case('9.52', 'control: a business that always calls five countries keeps calling them', 60)
def _():
    o = Owner(); c = Carrier(ip4(), 5060); c.answer = lambda m: {'status': 486}; l = o.line(c.ip); st = []
    for rnd in range(3):
        for n in (number(), '+4930%07d' % random.randint(2000000, 9999999), '+331%08d' % random.randint(40000000, 49999999), '+4420%08d' % random.randint(70000000, 79999999), '+3491%07d' % random.randint(1000000, 9999999)): st.append(o.place(l.project, n).status)
        time.sleep(1.5)
    c.close(); return ok(st.count(201) == 15, st)
