/** The REST client. It sends the session cookie; the browser's own headers prove that the request is same-origin. */
import createClient from 'openapi-fetch'
import type { paths } from '../../../api/client/api.ts'

export const api = createClient<paths>({ baseUrl: '', credentials: 'same-origin' })

export type Api = typeof api

/** A client with an API key, which takes precedence over the session cookie. */
export const apiWithKey = (key: string): Api =>
  createClient<paths>({ baseUrl: '', credentials: 'same-origin', headers: { Authorization: `Bearer ${key}` } })
