"""Calls whose answers point where no sound may go."""
from h import *

def caller():
    """An owner with a line at a carrier of his own that answers as told; made once."""
    def make():
        o = Owner('caller'); c = Carrier(ip4(), 5060); l = o.line(c.ip, o.project(llm={'provider': 'scripted'}, greeting='Good day. This is a test call that speaks for a while so that sound leaves the machine. One, two, three, four, five.')); return o, c, l
    return once('caller', make)
def outbound(answer, secs=4, after=None, phone=None):
    """Places a call that the carrier answers with answer(m) (see Carrier); returns what went to private or own addresses."""
    o, c, l = caller(); c.answer = answer; t0 = time.time()
    p = o.place(l.project, phone or number()); need(p.status == 201, 'call: %r %s' % (p, p.text[:200]))
    time.sleep(secs)
    if after: after(c)
    leak, own = W.sniff.to(t0), canary(t0, ('lo',))
    o.api('POST', '/calls/%s/hangup' % p.json['id']); x = o.wait_call(p.json['id'], secs=8)
    if c.rtp: c.rtp.close()
    return leak, own, x
def silent(answer, secs=4, after=None):
    """PASS when the call left no packet for a private or own address and was really dialled."""
    o, c, l = caller(); n = len(c.requests('INVITE')); leak, own, x = outbound(answer, secs, after)
    need(len(c.requests('INVITE')) > n, 'the call was never dialled: %s %s' % (x.get('status'), x.get('ended_reason')))
    return ok(not leak and not own, 'packets: %s; own: %s; call %s %s' % (leak or 0, own or 0, x['status'], x.get('ended_reason')))
def inbound(body, secs=3, src=None, after=None, headers=(), contact=None):
    """A call from the trunk with this offer; what went to private or own addresses."""
    o, c, l = caller(); t0 = time.time()
    d = dial(c, 'sip:%s@%s:%d' % (l.number, *SIP), body=body, headers=headers, contact=contact, timeout=4); time.sleep(secs)
    if after and d.status == 200: after(d)
    leak, own = W.sniff.to(t0), canary(t0, ('lo',)); d.bye()
    return ok(not leak and not own, 'INVITE answered %s; packets: %s; own: %s' % (d.status, leak or 0, own or 0))
