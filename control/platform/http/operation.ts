/** What an operation is: what its module declares of it, and what REST and MCP carry out. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Db } from '../db/connect.ts'
import type { Caller, Reach } from './caller.ts'
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
  /** Of the request, for what follows from it. */
  traceparent: string | null
  /** Called inside the transaction that makes the resource, with what will be answered. */
  save(db: Db, answer: unknown): Promise<void>
}

export interface BaseSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType> {
  /** `operationId`, and the name of the MCP tool: verb and noun in snake_case. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/v1/public`. */
  path: string
  scope: Reach
  tag: string
  summary: string
  /** For clients that read more than a line: an AI decides by it. */
  description?: string
  params?: P
  query?: Q
  body?: B
  /** The whole body may be left out; the handler gets null or undefined then. */
  bodyOptional?: true
  /** Media types of the body where it is no JSON; then `receive` reads it, and there is no MCP tool. */
  consumes?: string[]
  /** Bytes, where it may be larger than others. */
  bodyLimit?: number
  /** What the MCP tool calls a body that is no object. */
  argument?: string
  status?: 200 | 201
  answer: R
  /** Besides those that any route can answer. */
  errors?: ProblemCode[]
  /** Field of the answer that is shown once; a replay comes without it. */
  secret?: string
  /** What the MCP tool takes besides, and answers when it does. */
  extras?: z.ZodObject
  extraAnswer?: z.ZodType
  /** Why there is no MCP tool for it. */
  notATool?: string
}

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>
  extends BaseSpec<P, Q, B, R> {
  handle(context: Context<z.output<P>, z.output<Q>, z.output<B>>): Promise<z.input<R>>
  /** Makes the body of what comes in, once all else of the request is found good; `discard` follows whatever happens. */
  receive?(request: FastifyRequest, context: { ownerId: string; params: z.output<P> }): Promise<Received<z.output<B>>>
  /** The same for a reader, as text/plain: where the query wants it, or who asks accepts nothing else. REST only. */
  text?: { of(answer: z.input<R>): string; wanted(query: z.output<Q>): boolean }
}

export interface Received<B> {
  /** Two requests are the same to Idempotency-Key when this is the same as JSON. */
  body: B
  discard(): Promise<void>
}

/** Of an answer that is not JSON: the handler takes over the response. */
export interface StreamSpec<P extends z.ZodType, Q extends z.ZodType> extends BaseSpec<P, Q, z.ZodType, z.ZodType> {
  method: 'GET'
  contentType: string
  notATool: string
  /** Takes `Range`, and answers 206 then. */
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

export interface Outcome {
  status: number
  body: unknown
  /** It is the answer to an earlier request with the same Idempotency-Key. */
  replayed: boolean
}

export interface RunOptions {
  idempotencyKey: string | null
  requestId: string
  /** Where it came in, and from where: for the audit log. */
  door: 'rest' | 'mcp'
  address: string
  extras?: unknown
  traceparent?: string | null
}

/** What REST and MCP have in common. Input is parsed by the schemas before. */
export interface Operation extends Omit<BaseSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'path'> {
  /** The whole path, `:name` for its params. */
  url: string
  run(caller: Caller, input: Input, options: RunOptions): Promise<Outcome>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every operation that `route` has declared. */
    operations: Operation[]
  }
}
