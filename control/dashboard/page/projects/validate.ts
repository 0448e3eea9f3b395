/** Validates a draft before it is sent and reports faults by form path. The server validates it again. */
import { isOwnTool } from '../../../../media/contract/own-tools.ts'
import type { Draft, FillerDraft, LlmDraft, ToolDraft, TransferDraft } from './draft.ts'
import { problemsOf, type SchemaDraft, type SchemaProblem } from './schema.ts'

export type Fault = SchemaProblem | 'toolName' | 'ownTool' | 'toolUrl' | 'url' | 'header' | 'phone' | 'sip' | 'secret'
type Found = [path: string, fault: Fault][]

const blank = (text: string) => text.trim() === ''
const missing = (path: string, value: string | number): Found =>
  typeof value === 'string' && blank(value) ? [[path, 'required']] : []

const isHttp = (text: string) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** `{param}` is allowed only after the host. */
function isToolUrl(text: string): boolean {
  const origin = /^[^/]*\/\/[^/?#]*/.exec(text)?.[0] ?? ''
  return isHttp(text) && !/[{}]/.test(origin) && new URL(text).username === '' && new URL(text).password === ''
}

const within = (path: string, found: Found): Found => found.map(([inner, fault]) => [`${path}.${inner}`, fault])

function llmFaults(path: string, llm: LlmDraft): Found {
  if (llm.provider === 'scripted') return []
  const open = llm.provider === 'openai_compatible'
  return [
    ...(open && !isHttp(llm.base_url) ? ([[`${path}.base_url`, 'url']] as Found) : []),
    ...missing(`${path}.model`, llm.model),
    ...(!open && blank(llm.api_key_secret) ? ([[`${path}.api_key_secret`, 'secret']] as Found) : []),
  ]
}

function providerFaults(path: string, one: { api_key_secret: string; voice?: string }): Found {
  return [
    ...(one.voice === undefined ? [] : missing(`${path}.voice`, one.voice)),
    ...(blank(one.api_key_secret) ? ([[`${path}.api_key_secret`, 'secret']] as Found) : []),
  ]
}

const schemaFaults = (path: string, schema: SchemaDraft): Found => within(path, problemsOf(schema))

function fillerFaults(path: string, { kind, phrase, stages }: FillerDraft): Found {
  if (kind === 'phrase') return missing(`${path}.phrase`, phrase)
  if (kind !== 'stages') return []
  return stages.flatMap((stage, index) => [
    ...missing(`${path}.stages.${index}.after_ms`, stage.after_ms),
    ...missing(`${path}.stages.${index}.text`, stage.text),
  ])
}

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

function toolNameFault(name: string, index: number, all: readonly ToolDraft[]): Fault | null {
  if (!TOOL_NAME.test(name)) return blank(name) ? 'required' : 'toolName'
  if (isOwnTool(name)) return 'ownTool'
  return all.findIndex(one => one.name === name) === index ? null : 'twice'
}

function toolFaults(tool: ToolDraft, index: number, all: readonly ToolDraft[]): Found {
  const name = toolNameFault(tool.name, index, all)
  const headers = tool.headers.flatMap((header, at): Found => {
    const twice = tool.headers.findIndex(one => one.name.trim() === header.name.trim()) !== at
    const fault = HEADER_NAME.test(header.name.trim()) ? twice && 'twice' : 'header'
    return fault ? [[`headers.${at}.name`, fault]] : []
  })
  return within(`tools.${index}`, [
    ...(name === null ? [] : ([['name', name]] as Found)),
    ...(isToolUrl(tool.url) ? [] : ([['url', 'toolUrl']] as Found)),
    ...schemaFaults('parameters', tool.parameters),
    ...fillerFaults('filler', tool.filler),
    ...headers,
    ...missing('timeout_ms', tool.timeout_ms),
  ])
}

function transferFaults(transfer: TransferDraft, index: number, all: readonly TransferDraft[]): Found {
  const { name, kind } = transfer
  const to = transfer.to.trim()
  const twice = all.findIndex(one => one.name === name) !== index
  return within(`transfers.${index}`, [
    ...(blank(name) ? ([['name', 'required']] as Found) : twice ? ([['name', 'twice']] as Found) : []),
    ...(kind === 'phone' && !/^\+[1-9]\d{6,14}$/.test(to) ? ([['to', 'phone']] as Found) : []),
    ...(kind === 'sip' && !/^sips?:[^\s@]+@[^\s@]+$/.test(to) ? ([['to', 'sip']] as Found) : []),
  ])
}

export function faultsOf(draft: Draft): Found {
  const { voicemail } = draft
  return [
    ...missing('name', draft.name),
    ...missing('max_call_seconds', draft.max_call_seconds),
    ...missing('ring_timeout_seconds', draft.ring_timeout_seconds),
    ...(voicemail.action === 'leave_message' ? missing('voicemail.text', voicemail.text) : []),
    ...llmFaults('llm', draft.llm),
    ...draft.llm_fallback.flatMap((llm, index) => llmFaults(`llm_fallback.${index}`, llm)),
    ...draft.speech_to_text.flatMap((one, index) => providerFaults(`speech_to_text.${index}`, one)),
    ...draft.text_to_speech.flatMap((one, index) => providerFaults(`text_to_speech.${index}`, one)),
    ...schemaFaults('extraction', draft.extraction),
    ...draft.tools.flatMap(toolFaults),
    ...draft.transfers.flatMap(transferFaults),
  ]
}
