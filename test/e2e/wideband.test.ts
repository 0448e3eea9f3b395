/**
 * A whole conversation over Opus, encrypted: speech-to-text, agent, voice and recording at 16 kHz, with baresip. G.722
 * is tested in test/sip/trunk/wideband.integration.test.ts, because baresip 1.0 upsamples its 8 kHz audio with a filter
 * that leaves nothing above 2 kHz.
 */
import { afterAll, beforeAll, expect } from 'vitest'
import { createResampler } from '../../media/audio/resample.ts'
import { decodeWav } from '../../media/audio/wav.ts'
import { needs } from '../support/needs.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { startBaresip } from '../support/stack-baresip.ts'
import { expectSettled, LETTER_ERRORS } from '../support/stack-checks.ts'
import { letterErrors } from '../support/stack-speech.ts'
import { until } from '../support/world.ts'

const { describe, it } = needs('baresip')

let stack: Stack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack?.stop())

/** Sample rate that `stack.speech` reads. */
const SPEECH_HZ = 8000
const GREETING = 'Welcome to the city museum. What would you like to know?'
const QUESTION = 'Please tell the director that the old lighthouse has been repaired.'

describe('a conversation', () => {
  it('over Opus, encryption required', { timeout: 240_000 }, async () => {
    const number = '+14155550112'
    const extras = { config: ['module srtp.so'], account: ';mediaenc=srtp-mand' }
    const phone = await startBaresip(stack, number, 'opus', extras)
    const owner = await stack.owner({
      trunk: { port: phone.port, codecs: ['opus'], srtp: 'required' },
      project: { greeting: GREETING, recording: true },
    })
    const sound = await stack.speech.say(QUESTION)
    const call = await owner.place(number)
    await phone.wait('CALL_INCOMING')
    await phone.command('accept')
    await call.agentSaid(1)
    await phone.speak(sound)
    const heard = await call.wait('turn.finished', event => event.turn.role === 'caller')
    expect(letterErrors(QUESTION, heard.turn.text)).toBeLessThanOrEqual(LETTER_ERRORS)
    await call.agentSaid(2)
    await phone.command('hangup')
    await call.ended()

    const detail = await owner.detail(call.id)
    expect(detail).toMatchObject({ status: 'completed', ended_reason: 'caller_hangup' })
    expect(detail.transcript[0]!.heard_text).toBe(GREETING)
    const recorded = await until(async () => {
      const response = await owner.fetch(`/calls/${call.id}/recording`)
      return response.ok ? Buffer.from(await response.arrayBuffer()) : null
    }, 'the recording')
    const { channels, sampleRate, pcm } = decodeWav(recorded!)
    expect([channels, sampleRate]).toEqual([2, 16_000])
    const read = async (n: number) => {
      const side = Int16Array.from({ length: pcm.length / 2 }, (_, i) => pcm[2 * i + n]!)
      const heard = await stack.speech.read(createResampler(sampleRate, SPEECH_HZ).push(side))
      return heard.map(({ text }) => text).join(' ')
    }
    expect(letterErrors(QUESTION, await read(0))).toBeLessThanOrEqual(LETTER_ERRORS)
    expect(await read(1)).toMatch(/city museum/i)
    await expectSettled(stack, owner)
  })
})
