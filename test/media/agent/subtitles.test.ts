/** Captions of a conversation for the far end. */
import { describe, expect, it } from 'vitest'
import { Subtitles } from '../../../media/agent/subtitles.ts'
import type { Turn } from '../../../media/contract/messages.ts'
import type { DisplayUpdate } from '../../../media/ports/leg.ts'

const turn = (role: Turn['role'], text: string, heard_text = text) =>
  ({
    type: 'turn.finished',
    turn: { role, text, heard_text, started_ms: 0, ended_ms: 1, interrupted: false },
    latency: null,
  }) as const

function world() {
  const shown: DisplayUpdate[] = []
  const subtitles = new Subtitles(one => shown.push(one))
  const words = () => shown.flatMap(one => (one.type === 'words' ? [[one.segment, one.text, one.final]] : []))
  const states = () => shown.flatMap(one => (one.type === 'state' ? [one.state] : []))
  return { shown, subtitles, words, states }
}

const idle = { active: false, sounding: false, heard: '' }

describe('subtitles', () => {
  it("show the agent's state once per change", () => {
    const { subtitles, states } = world()
    subtitles.tick(idle, false)
    subtitles.tick(idle, false)
    subtitles.tick(idle, true)
    subtitles.tick({ active: true, sounding: false, heard: '' }, false)
    subtitles.tick({ active: true, sounding: true, heard: '' }, true)
    subtitles.tick(idle, false)
    expect(states()).toEqual(['listening', 'thinking', 'speaking', 'listening'])
  })

  it('show text as it becomes known, one segment per turn', () => {
    const { subtitles, words } = world()
    subtitles.heard(['', 'Good'])
    subtitles.heard(['Good', 'morning'])
    subtitles.heard(['Good', 'morning'])
    subtitles.note(turn('caller', 'Good morning.'))
    for (let i = 0; i < 25; i++)
      subtitles.tick({ active: true, sounding: true, heard: i < 15 ? 'Hello' : 'Hello you' }, true)
    subtitles.note(turn('agent', 'Hello you there.', 'Hello you'))
    subtitles.note(turn('tool', 'look_up: ok', ''))
    subtitles.note(turn('operator', 'Anna here.'))
    subtitles.note({ type: 'call.ringing' })
    subtitles.heard(['Next'])
    expect(words()).toEqual([
      ['caller-0', 'Good', false],
      ['caller-0', 'Good morning', false],
      ['caller-0', 'Good morning.', true],
      ['agent-0', 'Hello', false],
      ['agent-0', 'Hello you', false],
      ['agent-0', 'Hello you', true],
      ['agent-1', 'Anna here.', true],
      ['caller-1', 'Next', false],
    ])
  })

  it('are free without listeners', () => {
    const subtitles = new Subtitles(undefined)
    const speechOutput = {
      active: true,
      sounding: true,
      get heard(): string {
        throw new Error('was asked for')
      },
    }
    for (let i = 0; i < 50; i++) subtitles.tick(speechOutput, true)
    subtitles.note(turn('agent', 'Hello.'))
  })
})
