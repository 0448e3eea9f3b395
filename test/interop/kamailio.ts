/**
 * Kamailio as registrar and as a proxy with digest authentication, and rtpengine as the media relay between both sides.
 */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../../infra/embedded/ports.ts'
import { trunkPlan } from '../sip/trunk/bench.ts'
import { freeUdpPort } from '../sip/trunk/kamailio.ts'
import { until } from '../support/world.ts'
import type { Line } from './line.ts'

export const REALM = 'carrier.test'
export const PASSWORD = 'correct-horse'
const HOST = '127.0.0.1'

const config = (port: number, media: number, modules: string): string => `
debug=1
log_stderror=yes
children=2
auto_aliases=no
disable_tcp=yes
listen=udp:${HOST}:${port}
mpath="${modules}"
${['sl', 'tm', 'rr', 'pv', 'textops', 'siputils', 'usrloc', 'registrar', 'auth', 'rtpengine'].map(name => `loadmodule "${name}.so"`).join('\n')}
modparam("auth", "qop", "auth")
modparam("registrar", "min_expires", 30)
modparam("registrar", "gruu_enabled", 0)
modparam("rtpengine", "rtpengine_sock", "udp:${HOST}:${media}")
request_route {
  if (is_method("CANCEL")) { if (t_check_trans()) { rtpengine_delete(); t_relay(); } exit; }
  if (has_totag()) {
    if (is_method("BYE")) rtpengine_delete();
    if (has_body("application/sdp")) route(SOUND);
    if (loose_route()) t_relay();
    exit;
  }
  if (is_method("OPTIONS")) { sl_send_reply("200", "Here"); exit; }
  if (is_method("REGISTER")) {
    if (!pv_www_authenticate("${REALM}", "${PASSWORD}", "0")) { www_challenge("${REALM}", "1"); exit; }
    save("location");
    exit;
  }
  if (!pv_proxy_authenticate("${REALM}", "${PASSWORD}", "0")) { proxy_challenge("${REALM}", "1"); exit; }
  consume_credentials();
  record_route();
  if (!lookup("location")) { sl_send_reply("404", "Nobody"); exit; }
  route(SOUND);
  t_relay();
}
route[SOUND] {
  rtpengine_offer("replace-origin replace-session-connection ICE=remove");
  t_on_reply("SOUND");
}
onreply_route[SOUND] {
  if (has_body("application/sdp")) rtpengine_answer("replace-origin replace-session-connection ICE=remove");
}
`

export interface Carrier {
  port: number
  output: string[]
  /** True while its relay has a call. */
  relays(): Promise<boolean>
}

export async function startCarrier(line: Line): Promise<Carrier> {
  const folder = mkdtempSync(join(line.folder, 'carrier-'))
  const output: string[] = []
  const start = (program: string, args: string[]) => {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    line.keep(child)
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', said => output.push(`${program}: ${said}`))
    return child
  }
  const [port, control] = [await freeUdpPort(), await freeUdpPort()]
  const media = await freePort(44_000 + 100 * Math.floor(Math.random() * 50), HOST, true)
  const range = ['--port-min', String(media), '--port-max', String(media + 99)]
  start('rtpengine', [
    ...['--foreground', '--log-stderr', '--log-level=4', '--table=-1', '--no-fallback', '--num-threads=2'],
    ...['--config-file=none', `--interface=${HOST}`, `--listen-ng=${HOST}:${control}`, ...range],
  ])
  // Kamailio asks it once, and gives it up for a minute when there is no answer.
  await askRelay(control, '7:command4:ping')
  writeFileSync(join(folder, 'kamailio.cfg'), config(port, control, '/usr/lib/x86_64-linux-gnu/kamailio/modules/'))
  const kamailio = start('kamailio', ['-DD', '-E', '-f', join(folder, 'kamailio.cfg'), '-Y', folder, '-w', folder])
  const ended = once(kamailio, 'exit').then(() => {
    throw new Error(`kamailio ended:\n${output.join('\n')}`)
  })
  ended.catch(() => {})
  line.onStop(() => kamailio.kill('SIGTERM') && ended.catch(() => {}))
  await Promise.race([ended, answering(line, port)])
  return { port, output, relays: async () => !(await askRelay(control, '7:command4:list')).includes('5:callsle') }
}

/** By the `ng` protocol: a cookie and bencode. */
async function askRelay(port: number, command: string): Promise<string> {
  const socket = createSocket('udp4').bind(0, HOST)
  let answer = ''
  socket.on('message', data => {
    answer = String(data)
  })
  try {
    return await until(() => {
      if (answer === '') socket.send(`1 d${command}e`, port, HOST)
      return answer
    }, 'rtpengine to answer')
  } finally {
    socket.close()
  }
}

/** It does not report when it is ready, so one of our trunks sends OPTIONS. */
async function answering(line: Line, port: number): Promise<void> {
  line.bench.setTrunks(trunkPlan({ port }, { options_interval_seconds: 10 }))
  await until(() => line.bench.statuses.at(-1)?.hosts[0]?.alive === true, 'Kamailio to answer', 20_000)
}
