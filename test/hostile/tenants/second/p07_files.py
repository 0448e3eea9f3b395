"""7, second half."""
from h import *
import socket as so
def walk(root):
    for d, ds, fs in os.walk(root):
        for f in ds + fs: yield os.path.join(d, f)
def acts():
    """Values that nobody else may find: an account, a secret, a webhook, a campaign with names, a failed call, a wrong log-in."""
    def make():
        o = Owner('quibblesworth'); c = Carrier(ip4(), 5060); c.answer = lambda m: {'status': 486}; l = o.line(c.ip); n = number(); o.must('POST', '/secrets', {'name': 'K', 'value': 'sk-plumduff-772'}); o.place(l.project, n, task='Ask for Ottoline Frobisher'); w = o.must('POST', '/webhooks', {'url': 'http://5.5.72.8/', 'events': ['call.failed']})
        k = o.must('POST', '/campaigns', {'name': 'c', 'project_id': l.project, 'task': 'Hello {{name}}', 'params': {'timezone': 'UTC'}}); m = number(); o.must('POST', '/campaigns/%s/contacts' % k['id'], [{'phone': m, 'vars': {'name': 'Ottoline Frobisher'}}, {'phone': m}]); http_('POST', '/auth/sign-up', {'email': o.email, 'password': 'pw-1234567890', 'name': 'again'}, {'Origin': URL}, ip4()); http_('POST', '/auth/log-in', {'email': o.email, 'password': 'wrong-plumduff'}, {'Origin': URL}, ip4()); time.sleep(4); c.close()
        return o, [l.number, n, m, 'Frobisher', 'plumduff', o.email, o.password, o.keys[0], w['secret']]
    return once('acts', make)
def ports(): return [(m.group(1), int(m.group(2)), m.group(3)) for m in re.finditer(r'LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s+\S+\s*(.*)', inside(['ss', '-Hltnp']))]
def ask(port, data, host='127.0.0.1', uid=None):
    return inside(['python3', '-c', 'import socket,sys\ns=socket.create_connection((%r,%d),3);s.settimeout(2);s.sendall(%r)\ntry: sys.stdout.write(repr(s.recv(4096)))\nexcept Exception as e: print(e)' % (host, port, data)], uid=None)
@case('7.01', 'a file that is written later (a log line, a dump, an upload, a mail) is private too, although the umask is 000', 60)
def _():
    o, ws = acts(); t = time.time(); http_('POST', '/auth/password-reset', {'email': o.email}, {'Origin': URL}, ip4()); p = o.project(); o.upload(p, b'a,b\n1,2\n', 'x.csv'); time.sleep(3); x = [i for i in walk(HOME) if not os.path.islink(i) and os.lstat(i).st_mtime >= t - 1]; y = [(os.path.relpath(i, HOME), oct(os.lstat(i).st_mode & 0o777)) for i in x if os.lstat(i).st_mode & 0o077]; return ok(x and not y, '%d new, open %s' % (len(x), y[:6]))
@case('7.02', 'nothing outside the home that belongs to the product holds its data readable by others (/tmp, /dev/shm, /var/tmp, the cache)', 60)
def _():
    o, ws = acts(); bad = []
    for root in ('/tmp', '/var/tmp', '/dev/shm', ENV('PARLEY_CACHE', '')):
        for i in walk(root) if root and os.path.isdir(root) else ():
            try:
                s = os.lstat(i)
                if s.st_uid == int(ENV('RUN_UID', 65534)) and os.path.isfile(i) and not os.path.islink(i) and s.st_mode & 0o044 and s.st_size < 5 << 20 and s.st_mtime > time.time() - 7200 and any(w.encode() in open(i, 'rb').read() for w in ws): bad.append(i)
            except OSError: pass
    return ok(not bad, bad or 'none')
@case('7.03', 'Redis: CONFIG, EVAL, HELLO, MONITOR and RESP3 without a password are refused', 60)
def _():
    r = [p for a, p, w in ports() if 'redis' in w]; need(r, 'no Redis'); out = [ask(r[0], c) for c in (b'CONFIG GET *\r\n', b'EVAL "return 1" 0\r\n', b'HELLO 3\r\n', b'MONITOR\r\n', b'*2\r\n$4\r\nAUTH\r\n$6\r\nparley\r\n', b'AUTH default redis\r\n')]; return ok(all('NOAUTH' in x or 'WRONGPASS' in x for x in out), [x[:40] for x in out])
