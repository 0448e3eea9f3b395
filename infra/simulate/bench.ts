/** The environment of audio scenarios: an installation, a tool server, and voices for callers. */

import { createSpeechClient } from '../../media/models/speech/client.ts'
import type { Tts } from '../../media/ports/speech.ts'
import { systemClock } from '../adapters/clock.ts'
import { createLog } from '../adapters/log.ts'
import { type AudioRunner, type Installation, openAudio } from './audio.ts'
import { ScenarioError } from './scenario.ts'
import { startOwnSpeech, startOwnStack } from './stack.ts'
import { startToolServer } from './tool-server.ts'
import { createVoices } from './voice.ts'

export interface BenchOptions {
  'base-url'?: string | undefined
  key?: string | undefined
  sip?: string | undefined
  host: string
  lanes: number
  toolsPort: number
}

export interface Bench {
  runner: AudioRunner
  close(): Promise<void>
}

export async function openBench(options: BenchOptions): Promise<Bench> {
  const closers: (() => Promise<void>)[] = []
  const close = async () => {
    for (const one of closers.splice(0).reverse()) await one()
  }
  try {
    const tools = await startToolServer(options.toolsPort, options.host)
    closers.push(() => tools.close())
    const { installation, speechPort } = await installationOf(options, tools.port, closers)
    const voices = createVoices(lazyVoice(speechPort, closers))
    const runner = await openAudio({ installation, tools, voices, host: options.host, lanes: options.lanes })
    closers.push(() => runner.close())
    return { runner, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function installationOf(options: BenchOptions, toolsPort: number, closers: (() => Promise<void>)[]) {
  const { key, sip, 'base-url': baseUrl } = options
  if (!baseUrl && !key && !sip) {
    const stack = await startOwnStack({ toolsPort, report: text => console.error(text) })
    closers.push(() => stack.stop())
    return { installation: stack as Installation, speechPort: async () => stack.speechPort }
  }
  const at = /^(.+):(\d{1,5})$/.exec(sip ?? '')
  if (!baseUrl || !key || !at) throw new ScenarioError('--base-url, --key and --sip <host:port> must be given together')
  const installation = { baseUrl, key, sip: { host: at[1]!, port: Number(at[2]) } }
  return { installation, speechPort: () => startOwnSpeech(closers) }
}

/** Opened for the first line without a recording. */
function lazyVoice(speechPort: () => Promise<number>, closers: (() => Promise<void>)[]): () => Promise<Tts> {
  let opened: Promise<Tts> | null = null
  const open = async () => {
    const log = createLog('simulate', 'error')
    const client = createSpeechClient({ host: '127.0.0.1', port: await speechPort(), clock: systemClock, log })
    closers.push(async () => client.close())
    await client.ready
    return client.tts
  }
  return () => {
    opened ??= open()
    return opened
  }
}
