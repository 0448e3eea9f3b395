/** Conversion between project and editor: nothing is lost, and only changes are sent. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProjectPatch } from '../../../control/agents/projects/schema.ts'
import { oddOf, piecesOf, varsOf } from '../../../control/dashboard/page/conversation/vars.ts'
import {
  changesOf,
  type Draft,
  fromDraft,
  type Project,
  rebase,
  toDraft,
} from '../../../control/dashboard/page/projects/draft.ts'
import { same } from '../../../control/dashboard/page/projects/same.ts'
import {
  asForm,
  emptyRow,
  problemsOf,
  schemaOf,
  toDraft as toSchemaDraft,
} from '../../../control/dashboard/page/projects/schema.ts'
import { faultsOf } from '../../../control/dashboard/page/projects/validate.ts'
import { fillVars } from '../../../control/telephony/call-setup/plan.ts'

const control = join(import.meta.dirname, '../../../control')
const readJson = (path: string) => JSON.parse(readFileSync(join(control, path), 'utf8'))
const document = readJson('openapi.json')
const words = {
  en: readJson('dashboard/page/projects/words.en.json'),
  ru: readJson('dashboard/page/projects/words.ru.json'),
}

const full: Project = {
  id: '018f0000-0000-7000-8000-000000000000',
  name: 'Shop',
  language: 'ru',
  prompt: 'You are {{name}}.',
  greeting: 'Hi',
  disclosure: null,
  voice: null,
  llm: { provider: 'openai_compatible', base_url: 'https://llm.test/v1', model: 'm', api_key_secret: null },
  llm_fallback: [{ provider: 'anthropic', model: 'c', api_key_secret: 'ANTHROPIC' }],
  speech_to_text: [
    { provider: 'deepgram', model: null, api_key_secret: 'D' },
    { provider: 'yandex_speechkit', api_key_secret: 'Y' },
  ],
  text_to_speech: [
    { provider: 'cartesia', voice: 'v', model: 'sonic', api_key_secret: 'C' },
    { provider: 'yandex_speechkit', voice: 'alena', api_key_secret: 'Y' },
  ],
  goal: 'An appointment',
  extraction: {
    type: 'object',
    properties: {
      size: { type: 'string', enum: ['s', 'm'], description: 'Of the shirt' },
      count: { type: 'integer', minimum: 1 },
    },
    required: ['size'],
    additionalProperties: false,
  },
  tools: [
    {
      name: 'find_order',
      description: 'Finds it',
      method: 'GET',
      url: 'https://shop.test/orders/{id}',
      parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      filler: [{ after_ms: 300, text: 'One moment.' }],
      headers: { Authorization: 'Bearer {{secret:SHOP}}' },
      timeout_ms: 5000,
    },
    {
      name: 'odd',
      description: '',
      method: 'POST',
      url: 'https://shop.test/odd',
      parameters: { type: 'object', properties: { who: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
      filler: [],
      headers: {},
      timeout_ms: 10_000,
    },
  ],
  transfers: [
    { name: 'Sales', to: '+14155550100', description: 'To buy', announce: 'A call about {{about}}' },
    { name: 'Desk', to: 'browser', description: '', announce: null },
    { name: 'PBX', to: 'sip:team@pbx.test', description: '', announce: null },
  ],
  max_call_seconds: 120,
  ring_timeout_seconds: 20,
  voicemail: { action: 'leave_message', text: 'Call us' },
  recording: true,
  recording_notice: null,
  remember: false,
  timezone: 'Europe/Moscow',
  caller_id: null,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
}

const edited = (change: (draft: Draft) => void): Draft => {
  const draft = toDraft(full)
  change(draft)
  return draft
}

describe('a project in the form', () => {
  it('comes back as it was, in what the API takes', () => {
    const { id, created_at, updated_at, ...settings } = full
    expect(fromDraft(toDraft(full))).toEqual(settings)
    expect(ProjectPatch.parse(fromDraft(toDraft(full)))).toEqual(settings)
    expect(changesOf(toDraft(full), full)).toEqual({})
    expect(faultsOf(toDraft(full))).toEqual([])
  })

  it('sends what was changed and nothing else', () => {
    const draft = edited(one => {
      one.greeting = '  '
      one.llm.provider = 'google'
      one.llm.api_key_secret = 'GOOGLE'
    })
    expect(changesOf(draft, full)).toEqual({
      greeting: null,
      llm: { provider: 'google', model: 'm', api_key_secret: 'GOOGLE' },
    })
  })

  it('takes over what others changed where it was not touched, and names what both did', () => {
    const fresh: Project = { ...full, name: 'Store', greeting: 'Hello', goal: 'A sale', voice: 'x' }
    const draft = edited(one => {
      one.greeting = 'Good day'
      one.goal = 'A sale'
    })
    const merged = rebase(draft, full, fresh)
    expect(merged.conflicts).toEqual(['greeting'])
    expect(merged.draft).toMatchObject({ name: 'Store', greeting: 'Good day', goal: 'A sale', voice: 'x' })
    expect(changesOf(merged.draft, fresh)).toEqual({ greeting: 'Good day' })
  })

  it('says where something is wrong before the server does', () => {
    const draft = edited(one => {
      one.name = ' '
      one.max_call_seconds = ''
      one.voicemail.text = ''
      one.llm = { ...one.llm, base_url: 'ftp://x', model: '' }
      one.llm_fallback[0]!.api_key_secret = ''
      one.text_to_speech[0]!.voice = ''
      one.tools[0]!.url = 'https://{host}/x'
      one.tools[0]!.name = 'end_call'
      one.tools[0]!.headers[0]!.name = 'two words'
      one.tools[0]!.filler.stages[0]!.text = ''
      one.tools[1]!.name = 'no good'
      one.tools[1]!.parameters.text = '{"type": "string"}'
      one.transfers[0]!.to = '12'
      one.transfers[2]!.name = 'Sales'
      one.extraction.rows[0]!.options = []
    })
    expect(Object.fromEntries(faultsOf(draft))).toEqual({
      name: 'required',
      max_call_seconds: 'required',
      'voicemail.text': 'required',
      'llm.base_url': 'url',
      'llm.model': 'required',
      'llm_fallback.0.api_key_secret': 'secret',
      'text_to_speech.0.voice': 'required',
      'extraction.rows.0.options': 'options',
      'tools.0.name': 'ownTool',
      'tools.0.url': 'toolUrl',
      'tools.0.filler.stages.0.text': 'required',
      'tools.0.headers.0.name': 'header',
      'tools.1.name': 'toolName',
      'tools.1.parameters.text': 'objectSchema',
      'transfers.0.to': 'phone',
      'transfers.2.name': 'twice',
    })
  })
})

describe('a schema in the form', () => {
  it('is edited as JSON where the form has no words for it', () => {
    const modes = [
      { type: 'object' },
      { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } }, required: [] },
      { type: 'object', properties: { a: { type: 'string', format: 'date' } }, title: 'T' },
      { type: 'object', properties: { a: { type: 'object', properties: {} } } },
      { type: 'object', properties: { a: { type: ['string', 'null'] } } },
      { type: 'object', properties: { a: { type: 'string', enum: [1] } } },
      { type: 'object', properties: { a: { $ref: '#/x' } } },
      { type: 'object', properties: {}, required: ['b'] },
    ].map(schema => toSchemaDraft(schema).mode)
    expect(modes).toEqual(['form', 'form', 'form', 'json', 'json', 'json', 'json', 'json'])
  })

  it('comes back whole, whatever it is', () => {
    const simple = fc.constantFrom(
      { type: 'string' },
      { type: 'number', minimum: 2 },
      { type: 'string', enum: ['a', 'b'], description: 'x' },
      { type: 'array', items: { type: 'string', enum: ['c'] } },
    )
    const property = fc.oneof(simple, fc.jsonValue())
    const schema = fc.record(
      {
        type: fc.constant('object'),
        properties: fc.dictionary(fc.string(), property),
        required: fc.uniqueArray(fc.string()),
        additionalProperties: fc.boolean(),
        title: fc.jsonValue(),
      },
      { requiredKeys: ['type', 'properties'] },
    )
    fc.assert(
      fc.property(schema, given => {
        // The API returns JSON, and the form only trims names.
        const sent = JSON.parse(JSON.stringify(given))
        const back = schemaOf(toSchemaDraft(sent))
        const { required, ...rest } = sent
        return same(back, sent) || (required?.length === 0 && same(back, rest))
      }),
      { numRuns: 500 },
    )
  })

  it('goes from JSON to the form and back, and tells what is wrong', () => {
    const draft = asForm({ type: 'object', properties: { a: { type: 'boolean' } } })!
    expect(schemaOf(draft)).toEqual({ type: 'object', properties: { a: { type: 'boolean' } } })
    const rows = [
      ...draft.rows,
      emptyRow(),
      { ...emptyRow(), name: 'a' },
      { ...emptyRow(), name: 'c', type: 'choice' as const },
    ]
    expect(problemsOf({ ...draft, rows })).toEqual([
      ['rows.1.name', 'required'],
      ['rows.2.name', 'twice'],
      ['rows.3.options', 'options'],
    ])
    expect(problemsOf({ ...draft, mode: 'json', text: '{' })).toEqual([['text', 'json']])
  })
})

describe('placeholders', () => {
  it('are told apart as control fills them, and no letter is lost', () => {
    const text = 'Hi {{ name }}, {{имя}} {{secret:X}} {{name}} {{}} {{a b}} {one}'
    expect(varsOf(text)).toEqual(['name'])
    expect(oddOf(text)).toEqual(['{{имя}}', '{{secret:X}}', '{{}}', '{{a b}}'])
    fc.assert(
      fc.property(fc.array(fc.constantFrom('{', '}', '{{', '}}', 'a', '_1', ' ', 'ж', '{{b}}')), parts => {
        const given = parts.join('')
        const pieces = piecesOf(given)
        const filled = pieces.map(({ kind, text: said }) => (kind === 'var' ? '!' : said)).join('')
        const vars = Object.fromEntries(varsOf(given).map(name => [name, '!']))
        return pieces.map(({ text: said }) => said).join('') === given && filled === fillVars(given, vars)
      }),
      { numRuns: 500 },
    )
  })
})

describe('closed lists', () => {
  const schemas = document.components.schemas
  const trial = schemas.ToolTrial.properties
  const source = schemas.KnowledgeSource.properties
  const project = schemas.Project.properties
  type Closed = { enum?: string[]; const?: string }
  const closed = (one?: Closed) => one?.enum ?? (one?.const === undefined ? [] : [one.const])
  const named = (key: string, ...unions: { oneOf: { properties: Record<string, Closed> }[] }[]): string[] => [
    ...new Set(unions.flatMap(({ oneOf }) => oneOf).flatMap(({ properties }) => closed(properties[key]))),
  ]
  const { llm, llm_fallback, speech_to_text, text_to_speech } = project
  const values: Record<string, string[]> = {
    'trial.statuses': trial.status.enum,
    'knowledge.kinds': source.kind.enum,
    'knowledge.status': source.status.enum,
    'knowledge.reasons': source.skipped.items.properties.reason.enum,
    'numbers.directions': schemas.Number.properties.bindings.items.properties.direction.enum,
    voicemail: named('action', project.voicemail),
    kinds: [
      ...named('provider', llm, llm_fallback.items),
      ...named('provider', speech_to_text.items, text_to_speech.items),
    ],
  }

  it.each(['en', 'ru'] as const)('have a word for each value in %s', language => {
    for (const [path, expected] of Object.entries(values)) {
      expect(expected.length, path).toBeGreaterThan(1)
      // biome-ignore lint/suspicious/noExplicitAny: words are nested as deep as they like
      const found = path.split('.').reduce((inner: any, key) => inner[key], words[language])
      expect(Object.keys(found), path).toEqual(expect.arrayContaining(expected))
    }
  })
})
