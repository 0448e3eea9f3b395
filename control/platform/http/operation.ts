/** The types of an operation: its declaration by a module, and its form that REST and MCP run. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Db } from '../db/connect.ts'
import type { Caller, RequiredCredential } from './caller.ts'
import type { ProblemCode } from './problem.ts'

export const PREFIX = '/v1/public'

export interface Context<P, Q, B> {
  ownerId: string
  caller: Caller
  params: P
  query: Q
  body: B
  /** Arguments that only the MCP tool takes; empty over REST. */
  extras: Record<string, unknown>
  /** Trace context of the request, for work that follows from it; null when it is not traced. */
  traceparent: string | null
  /** Saves the response for Idempotency-Key. Call it in the transaction that creates the resource. */
  save(db: Db, answer: unknown): Promise<void>
}

export interface BaseSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** `operationId` and name of the MCP tool: verb and noun in snake_case. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path below `/v1/public`. */
  path: string
  scope: RequiredCredential
  tag: string
  summary: string
  /** Longer text, by which language models choose a tool. */
  description?: string
  params?: P
  query?: Q
  body?: B
  /** The body may be omitted; the handler then gets null or undefined. */
  bodyOptional?: true
  /** Media types of a body that is not JSON. `receive` then reads it, and there is no MCP tool. */
  consumes?: string[]
  /** Maximum size of the body in bytes; `body_limit` of the configuration by default. */
  bodyLimit?: number
  /** Name of the MCP argument for a body that is not an object. */
  argument?: string
  status?: 200 | 201
  answer: R
  /** Error codes beyond those that every operation can return. */
  errors?: ProblemCode[]
  /** Field of the response that is shown only once; a replay omits it. */
  secret?: string
  /** Further arguments of the MCP tool, and its response to them. */
  extras?: z.ZodObject
  extraAnswer?: z.ZodType
  /** Reason why the operation is not an MCP tool. */
  notATool?: string
}

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>
  extends BaseSpec<P, Q, B, R> {
  handle(context: Context<z.output<P>, z.output<Q>, z.output<B>>): Promise<z.input<R>>
  /** Reads the body after the rest of the request has been validated. `discard` is called in every case. */
  receive?(request: FastifyRequest, context: { ownerId: string; params: z.output<P> }): Promise<Received<z.output<B>>>
  /** The response as text/plain, when the query or the Accept header asks for it. REST only. */
  text?: { of(answer: z.input<R>): string; wanted(query: z.output<Q>): boolean }
}

export interface Received<B> {
  /** Idempotency-Key compares two requests by the JSON of this value. */
  body: B
  discard(): Promise<void>
}

/** An operation whose response is not JSON: the handler takes over the response. */
export interface StreamSpec<P extends z.ZodType, Q extends z.ZodType> extends BaseSpec<P, Q, z.ZodType, z.ZodType> {
  method: 'GET'
  contentType: string
  notATool: string
  /** Supports `Range`, with status 206. */
  ranges?: true
  stream(
    context: Context<z.output<P>, z.output<Q>, unknown>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<unknown>
}

export interface Input {
  params: unknown
  query: unknown
  body: unknown
}

export interface OperationResult {
  status: number
  body: unknown
  /** True for the response to an earlier request with the same Idempotency-Key. */
  replayed: boolean
}

export interface RunOptions {
  idempotencyKey: string | null
  requestId: string
  /** Channel and address of the request, for the audit log. */
  channel: 'rest' | 'mcp'
  address: string
  extras?: unknown
  traceparent?: string | null
}

/** The form that REST and MCP run. The schemas have parsed the input before. */
export interface Operation extends Omit<BaseSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'path'> {
  /** The full path, with `:name` for each parameter. */
  url: string
  run(caller: Caller, input: Input, options: RunOptions): Promise<OperationResult>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** All operations that `route` has declared. */
    operations: Operation[]
  }
}
