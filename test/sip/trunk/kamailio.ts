/**
 * Kamailio as a carrier: a registrar, and a proxy with digest authentication that forwards calls to a peer of the test.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const REALM = 'carrier.test'

export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

export type KamailioOptions = {
  readonly peerPort: number
  readonly algorithm: string
  readonly password: string
  /** Challenges each request of a call, unless the peer sent it. */
  readonly insists?: boolean
}

const withRequiredEncryption = ({ peerPort, password }: KamailioOptions): string => `
    if (!is_method("ACK|CANCEL") && $sp != ${peerPort}) {
      if (!pv_proxy_authenticate("${REALM}", "${password}", "0")) {
        proxy_challenge("${REALM}", "1");
        exit;
      }
      consume_credentials();
    }`

const config = (port: number, options: KamailioOptions): string => {
  const { peerPort, algorithm, password } = options
  return `
debug=1
log_stderror=yes
children=1
auto_aliases=no
listen=udp:127.0.0.1:${port}
disable_tcp=yes
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
loadmodule "sl.so"
loadmodule "tm.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "usrloc.so"
loadmodule "registrar.so"
loadmodule "auth.so"
modparam("auth", "algorithm", "${algorithm}")
modparam("auth", "nonce_count", 1)
modparam("auth", "qop", "auth")
modparam("registrar", "default_expires", 60)
modparam("registrar", "min_expires", 60)
modparam("registrar", "max_expires", 120)
request_route {
  if (has_totag()) {${options.insists ? withRequiredEncryption(options) : ''}
    loose_route();
    t_relay();
    exit;
  }
  if (is_method("CANCEL")) {
    t_relay();
    exit;
  }
  if (is_method("OPTIONS")) {
    sl_send_reply("200", "Here");
    exit;
  }
  if (is_method("REGISTER")) {
    if (!pv_www_authenticate("${REALM}", "${password}", "0")) {
      www_challenge("${REALM}", "1");
      exit;
    }
    save("location");
    exit;
  }
  if (is_method("INVITE")) {
    if (!pv_proxy_authenticate("${REALM}", "${password}", "0")) {
      proxy_challenge("${REALM}", "1");
      exit;
    }
    consume_credentials();
    record_route();
    $du = "sip:127.0.0.1:${peerPort}";
    t_relay();
    exit;
  }
  sl_send_reply("405", "Not Here");
}
`
}

export class Kamailio {
  readonly port: number
  private readonly child: ChildProcess
  private readonly folder: string

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port
    this.child = child
    this.folder = folder
  }

  static async start(port: number, options: KamailioOptions): Promise<Kamailio> {
    const folder = mkdtempSync(join(tmpdir(), 'kamailio-'))
    const file = join(folder, 'kamailio.cfg')
    writeFileSync(file, config(port, options))
    // -DD keeps it in the foreground with its children below it.
    const child = spawn('kamailio', ['-DD', '-f', file, '-Y', folder, '-w', folder], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const kamailio = new Kamailio(port, child, folder)
    await kamailio.answering()
    return kamailio
  }

  /** It does not report when it is ready, so the test sends requests. */
  private async answering(): Promise<void> {
    let said = ''
    this.child.stderr?.on('data', chunk => {
      said = `${said}${chunk}`.slice(-4000)
    })
    const socket = createSocket('udp4').bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const head = [
      `OPTIONS sip:127.0.0.1:${this.port} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${socket.address().port};branch=z9hG4bKready`,
      `From: <sip:ready@127.0.0.1>;tag=1`,
      `To: <sip:127.0.0.1:${this.port}>`,
      ...['Call-ID: ready', 'CSeq: 1 OPTIONS', 'Max-Forwards: 70', 'Content-Length: 0', '', ''],
    ].join('\r\n')
    const ask = setInterval(() => socket.send(head, this.port, '127.0.0.1'), 50)
    const ended = once(this.child, 'exit').then(() => {
      throw new Error(`kamailio ended: ${said}`)
    })
    ended.catch(() => {})
    try {
      await Promise.race([once(socket, 'message'), ended])
    } finally {
      clearInterval(ask)
      socket.close()
    }
  }

  async close(): Promise<void> {
    const gone = this.child.exitCode === null ? once(this.child, 'exit') : null
    this.child.kill('SIGTERM')
    await gone
    rmSync(this.folder, { recursive: true, force: true })
  }
}
