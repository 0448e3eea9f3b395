"""Finds the operations of point 9 in the published document, since their names are the builders' to choose.
Where the guess is wrong, say it in names.json beside this file: {"totp_start": "POST /auth/totp", "totp_confirm": "…",
"totp_off": "…", "passkey_options": "…", "sessions": "GET …", "session_end": "DELETE …/{id}", "invite": "POST …",
"accept": "POST …", "members": "GET …", "member_remove": "DELETE …", "alerts": "GET …", "key_addresses": "FIELD", "key_projects": "FIELD",
"second_step": "POST …", "fraud_switch": "PATCH /v1/public/limits FIELD"}. Cases stay as they are."""
from h import *
import hmac
def doc(): return once('openapi', lambda: http_('GET', '/openapi.json', src=ip4()).json)
def names():
    f = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'names.json'); return json.load(open(f)) if os.path.exists(f) else {}
def res(s):
    while '$ref' in s: s = doc()['components']['schemas'][s['$ref'].split('/')[-1]]
    return s
def op(name, method, pattern, avoid=None):
    """(method, path, body schema) of the operation."""
    n = names().get(name)
    if n: m, p = n.split()[:2]; o = doc()['paths'][p][m.lower()]; return m, p, body_of(o)
    for p, x in doc()['paths'].items():
        o = x.get(method.lower())
        if o and re.search(pattern, p + ' ' + o.get('operationId', ''), re.I) and not (avoid and re.search(avoid, p + ' ' + o.get('operationId', ''), re.I)): return method, p, body_of(o)
    raise Bad('no operation %s like /%s/ in /openapi.json' % (method, pattern))
def body_of(o):
    c = (o.get('requestBody') or {}).get('content') or {}; s = res(c.get('application/json', {}).get('schema', {})); return s.get('properties') or {}
def field(props, name, pattern):
    n = names().get(name)
    if n: return n.split()[-1]
    f = next((k for k in props if re.search(pattern, k, re.I)), None); need(f, 'no field like /%s/ among %s' % (pattern, sorted(props))); return f
