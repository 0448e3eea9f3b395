/** Converts a project between the API and the editor's form. The form uses the API's field names. */
import type { paths } from '../../../api/client/api.ts'
import type { Schemas } from '../api/types.ts'
import { same } from './same.ts'
import { nextKey, type SchemaDraft, toDraft as schemaDraft, schemaOf } from './schema.ts'

export type Project = Schemas['Project']
export type Patch = NonNullable<
  paths['/v1/public/projects/{project_id}']['patch']['requestBody']
>['content']['application/json']
type Tool = Schemas['Tool']
type Filler = Tool['filler']

/** The fields of every provider; each provider reads its own. */
export interface LlmDraft {
  key: string
  provider: Project['llm']['provider']
  base_url: string
  model: string
  voice: string
  api_key_secret: string
}
export interface SttDraft {
  key: string
  provider: Project['speech_to_text'][number]['provider']
  model: string
  api_key_secret: string
}
export interface TtsDraft {
  key: string
  provider: Project['text_to_speech'][number]['provider']
  model: string
  voice: string
  api_key_secret: string
}
export interface FillerDraft {
  kind: 'default' | 'phrase' | 'stages' | 'silent'
  phrase: string
  stages: { key: string; after_ms: number | ''; text: string }[]
}
export interface ToolDraft {
  key: string
  name: string
  description: string
  method: Tool['method']
  url: string
  parameters: SchemaDraft
  filler: FillerDraft
  headers: { key: string; name: string; value: string }[]
  timeout_ms: number | ''
}
export interface TransferDraft {
  key: string
  name: string
  kind: 'phone' | 'sip' | 'browser'
  to: string
  description: string
  announce: string
}

type Kept = Pick<Project, 'name' | 'language' | 'timezone' | 'prompt' | 'recording' | 'remember'>
export interface Draft extends Kept {
  greeting: string
  disclosure: string
  voice: string
  recording_notice: string
  goal: string
  caller_id: string
  max_call_seconds: number | ''
  ring_timeout_seconds: number | ''
  voicemail: { action: Project['voicemail']['action']; text: string }
  llm: LlmDraft
  llm_fallback: LlmDraft[]
  speech_to_text: SttDraft[]
  text_to_speech: TtsDraft[]
  extraction: SchemaDraft
  tools: ToolDraft[]
  transfers: TransferDraft[]
}
export type Key = keyof Draft & keyof Patch

// ---- from the API ----

const llmDraft = (llm: Project['llm']): LlmDraft => ({
  key: nextKey(),
  provider: llm.provider,
  base_url: 'base_url' in llm ? llm.base_url : '',
  model: 'model' in llm ? llm.model : '',
  voice: ('voice' in llm ? llm.voice : null) ?? '',
  api_key_secret: ('api_key_secret' in llm ? llm.api_key_secret : null) ?? '',
})

function fillerDraft(filler: Filler): FillerDraft {
  const draft: FillerDraft = { kind: 'default', phrase: '', stages: [] }
  if (filler === null) return draft
  if (typeof filler === 'string') return { ...draft, kind: 'phrase', phrase: filler }
  const stages = filler.map(stage => ({ ...stage, key: nextKey() }))
  return { ...draft, kind: stages.length === 0 ? 'silent' : 'stages', stages }
}

export const toolDraft = (tool: Tool): ToolDraft => ({
  ...tool,
  key: nextKey(),
  parameters: schemaDraft(tool.parameters),
  filler: fillerDraft(tool.filler),
  headers: Object.entries(tool.headers).map(([name, value]) => ({ key: nextKey(), name, value })),
})

const transferDraft = (transfer: Schemas['Transfer']): TransferDraft => ({
  ...transfer,
  key: nextKey(),
  kind: transfer.to === 'browser' ? 'browser' : transfer.to.startsWith('+') ? 'phone' : 'sip',
  to: transfer.to === 'browser' ? '' : transfer.to,
  announce: transfer.announce ?? '',
})

const providerDraft = <T extends { api_key_secret: string }>(one: T) => ({
  model: '',
  voice: '',
  ...one,
  key: nextKey(),
})

export function toDraft(project: Project): Draft {
  const { id: _id, created_at: _created, updated_at: _updated, ...rest } = project
  return {
    ...rest,
    greeting: project.greeting ?? '',
    disclosure: project.disclosure ?? '',
    voice: project.voice ?? '',
    recording_notice: project.recording_notice ?? '',
    goal: project.goal ?? '',
    caller_id: project.caller_id ?? '',
    voicemail: { action: project.voicemail.action, text: 'text' in project.voicemail ? project.voicemail.text : '' },
    llm: llmDraft(project.llm),
    llm_fallback: project.llm_fallback.map(llmDraft),
    speech_to_text: project.speech_to_text.map(one => {
      const { voice: _voice, ...draft } = providerDraft(one)
      return { ...draft, model: draft.model ?? '' }
    }),
    text_to_speech: project.text_to_speech.map(one => {
      const draft = providerDraft(one)
      return { ...draft, model: draft.model ?? '' }
    }),
    extraction: schemaDraft(project.extraction),
    tools: project.tools.map(toolDraft),
    transfers: project.transfers.map(transferDraft),
  }
}

