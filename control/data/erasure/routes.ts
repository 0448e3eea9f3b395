import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { ErasureInput, ErasureView } from './schema.ts'
import { erasePerson } from './service.ts'

export function erasureRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'erase_person',
    method: 'POST',
    path: '/erasure',
    scope: 'write',
    notATool:
      'It cannot be undone, and answers to the person who asked for it; it is for your own programs and for people.',
    tag: 'Account',
    summary: 'Forget a person, by number',
    description:
      'When somebody asks to be forgotten: deletes the contact, recordings, transcripts, traces and all else that is personal of the calls with the number, its places in campaigns, leads and directories, and copies in webhook deliveries. The entries of the balance stay and name nobody. Refused while a call with the number is under way. Only calls whose number is still there are found: see `phones_days` of the retention.',
    body: ErasureInput,
    answer: ErasureView,
    errors: ['invalid_transition'],
    handle: ({ ownerId, body, save }) => erasePerson(deps, ownerId, body, save),
  })
}