def totp(secret, at=None, step=0):
    k = base64.b32decode(secret.upper() + '=' * (-len(secret) % 8)); c = int((at or time.time()) // 30) + step; d = hmac.new(k, struct.pack('!Q', c), hashlib.sha1).digest(); o = d[-1] & 15
    return '%06d' % ((struct.unpack('!I', d[o:o + 4])[0] & 0x7fffffff) % 1000000)
def find(j, pattern):
    """The first string value in a JSON answer that matches."""
    if isinstance(j, str): return j if re.search(pattern, j) else None
    for v in (j.values() if isinstance(j, dict) else j if isinstance(j, list) else []):
        x = find(v, pattern)
        if x: return x
def with_totp(o=None):
    o = o or Owner('totp'); m, p, b = op('totp_start', 'POST', r'totp|two.?factor|second.?factor|mfa', r'confirm|verify|enable|disable|log.?in|recovery'); body = {}
    for k in b:
        if 'password' in k: body[k] = o.password
        if k in ('type', 'method', 'kind'): body[k] = 'totp'
    r = o.session(m, p, body); need(r.status in (200, 201), 'enrolment: %r %s' % (r, r.text[:200])); u = find(r.json, r'^otpauth://'); s = re.search(r'secret=([A-Z2-7]+)', u).group(1) if u else find(r.json, r'^[A-Z2-7]{16,64}$'); need(s, 'no secret in the enrolment answer')
    m, p, b = op('totp_confirm', 'POST', r'(totp|factor|mfa).*(confirm|verify|enable|activate)|(confirm|verify|enable).*(totp|factor)'); f = field(b, 'totp_code', r'code|otp|token'); body = {f: totp(s)}
    for k in b:
        if 'password' in k: body[k] = o.password
    c = o.session(m, p, body); need(c.status in (200, 201), 'confirmation: %r %s' % (c, c.text[:200])); o.totp_answer = c.json; return o, s
def log_in(o, code=None, src=None, password=None):
    """(has a session, response). A code goes into the log-in itself, or into the second step."""
    src = src or ip4(); m, p, b = op('log_in', 'POST', r'^/auth/log-in log_in$|^/auth/log-in\b', r'confirm|second|totp/'); body = {'email': o.email, 'password': password or o.password}; f = next((k for k in b if re.search(r'code|otp|factor', k)), None)
    if code and f: body[f] = code
    r = http_('POST', '/auth/log-in', body, {'Origin': URL}, src); ck = '; '.join(c.split(';')[0] for c in r.headers.get_all('Set-Cookie') or [])
    if code and not f:
        m, p, b = op('second_step', 'POST', r'log.?in.*(totp|code|factor|confirm)|(totp|factor|mfa).*(log.?in|challenge)'); f = field(b, 'second_step_code', r'code|otp'); body = {f: code}
        for k in b:
            if k != f: v = (r.json or {}).get(k) or find(r.json, r'^\S{20,}$'); body[k] = v
        r = http_('POST', p, body, {'Origin': URL, 'Cookie': ck}, src); ck = '; '.join(c.split(';')[0] for c in r.headers.get_all('Set-Cookie') or []) or ck
    if not ck: return False, r, ''
    g = http_('GET', '/v1/public/keys', None, {'Cookie': ck, 'Origin': URL}, src); return g.status == 200, r, ck
def mails(to): 
    out = []
    for d, _, fs in os.walk(HOME):
        if 'mail' in d:
            for f in fs:
                t = open(os.path.join(d, f), errors='replace').read()
                if to in t: out.append((os.path.getmtime(os.path.join(d, f)), t))
    return [t for _, t in sorted(out)]
def member(o, role):
    """Another person in o's account with a role: an Owner-like object that shares the account's data."""
    m, p, b = op('invite', 'POST', r'invit|members?$|people|team'); e = '%s-%s@example.com' % (role.replace(' ', ''), word(10)); body = {field(b, 'invite_email', 'mail'): e, field(b, 'invite_role', 'role'): role}
    for k in b:
        if k == 'name': body[k] = 'M ' + word(5)
    r = o.session(m, p, body); need(r.status in (200, 201), 'invitation as %s: %r %s' % (role, r, r.text[:200])); time.sleep(1.5); t = find(r.json, r'^(inv_)?[A-Za-z0-9_-]{16,}$') if not mails(e) else None
    ml = ' '.join(mails(e)).replace('=\n', '').replace('=3D', '='); tok = re.search(r'(?:token|code|invite|invitation)[=/: ]+([A-Za-z0-9_.-]{6,})', ml); tok = tok.group(1) if tok else t; need(tok, 'no invitation in the mail folder nor in the answer'); pw = 'pw-' + word(16)
    m, p, b = op('accept', 'POST', r'(invit|member).*(accept|join|confirm)|(accept|join)', None); body = {}
    for k in b: body[k] = e if 'mail' in k else pw if 'password' in k else tok if re.search('token|code|invit', k) else 'Member ' + role if k == 'name' else None
    src = ip4(); r = http_('POST', p, {k: v for k, v in body.items() if v is not None}, {'Origin': URL}, src); need(r.status in (200, 201), 'acceptance: %r %s' % (r, r.text[:200])); x = Owner.__new__(Owner); x.email, x.password, x.src, x.keys, x.cookie = e, pw, src, [], '; '.join(c.split(';')[0] for c in r.headers.get_all('Set-Cookie') or [])
    if not x.cookie: _, _, x.cookie = log_in(x)
    return x
ROLES = names().get('roles') if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'names.json')) else None
def role(which):
    """The product's word for a role of the issue."""
    if ROLES and which in ROLES: return ROLES[which]
    _, _, b = op('invite', 'POST', r'invit|members?$|people|team'); e = json.dumps(b); 
    for w in {'read only': ('read_only', 'readonly', 'read-only', 'viewer', 'read'), 'operator': ('operator',), 'billing': ('billing',), 'developer': ('developer',), 'admin': ('admin',), 'owner': ('owner',)}[which]:
        if '"%s"' % w in e: return w
    raise Bad('no role like %s in the invitation' % which)
def key_with(o, kind, value, scopes=('read', 'write')):
    _, _, b = op('create_key', 'POST', r'^/v1/public/keys '); f = field(b, 'key_' + kind, {'addresses': r'addr|ips|cidr|network', 'projects': r'project'}[kind]); r = o.session('POST', '/v1/public/keys', {'name': 'limited', 'scopes': list(scopes), f: value}); return r, (r.json or {}).get('key') or find(r.json, r'^svc_\S{20,}')
def sessions_of(o, cookie=None):
    m, p, _ = op('sessions', 'GET', r'/sessions\b'); r = http_('GET', p, None, {'Cookie': cookie or o.cookie, 'Origin': URL}, o.src); need(r.status == 200, 'list of sessions: %r' % r); return r.json.get('items') or r.json.get('sessions')
def end_session(o, id, cookie=None):
    m, p, _ = op('session_end', 'DELETE', r'/sessions/\{'); return http_('DELETE', re.sub(r'\{\w+\}', id, p), None, {'Cookie': cookie or o.cookie, 'Origin': URL}, o.src)
