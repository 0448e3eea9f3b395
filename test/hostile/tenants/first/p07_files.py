"""7. Files at rest."""
from h import *
import glob, stat
def traces():
    """Leaves values everywhere: a call with words, numbers, refused rows."""
    def make():
        o = Owner('traces'); c = Carrier(ip4(), 5060); l = o.line(c.ip, o.project(recording=True, greeting='The secret word is marzipan.')); p = o.place(l.project, number(), vars={'name': 'Zacharias Quillfeather'}); time.sleep(5); c.hang_up(); time.sleep(2)
        n = number(); o.api('POST', '/do-not-call', {'phone': n}); o.api('POST', '/do-not-call', {'phone': n}); o.trunk(ip4(), [l.number], expect=False); Owner('x').trunk(ip4(), [l.number], expect=False); o.must('POST', '/projects/%s/knowledge' % l.project, {'type': 'text', 'title': 'House', 'content': 'The owner is Zacharias Quillfeather.'}); time.sleep(2)
        return o, l, [l.number, n, 'Zacharias', 'Quillfeather', 'marzipan']
    return once('traces', make)
def walk(root):
    for d, ds, fs in os.walk(root):
        for f in ds + fs: yield os.path.join(d, f)
def open_to_others(root, uid=54321):
    """What another user of the machine can really read or list, tried as that user."""
    s = subprocess.run(['setpriv', '--reuid=%d' % uid, '--regid=%d' % uid, '--clear-groups', 'find', root, '-mindepth', '0', '-readable', '-not', '-type', 'l'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode('utf8', 'replace').splitlines()
    return [x for x in s]
def ports():
    s = inside(['ss', '-Hltnp']); return [(m.group(1), int(m.group(2)), m.group(3)) for m in re.finditer(r'LISTEN\s+\d+\s+\d+\s+(\S+):(\d+)\s+\S+\s*(.*)', s)]
def talk(port, data, host='127.0.0.1', n=4096):
    code = 'import socket,sys\ns=socket.create_connection((%r,%d),3);s.settimeout(3);s.sendall(%r)\ntry: sys.stdout.buffer.write(s.recv(%d))\nexcept Exception as e: print(e)' % (host, port, data, n)
    return inside(['python3', '-c', code])

@case('7.01', 'another user of the machine can read nothing under the home', 60)
def _(): traces(); x = open_to_others(HOME); return ok(not x and os.path.isdir(HOME), '%d readable: %s' % (len(x), [os.path.relpath(i, HOME) for i in x[:6]]))
@case('7.02', 'no file or folder under the home has a permission for group or others, although the umask was 000', 60)
def _():
    traces(); x = [i for i in walk(HOME) if not os.path.islink(i) and os.lstat(i).st_mode & 0o077]; return ok(not x and list(walk(HOME)), '%d of %d: %s' % (len(x), len(list(walk(HOME))), [(os.path.relpath(i, HOME), oct(os.lstat(i).st_mode & 0o777)) for i in x[:6]]))
@case('7.03', "Redis's append-only files and snapshots are 0600")
def _():
    traces(); x = [i for i in walk(HOME) if re.search(r'\.(aof|rdb|manifest)$', i)]; y = [(os.path.relpath(i, HOME), oct(os.lstat(i).st_mode & 0o777)) for i in x if os.lstat(i).st_mode & 0o077]; return ok(x and not y, '%d files, open: %s' % (len(x), y))
@case('7.04', 'logs are 0600')
def _():
    traces(); x = [i for i in walk(HOME) if i.endswith('.log')]; y = [(os.path.relpath(i, HOME), oct(os.lstat(i).st_mode & 0o777)) for i in x if os.lstat(i).st_mode & 0o077]; return ok(x and not y, '%d logs, open: %s' % (len(x), y))
@case('7.05', 'embedded Redis refuses who has no password')
def _():
    r = [p for a, p, who in ports() if 'redis' in who]; need(r, 'no Redis found among %s' % ports()); out = [talk(r[0], b'PING\r\nKEYS *\r\n'), talk(r[0], b'AUTH x\r\nINFO\r\n')]; return ok(all('NOAUTH' in o or 'WRONGPASS' in o or '-ERR' in o for o in out) and not any('+PONG' in o for o in out), out)
@case('7.06', 'the logs, with that of Postgres, contain no number, name or word of a call', 60)
def _():
    *_, words = traces(); time.sleep(1); hits = {}
    for i in walk(HOME):
        if os.path.isfile(i) and (i.endswith('.log') or '/log' in i):
            t = open(i, errors='replace').read(); 
            for w in words:
                if w in t or w.lstrip('+') in t: hits.setdefault(os.path.relpath(i, HOME), []).append(w)
    return ok(not hits, hits or 'none in %d logs' % len([1 for i in walk(HOME) if i.endswith('.log')]))
@case('7.07', "Postgres's log has no DETAIL with values after refused rows")
def _():
    traces(); p = [i for i in walk(HOME) if 'postgres' in os.path.basename(i) and i.endswith('.log')]; need(p, 'no log of Postgres under the home'); t = ''.join(open(i, errors='replace').read() for i in p); x = re.findall(r'.*(?:DETAIL|parameters|STATEMENT):.*', t); return ok(not x, '%d lines: %s' % (len(x), x[:2]))
@case('7.08', 'no password, secret or key stands in a command line that every user may see', 60)
def _():
    sec = {'PARLEY_SECRET': None}; f = os.path.join(HOME, 'secret')
    if os.path.exists(f): sec['secret'] = open(f).read().strip()
    bad = []
    for p in subprocess.run(['ip', 'netns', 'pids', PNS], stdout=subprocess.PIPE).stdout.decode().split():
        try: c = open('/proc/%s/cmdline' % p).read().replace('\0', ' ')
        except OSError: continue
        if re.search(r'(requirepass|password|--secret|://[^/ ]*:[^@/ ]+@)\S*\s+\S{8,}|://[^/ ]*:[^@/ ]+@', c) or any(v and v in c for v in sec.values()): bad.append(re.sub(r'\S{16,}', lambda m: m.group(0)[:12] + '…', c)[:160])
    return ok(not bad, bad or 'none')
@case('7.09', 'the recording, the spool and the blob of an upload are 0600')
def _():
    traces(); x = [i for i in walk(HOME) if os.path.isfile(i) and re.search(r'/(blobs?|spool|recordings?|knowledge)/', i)]; y = [(os.path.relpath(i, HOME)[:60], oct(os.lstat(i).st_mode & 0o777)) for i in x if os.lstat(i).st_mode & 0o077]; return ok(x and not y, '%d files, open: %s' % (len(x), y[:5]))
@case('7.50', 'control: the owner of the home reads his files, and the API serves the recording')
def _():
    o, l, _ = traces(); c = o.calls()[0]; r = o.api('GET', '/calls/%s/recording' % c['id']); u = os.stat(HOME).st_uid; f = next(i for i in walk(HOME) if i.endswith('.log')); t = subprocess.run(['setpriv', '--reuid=%d' % u, '--regid=%d' % u, '--clear-groups', 'head', '-c1', f]).returncode; return ok(r.status == 200 and t == 0, 'recording %r, own log readable %s' % (r, t == 0))
