/** Captions that a client receives: with LiveKit's own names, so that its components show them. */
import { ParticipantKind } from '@livekit/rtc-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Captions } from '../../../media/room/captions.ts'
import type { Caption } from '../../../media/room/connection.ts'
import { livekitBinary, startTestLiveKit, type TestLiveKit } from '../../support/livekit.ts'
import { recordingLog, until } from '../../support/world.ts'
import { AGENT, CALLER, meet } from './rig.ts'

let livekit: TestLiveKit
beforeAll(async () => {
  if (livekitBinary) livekit = await startTestLiveKit()
})
afterAll(() => livekit?.stop())

const words = (who: 'agent' | 'caller', segment: string, text: string, final = false) =>
  ({ type: 'words', who, segment, text, final }) as const

/** A link that sends one caption when the test says so. */
function slowLink() {
  const sent: Caption[] = []
  let go = (_: Error | null) => {}
  const caption = (one: Caption) => {
    sent.push(one)
    return new Promise<void>((resolve, reject) => (go = error => (error ? reject(error) : resolve())))
  }
  const options = { caller: CALLER, agent: AGENT, prefix: 'call', language: 'en', log: recordingLog() }
  const captions = new Captions({ caption }, options)
  const next = async (error: Error | null = null) => {
    go(error)
    await new Promise(resolve => setImmediate(resolve))
  }
  return { captions, sent, next, log: options.log, texts: () => sent.map(({ text }) => text) }
}

describe('captions on a slow link', () => {
  it('contain the newest text of each turn, in order', async () => {
    const { captions, sent, next, texts } = slowLink()
    captions.show(words('caller', 'caller-0', 'I'))
    captions.show(words('caller', 'caller-0', 'I want'))
    captions.show(words('agent', 'agent-0', 'You'))
    captions.show(words('caller', 'caller-0', 'I want two.', true))
    captions.show(words('agent', 'agent-0', 'You want two.', true))
    expect(texts()).toEqual(['I'])
    await next()
    await next()
    await next()
    expect(texts()).toEqual(['I', 'I want two.', 'You want two.'])
    expect(sent[1]).toEqual({
      identity: CALLER,
      segment: 'call-caller-0',
      text: 'I want two.',
      final: true,
      language: 'en',
    })
    expect(sent[2]).toMatchObject({ identity: AGENT, segment: 'call-agent-0' })
    await captions.close()
  })

  it('log failures once and continue', async () => {
    const { captions, next, log, texts } = slowLink()
    captions.show(words('agent', 'a', 'One.', true))
    captions.show(words('agent', 'b', 'Two.', true))
    captions.show(words('agent', 'c', 'Three.', true))
    await next(new Error('no'))
    await next(new Error('no'))
    await next()
    expect(texts()).toEqual(['One.', 'Two.', 'Three.'])
    expect(log.lines.length).toBe(1)
    captions.show(words('agent', 'd', ''))
    expect(texts().length).toBe(3)
  })
})

describe.skipIf(!livekitBinary)('a client', () => {
  it('receives state and text', async () => {
    const { caller, leg } = await meet(livekit)
    const agent = () => caller.room.remoteParticipants.get(AGENT)!
    const packets: { identity: string; id: string; text: string; final: boolean; track: string }[] = []
    ;(globalThis._ffiClientInstance as unknown as NodeJS.EventEmitter).on('ffi_event', event => {
      const { message } = event.message.case === 'roomEvent' ? event.message.value : { message: null }
      if (message?.case !== 'transcriptionReceived') return
      const { participantIdentity: identity, trackSid: track, segments } = message.value
      for (const { id, text, final } of segments) packets.push({ identity, id, text, final, track })
    })
    const say = (...said: Parameters<typeof words>) => leg.show!(words(...said))
    say('caller', 'caller-0', 'Good')
    await caller.wait(() => caller.texts.some(({ text }) => text === 'Good'), 'the first word')
    say('caller', 'caller-0', 'Good morning.', true)
    say('agent', 'agent-0', 'Hello there.', true)
    await caller.wait(() => caller.texts.some(({ text, final }) => text === 'Hello there.' && final), 'the answer')
    const [interim, whole, answer] = caller.texts
    expect([interim!.final, whole!.final, answer!.final]).toEqual([false, true, true])
    expect(interim!.segmentId).toBe(whole!.segmentId)
    expect(new Set(caller.texts.map(({ segmentId }) => segmentId)).size).toBe(2)
    expect([interim!.from, whole!.from, answer!.from]).toEqual([CALLER, CALLER, AGENT])
    const [microphone] = caller.room.localParticipant!.trackPublications.values()
    const [voice] = agent().trackPublications.values()
    expect(whole!.attributes['lk.transcribed_track_id']).toBe(microphone!.sid)
    expect(answer!.attributes['lk.transcribed_track_id']).toBe(voice!.sid)
    await until(() => packets.length >= 3, 'the older packets')
    expect(packets.at(-1)).toEqual({
      identity: AGENT,
      id: answer!.segmentId,
      text: 'Hello there.',
      final: true,
      track: voice!.sid,
    })

    for (const state of ['thinking', 'speaking', 'listening'] as const) {
      leg.show!({ type: 'state', state })
      await caller.wait(() => agent().attributes['lk.agent.state'] === state, state)
    }
    const shown = caller.attributes.flatMap(({ changed }) => changed['lk.agent.state'] ?? [])
    // A state that the agent had when it became visible to the caller is no change.
    expect(shown.join()).toMatch(/^((initializing,)?listening,)?thinking,speaking,listening$/)
    expect(agent().attributes['parley.call_id']).toMatch(/^[0-9a-f-]{36}$/)
    // LiveKit's components look for their agent by this.
    expect(agent().kind).toBe(ParticipantKind.AGENT)
    await leg.hangup('agent_hangup')
    await caller.leave()
  })
})
