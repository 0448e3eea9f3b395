/** Presentation of events in the talk panel and in a live call, with texts for all of them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { CallEvent } from '../../../control/dashboard/page/conversation/events.ts'
import { varsOfProject } from '../../../control/dashboard/page/conversation/project-vars.ts'
import {
  type Line,
  type Turn,
  withLatency,
  withSaid,
  withToolFinished,
  withToolStarted,
} from '../../../control/dashboard/page/conversation/story.ts'
import { retell, type Story, told, untold } from '../../../control/dashboard/page/live/story.ts'

const page = join(import.meta.dirname, '../../../control/dashboard/page')
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
const schemas = read(join(page, '../../openapi.json')).components.schemas

const caption = (text: string, final = false, role: 'caller' | 'agent' = 'agent') => ({
  id: `${role} 1`,
  role,
  text,
  final,
})
const turn = (role: Turn['role'], heard_text: string, more: Partial<Turn> = {}): Turn => ({
  role,
  text: heard_text,
  heard_text,
  started_ms: 0,
  ended_ms: 1,
  interrupted: false,
  ...more,
})
const latency = {
  total_ms: 900,
  endpointing_ms: 500,
  stt_ms: 100,
  llm_first_token_ms: 200,
  tts_first_byte_ms: 100,
  filler: false,
}
const tool = (name: string, started_ms: number) => ({
  name,
  started_ms,
  arguments: {},
  ms: 5,
  status: 'ok' as const,
  http_status: 200,
  result: 'x',
  filler: [],
})
const spoken = (lines: readonly Line[]) =>
  lines.map(line => (line.kind === 'spoken' ? `${line.role}: ${line.text}${line.final ? '' : ' …'}` : line.name))

describe('captions', () => {
  it('replace each other until one is final; a late one takes nothing back', () => {
    let lines = withSaid([], caption('Good'))
    lines = withSaid(lines, caption('Good evening'))
    expect(spoken(lines)).toEqual(['agent: Good evening …'])
    lines = withSaid(lines, caption('Good evening.', true))
    expect(spoken(withSaid(lines, caption('Good')))).toEqual(['agent: Good evening.'])
  })

  it('that turn out to be no words disappear, and empty ones never show', () => {
    const lines = withSaid([], caption('uh', false, 'caller'))
    expect(withSaid(lines, caption(' ', true, 'caller'))).toEqual([])
    expect(withSaid([], caption('', false))).toEqual([])
  })

  it('are given the latency of their own turn', () => {
    const lines = withSaid(withSaid([], { ...caption('First.', true), id: 'a' }), {
      ...caption('Second', false),
      id: 'b',
    })
    const after = withLatency(lines, turn('agent', 'Second one.'), latency)
    expect(after.map(line => line.kind === 'spoken' && line.latency?.total_ms)).toEqual([undefined, 900])
    expect(withLatency(lines, turn('agent', 'Another.'), latency)).toEqual(lines)
    expect(withLatency(lines, turn('caller', 'Second one.'), latency)).toEqual(lines)
  })
})

describe('tools', () => {
  it('stand once each, also when the events are read twice', () => {
    const read = (before: readonly Line[]) => {
      const started = withToolStarted(withToolStarted(before, 'weather', 1), 'weather', 2)
      return withToolFinished(withToolFinished(started, tool('weather', 10)), tool('weather', 20))
    }
    const once = read([])
    expect(once.map(line => line.kind === 'tool' && line.done?.started_ms)).toEqual([10, 20])
    expect(read(once)).toEqual(once)
  })
})

describe('a live call', () => {
  const follow = (events: CallEvent[], from: Story = untold) => events.reduce(retell, from)
  const monitor_id = 'm'

  it('is told by its turns, as they were heard', () => {
    const { lines, status } = follow([
      { type: 'call.dialing' },
      { type: 'call.ringing' },
      { type: 'call.started' },
      {
        type: 'turn.finished',
        turn: turn('agent', 'Hello', { text: 'Hello there.', interrupted: true }),
        latency: null,
      },
      { type: 'turn.finished', turn: turn('caller', 'Hi.'), latency: null },
      { type: 'turn.finished', turn: turn('tool', 'raw'), latency: null },
      { type: 'turn.finished', turn: turn('agent', ''), latency: null },
      { type: 'monitor.whispered', monitor_id, text: 'Offer tea.' },
      { type: 'turn.finished', turn: turn('operator', 'I am here.'), latency: null },
    ])
    expect(status).toBe('in_progress')
    expect(spoken(lines)).toEqual(['agent: Hello', 'caller: Hi.', 'whisper: Offer tea.', 'operator: I am here.'])
    expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length)
  })

  it('knows who follows it, and who is waited for', () => {
    const joined = follow([
      { type: 'monitor.joined', monitor_id, mode: 'listen' },
      { type: 'transfer.waiting', name: 'manager' },
      { type: 'monitor.changed', monitor_id, mode: 'takeover' },
    ])
    expect(joined).toMatchObject({ modes: { m: 'takeover' }, wanted: 'manager' })
    expect(follow([{ type: 'transfer.settled', name: 'manager', accepted: true }], joined).wanted).toBe(null)
    expect(follow([{ type: 'monitor.left', monitor_id }], joined).modes).toEqual({})
    expect(follow([{ type: 'call.closing' }], joined)).toMatchObject({ wanted: null, isClosing: true })
  })

  it('listens to events that the API has', () => {
    expect(schemas.CallEvent.properties.event.enum).toEqual(expect.arrayContaining(told))
  })
})

describe('placeholders', () => {
  it('are found in all that is said, each once', () => {
    const project = {
      prompt: 'You call {{name}} of {{ company }}.',
      greeting: 'Hello {{name}}',
      disclosure: null,
      goal: '{{deal}}',
      recording_notice: null,
      voicemail: { action: 'leave_message', text: 'Call {{number}}, {{company}}' },
    } as Parameters<typeof varsOfProject>[0]
    expect(varsOfProject(project, 'About {{topic}}')).toEqual(['name', 'company', 'topic', 'deal', 'number'])
  })
})

describe('words', () => {
  const plural = /_(?:one|few|many|other)$/
  const keysOf = (words: object, path = ''): string[] =>
    Object.entries(words).flatMap(([key, value]) =>
      typeof value === 'string' ? [(path + key).replace(plural, '')] : keysOf(value, `${path}${key}.`),
    )
  it.each(['talk', 'live'])('of %s are the same in both languages', room => {
    const [en, ru] = ['en', 'ru'].map(language => new Set(keysOf(read(join(page, room, `words.${language}.json`)))))
    expect(ru).toEqual(en)
  })

  it.each(['en', 'ru'])('name every status of a tool and every mode of an operator in %s', language => {
    const { toolStatus } = read(join(page, `talk/words.${language}.json`))
    const known = schemas.CallDetail.properties.tool_calls.items.properties.status.enum
    expect(Object.keys(toolStatus).sort()).toEqual([...known].sort())
    const { modes } = read(join(page, `live/words.${language}.json`))
    expect(Object.keys(modes).sort()).toEqual([...schemas.MonitorSession.properties.mode.enum].sort())
  })
})