@case('7.04', 'Redis and Postgres listen on loopback only (or on a socket)')
def _(): x = [(a, p, re.findall(r'"([^"]+)"', w)[:1]) for a, p, w in ports() if re.search('redis|postgres', w)]; return ok(x and all(a in ('127.0.0.1', '[::1]') for a, *_ in x), x)
@case('7.05', 'Postgres lets nobody in without a password over TCP', 60)
def _():
    pp = [p for a, p, w in ports() if 'postgres' in w]
    if not pp: return ok(True, 'no TCP port')
    out = []
    for u in (b'postgres', b'parley', b'root'): b = b'user\0' + u + b'\0database\0postgres\0\0'; out.append(ask(pp[0], struct.pack('!II', len(b) + 8, 196608) + b))
    return ok(not any('R\\x00\\x00\\x00\\x08\\x00\\x00\\x00\\x00' in x for x in out), [x[:50] for x in out])
@case('7.06', 'no log under the home has a number, a name, an e-mail, a password, a key or a secret of a customer', 60)
def _():
    o, ws = acts(); hits = {}
    for i in walk(HOME):
        if os.path.isfile(i) and (i.endswith('.log') or '/logs/' in i):
            t = open(i, errors='replace').read()
            for w in ws:
                if w.lstrip('+') in t: hits.setdefault(os.path.relpath(i, HOME), []).append(w[:14])
    return ok(not hits, hits or 'none')
@case('7.07', 'the spoken secret, the password and the key are not in clear text in any file under the home (database, Redis, WAL)', 90)
def _():
    o, ws = acts(); sec = [w.encode() for w in (o.password, o.keys[0], 'sk-plumduff-772', ws[-1])]; hits = []
    for i in walk(HOME):
        if os.path.isfile(i) and not os.path.islink(i) and os.path.getsize(i) < 64 << 20:
            b = open(i, 'rb').read(); hits += [(os.path.relpath(i, HOME), s.decode()[:10]) for s in sec if s in b]
    return ok(not hits, hits[:6] or 'none')
@case('7.08', 'the environment of no process is readable by others, and no file descriptor of a log is world-open')
def _():
    bad = []
    for p in subprocess.run(['ip', 'netns', 'pids', PNS], stdout=subprocess.PIPE).stdout.decode().split():
        if subprocess.run(['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups', 'cat', '/proc/%s/environ' % p], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout: bad.append(p)
    return ok(not bad, bad or 'none')
@case('7.09', "`npm run admin -- export` writes nothing that others may read", 120)
def _():
    o, ws = acts(); out = STATE + '/export-' + word(5); os.makedirs(out); os.chmod(out, 0o777); e = 'for l in $(tr "\\0" "\\n" < /proc/%s/environ | grep -E "^(PARLEY_|HOME=)"); do export "$l"; done; umask 000; cd %s; PATH=%s/node_modules/.bin:$PATH; A=$(npm run -s admin -- accounts --json | python3 -c "import json,sys; print([a[\'id\'] for a in json.load(sys.stdin) if a.get(\'email\')==\'%s\'][0])"); npm run -s admin -- export $A %s/x 2>&1; ls -la %s' % (product_pid(), DIR, DIR, o.email, out, out); s = inside(['bash', '-c', e], uid=int(ENV('RUN_UID', 65534)), timeout=110); x = [i for i in walk(out) if os.lstat(i).st_mode & 0o077]; n = len(list(walk(out))); return ok(n and not x, '%d files, open %s %s' % (n, [(os.path.basename(i), oct(os.lstat(i).st_mode & 0o777)) for i in x][:4], s[-120:] if not n else ''))
@case('7.50', 'control: the installation works with these permissions: a call, a search and the mail folder of the operator')
def _(): o, ws = acts(); x = o.api('GET', '/calls'); m = [i for i in walk(HOME) if '/mail' in i]; return ok(x.status == 200 and x.json['total'] >= 1 and m, '%r, %d mails' % (x, len(m)))
