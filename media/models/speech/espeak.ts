/** Runs the system's espeak-ng, if installed: robotic speech in a hundred languages. It is never linked (GPL). */
import { spawn } from 'node:child_process'
import { decodeWav } from '../../audio/wav.ts'

export async function espeakInstalled(): Promise<boolean> {
  return (await run(['--version'], '')) !== null
}

export async function espeak(text: string, language: string): Promise<{ pcm: Int16Array; sampleRate: number }> {
  const voice = /^[a-z]{2,3}/i.exec(language)?.[0]?.toLowerCase() ?? 'en'
  const wav = await run(['--stdout', '-v', voice, '--stdin'], text)
  if (!wav) throw new Error('espeak-ng failed')
  const { pcm, sampleRate } = decodeWav(wav)
  return { pcm, sampleRate }
}

function run(args: string[], input: string): Promise<Buffer | null> {
  return new Promise(resolve => {
    const child = spawn('espeak-ng', args, { stdio: ['pipe', 'pipe', 'ignore'] })
    const parts: Buffer[] = []
    child.stdout.on('data', part => parts.push(part))
    child.on('error', () => resolve(null))
    child.on('close', code => resolve(code === 0 ? Buffer.concat(parts) : null))
    child.stdin.on('error', () => {}) // the program may exit before it has read everything
    child.stdin.end(input)
  })
}