// ---- to the API ----

const orNull = (text: string) => (text.trim() === '' ? null : text)

function llmOf({ provider, base_url, model, voice, api_key_secret }: LlmDraft): Project['llm'] {
  switch (provider) {
    case 'scripted':
      return { provider }
    case 'openai_compatible':
      return { provider, base_url, model, api_key_secret: orNull(api_key_secret) }
    case 'openai_realtime':
      return { provider, model, voice: orNull(voice), api_key_secret }
    default:
      return { provider, model, api_key_secret }
  }
}

function sttOf({ provider, model, api_key_secret }: SttDraft): Project['speech_to_text'][number] {
  return provider === 'deepgram' ? { provider, model: orNull(model), api_key_secret } : { provider, api_key_secret }
}

function ttsOf({ provider, model, voice, api_key_secret }: TtsDraft): Project['text_to_speech'][number] {
  return provider === 'yandex_speechkit'
    ? { provider, voice, api_key_secret }
    : { provider, voice, model: orNull(model), api_key_secret }
}

function fillerOf({ kind, phrase, stages }: FillerDraft): Filler {
  switch (kind) {
    case 'default':
      return null
    case 'phrase':
      return phrase
    case 'silent':
      return []
    case 'stages':
      return stages.map(({ after_ms, text }) => ({ after_ms: Number(after_ms), text }))
  }
}

export const toolOf = ({ key: _key, ...tool }: ToolDraft): Tool => ({
  ...tool,
  parameters: schemaOf(tool.parameters) as Tool['parameters'],
  filler: fillerOf(tool.filler),
  headers: Object.fromEntries(tool.headers.map(({ name, value }) => [name.trim(), value])),
  timeout_ms: Number(tool.timeout_ms),
})

const transferOf = ({ name, kind, to, description, announce }: TransferDraft): Schemas['Transfer'] => ({
  name,
  to: kind === 'browser' ? 'browser' : to.trim(),
  description,
  announce: kind === 'browser' ? null : orNull(announce),
})

type Whole = Required<Pick<Patch, Key>>

export function fromDraft(draft: Draft): Whole {
  const { action, text } = draft.voicemail
  return {
    ...draft,
    name: draft.name.trim(),
    greeting: orNull(draft.greeting),
    disclosure: orNull(draft.disclosure),
    voice: orNull(draft.voice),
    recording_notice: orNull(draft.recording_notice),
    goal: orNull(draft.goal),
    caller_id: orNull(draft.caller_id),
    max_call_seconds: Number(draft.max_call_seconds),
    ring_timeout_seconds: Number(draft.ring_timeout_seconds),
    voicemail: action === 'leave_message' ? { action, text } : { action },
    llm: llmOf(draft.llm),
    llm_fallback: draft.llm_fallback.map(llmOf) as Whole['llm_fallback'],
    speech_to_text: draft.speech_to_text.map(sttOf),
    text_to_speech: draft.text_to_speech.map(ttsOf),
    extraction: schemaOf(draft.extraction) as Whole['extraction'],
    tools: draft.tools.map(toolOf),
    transfers: draft.transfers.map(transferOf),
  }
}

const keysOf = (whole: Whole) => Object.keys(whole) as Key[]

/** Returns the keys that differ. Both sides must come from a draft, so that normalization alone makes no difference. */
const differing = (left: Whole, right: Whole) => keysOf(left).filter(key => !same(left[key], right[key]))

/** Returns only the fields changed since `base`, because other users may be editing the rest. */
export function changesOf(draft: Draft, base: Project): Patch {
  const [ours, before] = [fromDraft(draft), fromDraft(toDraft(base))]
  return Object.fromEntries(differing(ours, before).map(key => [key, ours[key]]))
}

/** Applies the draft on top of a newer version of the project. Fields not changed here take the newer values. */
export function rebase(draft: Draft, base: Project, fresh: Project): { draft: Draft; conflicts: Key[] } {
  const freshDraft = toDraft(fresh)
  const [ours, before, theirs] = [draft, toDraft(base), freshDraft].map(fromDraft) as [Whole, Whole, Whole]
  const changedThere = differing(theirs, before)
  const changedHere = new Set(differing(ours, before))
  const taken = changedThere.filter(key => !changedHere.has(key))
  const conflicts = changedThere.filter(key => changedHere.has(key) && !same(ours[key], theirs[key]))
  return { draft: { ...draft, ...Object.fromEntries(taken.map(key => [key, freshDraft[key]])) }, conflicts }
}
