/** Places the demo call through the public REST API and prints it as it happens, from the live events. */
import type { CallEvent, Turn, TurnLatency } from '../../media/contract/messages.ts'
import type { DemoFile } from './account.ts'
import type { DemoWorld } from './world.ts'

const CALL_TIMEOUT_MS = 180_000
const WEBHOOK_TIMEOUT_MS = 20_000
const dim = (text: string) => (process.stdout.isTTY ? `\x1b[2m${text}\x1b[0m` : text)
const bold = (text: string) => (process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text)

export async function runDemoCall(demo: DemoFile, world: DemoWorld): Promise<boolean> {
  const signal = AbortSignal.timeout(CALL_TIMEOUT_MS)
  const headers = { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' }
  console.log(
    `\n${bold('The demo call')}: POST /v1/public/calls to ${demo.callee_number}, a simulated phone on this machine\n`,
  )
  const placed = await fetch(`${demo.base_url}/v1/public/calls`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ project_id: demo.project_id, phone: demo.callee_number, vars: { source: 'demo' } }),
    signal,
  })
  const call = (await placed.json()) as { id: string; detail?: string }
  if (placed.status !== 201) {
    console.log(`Couldn’t start the call: ${placed.status} ${call.detail ?? ''}`)
    return false
  }
  const show = createShow()
  for await (const event of liveEvents(`${demo.base_url}/v1/public/calls/${call.id}/events`, headers, signal))
    show(event)

  const detail = (await (
    await fetch(`${demo.base_url}/v1/public/calls/${call.id}`, { headers, signal })
  ).json()) as CallDetail
  const delivery = await world.delivery(call.id, WEBHOOK_TIMEOUT_MS)
  showResult(detail, delivery)
  const dialogue = detail.transcript.filter(turn => turn.role !== 'tool')
  return (
    detail.status === 'completed' &&
    dialogue.length >= 6 &&
    detail.tool_calls.some(tool => tool.status === 'ok' && tool.filler.length > 0) &&
    dialogue.some(turn => turn.interrupted) &&
    detail.goal_reached === true &&
    delivery?.signatureOk === true
  )
}

interface CallDetail {
  status: string
  ended_reason: string | null
  duration_seconds: number | null
  billed_seconds: number | null
  cost: { amount: string; currency: string } | null
  goal_reached: boolean | null
  summary: string | null
  extracted: Record<string, unknown> | null
  transcript: Turn[]
  tool_calls: { name: string; ms: number; status: string; filler: string[] }[]
  latency: { p50_ms: number | null; p95_ms: number | null; turns: TurnLatency[] }
}

/** Server-sent events (WHATWG HTML §9.2) until the stream ends. */
async function* liveEvents(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): AsyncIterable<CallEvent> {
  const response = await fetch(url, { headers, signal })
  if (!response.ok || !response.body) throw new Error(`Live events failed with status ${response.status}`)
  let pending = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    pending += part
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      const block = pending.slice(0, end)
      pending = pending.slice(end + 2)
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
      const type = field('event')
      if (type) yield { type, ...(JSON.parse(field('data') ?? '{}') as object) } as CallEvent
    }
  }
}

function createShow(): (event: CallEvent) => void {
  const startedAt = Date.now()
  const line = (who: string, text: string) => {
    const at = ((Date.now() - startedAt) / 1000).toFixed(1).padStart(5)
    console.log(`${dim(`${at}s`)}  ${who.padEnd(7)} ${text}`)
  }
  return event => {
    switch (event.type) {
      case 'call.dialing':
        return line('', dim('INVITE sent'))
      case 'call.ringing':
        return line('', dim('ringing'))
      case 'call.started':
        return line('', dim('answered, RTP audio in both directions'))
      case 'turn.finished':
        if (event.turn.role === 'tool') return
        line(
          event.turn.role,
          event.turn.interrupted ? `${event.turn.heard_text} ${bold('— interrupted by the caller')}` : event.turn.text,
        )
        if (event.latency) line('', dim(waterfall(event.latency)))
        return
      case 'barge_in':
        return line('', dim(`barge-in after ${event.heard_ms} ms of playback`))
      case 'tool.started':
        return line('tool', `${event.name} called`)
      case 'filler.spoken':
        return line('', dim('filler spoken while the tool runs'))
      case 'tool.finished':
        return line('tool', `${event.tool.name}: ${event.tool.status} after ${event.tool.ms} ms`)
      default:
    }
  }
}

const waterfall = (latency: TurnLatency) =>
  `${latency.filler ? 'filler' : 'response'} latency ${latency.total_ms} ms ` +
  `(end-pointing ${latency.endpointing_ms}, STT ${latency.stt_ms}, LLM ${latency.llm_first_token_ms}, TTS ${latency.tts_first_byte_ms})`

function showResult(detail: CallDetail, delivery: Awaited<ReturnType<DemoWorld['delivery']>>): void {
  const { cost, latency } = detail
  console.log(`\n${bold('Call record')}`)
  console.log(
    `  status     ${detail.status}, ${detail.ended_reason}, goal ${detail.goal_reached ? 'reached' : 'not reached'}`,
  )
  console.log(`  summary    ${detail.summary}`)
  console.log(`  extracted  ${JSON.stringify(detail.extracted)}`)
  console.log(`  latency    p50 ${latency.p50_ms} ms, p95 ${latency.p95_ms} ms, end-pointing included`)
  console.log(`  cost       ${cost?.amount} ${cost?.currency} for ${detail.billed_seconds} s`)
  console.log(
    delivery
      ? `  webhook    ${delivery.event} received, signature ${delivery.signatureOk ? 'verified' : 'INVALID'}`
      : '  webhook    not received',
  )
}
