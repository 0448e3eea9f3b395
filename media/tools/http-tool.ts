/**
 * A customer's HTTP tool, used by the engine and by control's trial run: builds the request and turns the response into
 * text for the model.
 */
import { z } from 'zod'
import type { ToolCall } from '../contract/messages.ts'
import type { ToolPlan } from '../contract/plan.ts'
import { type Fetch, FetchError, type FetchErrorCode, type FetchRequest, type FetchResponse } from '../shared/fetch.ts'

export const MAX_RESULT_CHARS = 4096
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_REDIRECTS = 3

export type ToolOutcome = Pick<ToolCall, 'status' | 'http_status' | 'result' | 'knowledge'>

type Arguments = Record<string, unknown>

const DOT_SEGMENT = /^[^?#]*\/\.\.?(?:[/?#]|$)/

/** Runs the tool; never throws. An error becomes text, so that the agent can say it. */
export async function runTool(
  tool: ToolPlan,
  args: Arguments,
  headers: Record<string, string>,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  try {
    const request = buildRequest(tool, args, headers, signal)
    if ('problem' in request) return { status: 'bad_arguments', http_status: null, result: request.problem }
    return readAnswer(await fetch(request))
  } catch (error) {
    return readFailure(error)
  }
}

/** `{param}` is filled into the URL, percent-encoded; other arguments go to the query (GET) or the JSON body (POST). */
export function buildRequest(
  tool: ToolPlan,
  args: Arguments,
  headers: Record<string, string>,
  signal: AbortSignal,
): FetchRequest | { problem: string } {
  const problem = argumentProblem(tool.parameters, args)
  if (problem) return { problem }
  const used = new Set<string>()
  const filled = tool.url.replace(/\{(\w+)\}/g, (_, name: string) => {
    used.add(name)
    return encodeURIComponent(toText(args[name]).toWellFormed())
  })
  const url = parseUrl(filled)
  // A parameter may fill the path or the query, but must not change the host or leave its place by "..".
  if (!url || DOT_SEGMENT.test(filled) || url.origin !== parseUrl(tool.url.replace(/\{(\w+)\}/g, 'x'))?.origin) {
    return { problem: 'The address of the tool is not valid.' }
  }
  const rest = Object.entries(args).filter(([name, value]) => !used.has(name) && value !== undefined && value !== null)
  const isGet = tool.method === 'GET'
  if (isGet) for (const [name, value] of rest) url.searchParams.set(name, toText(value))
  return {
    url: url.href,
    method: tool.method,
    headers: { accept: 'application/json', ...(isGet ? {} : { 'content-type': 'application/json' }), ...headers },
    body: isGet ? null : JSON.stringify(Object.fromEntries(rest)),
    timeoutMs: tool.timeout_ms,
    maxBytes: MAX_ANSWER_BYTES,
    maxRedirects: MAX_REDIRECTS,
    signal,
  }
}

/** Limit for schema parts times argument parts: at most some 40 ms on the event loop that paces audio. */
const MOST_STEPS = 20_000

const partsOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + partsOf(inner), 1)
    : 1

/** Validates arguments by the tool's JSON Schema; returns the problems as text for the model, or null. */
export function argumentProblem(schema: Record<string, unknown>, args: Arguments): string | null {
  if (partsOf(schema) * partsOf(args) > MOST_STEPS) return null // left to the tool's server
  const result = validator(schema).safeParse(args)
  if (result.success) return null
  return result.error.issues
    .slice(0, 5)
    .map(issue => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')
}

const validators = new WeakMap<object, z.ZodType>()
function validator(schema: Record<string, unknown>): z.ZodType {
  let known = validators.get(schema)
  if (!known) {
    try {
      known = z.fromJSONSchema(supported(schema) as Parameters<typeof z.fromJSONSchema>[0])
    } catch {
      known = z.record(z.string(), z.unknown()) // keywords that zod does not support are left to the tool's server
    }
    validators.set(schema, known)
  }
  return known
}

/**
 * `format` is an annotation (JSON Schema 2020-12 §7.2.1): the tool's server decides whether "19:30" is a time. A
 * customer's `pattern` may take minutes to match, and so may references that name one another twice; the server checks
 * these as well.
 */
const NOT_VALIDATED: Record<string, string> = {
  format: 'string',
  pattern: 'string',
  patternProperties: 'object',
  $ref: 'string',
  $dynamicRef: 'string',
}
function supported(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(supported)
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).filter(([key, value]) => typeof value !== NOT_VALIDATED[key])
  return Object.fromEntries(entries.map(([key, value]) => [key, supported(value)]))
}

function readAnswer(response: FetchResponse): ToolOutcome {
  const { status } = response
  const type = response.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  const text = response.body.toString('utf8').trim()
  const isData = type === '' || type === 'text/plain' || type === 'text/csv' || /json$|xml$/.test(type)
  if (status < 200 || status >= 300) {
    const detail = isData && text ? ` and said: ${cut(text)}` : ''
    return { status: 'http_error', http_status: status, result: `The tool failed with HTTP status ${status}${detail}` }
  }
  if (type === 'text/html' || /^<!doctype html|^<html/i.test(text) || !isData) {
    return {
      status: 'http_error',
      http_status: status,
      result: `The tool answered with ${type || 'a web page'} instead of data; there is nothing to tell the caller.`,
    }
  }
  return { status: 'ok', http_status: status, result: cut(compact(text)) || 'Done. The tool gave no further data.' }
}

const FAILURES: Record<FetchErrorCode, { status: ToolOutcome['status']; result: string }> = {
  blocked_address: { status: 'blocked', result: 'The tool could not be reached: its address is not allowed.' },
  bad_url: { status: 'blocked', result: 'The tool could not be reached: its address is not valid.' },
  timeout: { status: 'timeout', result: 'The tool did not answer in time.' },
  too_large: { status: 'too_large', result: 'The tool answered with too much data.' },
  too_many_redirects: { status: 'blocked', result: 'The tool could not be reached: it redirects too often.' },
  network: { status: 'network_error', result: 'The tool could not be reached.' },
  aborted: { status: 'aborted', result: 'The tool call was given up.' },
}

function readFailure(error: unknown): ToolOutcome {
  const failure = error instanceof FetchError ? FAILURES[error.code] : FAILURES.network
  return { ...failure, http_status: null }
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}

const cut = (text: string) => (text.length > MAX_RESULT_CHARS ? `${text.slice(0, MAX_RESULT_CHARS)}…` : text)
const toText = (value: unknown) =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
const parseUrl = (text: string) => (URL.canParse(text) ? new URL(text) : null)
