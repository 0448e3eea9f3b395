"""First starts beside each other, with a cache from which something is missing, in a namespace without any network.
`go`, `pip` and `python3 -m pip` are ours: they note when they ran, take a while, and make what was asked for (go) or fail (pip)."""
from h import *
import shutil, glob, signal
U = int(ENV('RUN_UID', 65534)); CACHE = ENV('PARLEY_CACHE', STATE + '/cache')
NS = 't26s'
def stubs(base, go_secs, go_mode):
    b = base + '/bin'; os.makedirs(b, exist_ok=True); real = glob.glob(CACHE + '/livekit-v*/livekit-server')
    note = 'note() { echo "$(date +%%s.%%N) $$ $1 $2" >> %s/tool.log; }\n' % base
    go = '#!/bin/bash\n' + note + '''if [ "$1" = version ]; then echo "go version go1.26.0 linux/amd64"; exit 0; fi
if [ "$1" = env ]; then shift; for k in "$@"; do [ "$k" = GOVERSION ] && echo go1.26.0 || echo ""; done; exit 0; fi
echo "$PWD GOBIN=$GOBIN GOPATH=$GOPATH go $*" >> %s/argv.log
case "$1" in install|build) ;; *) exit 0;; esac
note go start; for a in "$@"; do last=$a; done; last=${last%%%%@*}; out=$GOBIN/${last##*/}; p=; for a in "$@"; do [ "$p" = -o ] && out=$a; p=$a; done
[ -d "$out" ] && out=$out/${last##*/}
[ -z "$GOBIN" ] && [ -n "$GOPATH" ] && [ "$out" = /livekit-server ] && out=$GOPATH/bin/livekit-server
for i in $(seq %d); do sleep 1; [ %s = partial ] && { mkdir -p $(dirname $out); head -c 1000000 %s > $out; }; done
if [ %s = fail ]; then note go fail; exit 1; fi
mkdir -p $(dirname $out); cp %s $out; chmod 755 $out; note go end
''' % (base, go_secs, go_mode, real[0] if real else '/bin/true', go_mode, real[0] if real else '/bin/true')
    py = '#!/bin/bash\n' + note + '''case " $* " in *" pip "*"download "*|*" pip "*"install "*) what=$(for a in "$@"; do case $a in -*|pip|download|install|/*) ;; *) echo -n "$a,";; esac; done); note "pip:$what" start; sleep 3; note "pip:$what" fail; echo "no network" >&2; exit 1;; esac
exec /usr/bin/env PATH=%s python3 "$@"
''' % os.environ['PATH']
    for n, t in (('go', go), ('python3', py), ('python', py), ('pip', py.replace('" $* "', '" pip $* "')), ('pip3', py.replace('" $* "', '" pip $* "'))):
        open(b + '/' + n, 'w').write(t); os.chmod(b + '/' + n, 0o755)
    return b
class Scene:
    def __init__(s, remove=('livekit-v*',), go_secs=6, go_mode='ok', pre=None):
        s.base = '%s/first-%s' % (STATE, word(6)); os.makedirs(s.base); s.cache = s.base + '/cache'; subprocess.run(['cp', '-al', CACHE, s.cache], check=True)
        for r in remove:
            for f in glob.glob(s.cache + '/' + r): shutil.rmtree(f)
        for f in glob.glob(s.cache + '/*.lock') + glob.glob(s.cache + '/*.draft'): subprocess.run(['rm', '-rf', f])
        s.bin = stubs(s.base, go_secs, go_mode); open(s.base + '/tool.log', 'w').close(); open(s.base + '/argv.log', 'w').close(); os.chmod(s.base + '/argv.log', 0o666); pre and pre(s)
        subprocess.run(['chown', '-R', str(U), s.base, '--no-dereference']); os.chmod(s.base + '/tool.log', 0o666); subprocess.run('ip netns add %s 2>/dev/null; ip -n %s link set lo up' % (NS, NS), shell=True); s.procs = []
    def start(s, dir=None, umask='022'):
        i = len(s.procs); h = '%s/home%d' % (s.base, i); os.makedirs(h); os.chown(h, U, U); out = open('%s/out%d' % (s.base, i), 'w'); d = dir or DIR
        cmd = ['nsenter', '--net=/run/netns/' + NS, 'setpriv', '--reuid=%d' % U, '--regid=%d' % U, '--clear-groups', 'env', '-i', 'PATH=%s:%s/node_modules/.bin:/usr/local/bin:/usr/bin:/bin' % (s.bin, d), 'LANG=C.UTF-8', 'HOME=%s' % h, 'PARLEY_HOME=%s/.parley' % h, 'PARLEY_CACHE=' + s.cache, 'RUSSIAN_STT=off', 'bash', '-c', 'umask %s; cd %s; exec npm start -- --no-demo' % (umask, d)]
        p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True); s.procs.append(p); return p
    def events(s):
        out, open_ = [], {}
        for l in open(s.base + '/tool.log'):
            t, pid, what, st = l.split(' ', 3); t = float(t); st = st.strip()
            if st == 'start': open_[(pid, what)] = t
            else: out.append((what, open_.pop((pid, what), t), t, st))
        return out + [(w, t, None, 'running') for (p, w), t in open_.items()]
    def wait(s, cond, secs):
        t = time.time()
        while time.time() - t < secs:
            if cond(): return True
            time.sleep(.3)
        return False
    def worked(s, what='go', n=1): return len([e for e in s.events() if e[0].startswith(what) and e[3] in ('end', 'fail')]) >= n
    def overlap(s):
        """The largest number of the same work at the same time."""
        ev = s.events(); best = (0, '')
        for w in {e[0] for e in ev}:
            for e in ev:
                if e[0] == w: best = max(best, (len([x for x in ev if x[0] == w and x[1] <= e[1] < (x[2] or 1e12)]), w))
        return best
    def out(s, i): return open('%s/out%d' % (s.base, i), errors='replace').read()
    def up(s, i): return 'Parley is up' in s.out(i)
    def binaries(s): return [(f, os.path.getsize(f)) for f in glob.glob(s.cache + '/livekit-v*/livekit-server')]
    def left(s): return [os.path.basename(f) for f in glob.glob(s.cache + '/*') if re.search(r'lock|draft|tmp|part', f)]
    def kill(s, i, sig=signal.SIGKILL):
        """Ends one start with everything that it began."""
        h = ('%s/home%d' % (s.base, i)).encode()
        for _ in range(2):
            for p in subprocess.run(['ip', 'netns', 'pids', NS], stdout=subprocess.PIPE).stdout.decode().split():
                try:
                    if h in open('/proc/%s/environ' % p, 'rb').read(): os.kill(int(p), sig)
                except OSError: pass
    def end(s):
        for _ in range(3):
            for p in subprocess.run(['ip', 'netns', 'pids', NS], stdout=subprocess.PIPE).stdout.decode().split():
                try: os.kill(int(p), signal.SIGKILL)
                except OSError: pass
            time.sleep(.2)
        for p in s.procs: p.wait()
        subprocess.run(['ip', 'netns', 'del', NS]); os.environ.get('KEEP') or shutil.rmtree(s.base, ignore_errors=True)
REAL = lambda: sum(os.path.getsize(f) for f in glob.glob(CACHE + '/livekit-v*/livekit-server'))
