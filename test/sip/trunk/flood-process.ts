/**
 * Sends SIP requests from many loopback addresses at a given rate, in a separate process, so that the test's own
 * process only receives. Arguments: port, requests per second, seconds, number of sources, first source. Prints how
 * many were sent.
 */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

const [port = 0, rate = 0, seconds = 0, sources = 1] = process.argv.slice(2, 6).map(Number)
const first = process.argv[6] ?? '127.1.0.1'

const [a, b, c, d] = first.split('.').map(Number) as [number, number, number, number]
const sockets: Socket[] = []
for (let n = 0; n < sources; n++) {
  const socket = createSocket('udp4').bind(0, `${a}.${b}.${c}.${d + n}`)
  await once(socket, 'listening')
  // Responses are discarded, as with forged sources.
  socket.on('message', () => {})
  sockets.push(socket)
}

/** Scanners as they are, and the two requests that a telephone begins with. */
const KINDS = [
  ['REGISTER', 'phone-zzzzzzzz'],
  ['INVITE', 'phone-zzzzzzzz'],
  ['OPTIONS', '100'],
  ['INVITE', '1001'],
] as const

const SDP = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\n'

function requestOf(n: number): Buffer {
  const [method, user] = KINDS[n % KINDS.length]!
  const body = method === 'INVITE' ? SDP : ''
  const head = [
    `${method} sip:+12025550100@127.0.0.1:${port} SIP/2.0`,
    `Via: SIP/2.0/UDP ${first}:5060;rport;branch=z9hG4bK-flood-${process.pid}-${n}`,
    'Max-Forwards: 70',
    `From: <sip:${user}@127.0.0.1>;tag=${n}`,
    `To: <sip:${method === 'REGISTER' ? user : '+12025550100'}@127.0.0.1>`,
    `Call-ID: flood-${process.pid}-${n}`,
    `CSeq: 1 ${method}`,
    `Contact: <sip:${user}@${first}:5060>`,
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${body.length}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

const startedMs = performance.now()
let sent = 0
const timer = setInterval(() => {
  const elapsedMs = Math.min(performance.now() - startedMs, seconds * 1000)
  for (const due = (elapsedMs / 1000) * rate; sent < due; sent++)
    sockets[sent % sockets.length]!.send(requestOf(sent), port, '127.0.0.1')
  if (elapsedMs < seconds * 1000) return
  clearInterval(timer)
  process.stdout.write(JSON.stringify({ sent }))
  for (const socket of sockets) socket.close()
}, 2)
