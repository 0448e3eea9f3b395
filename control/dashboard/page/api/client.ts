/** The same REST that everybody uses, with the session's cookie; the browser's own headers show that we are the own page. */
import createClient from 'openapi-fetch'
import type { paths } from '../../../api/client/api.ts'

export const api = createClient<paths>({ baseUrl: '', credentials: 'same-origin' })
