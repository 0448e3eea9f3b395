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
    notATool: 'Erasure cannot be undone and has legal weight, so a program or a person decides on it, not a model.',
    tag: 'Account',
    summary: 'Erase the personal data of a phone number',
    description:
      'Use this when a person asks for erasure. Deletes the contact; the recordings, transcripts, traces and other personal data of calls with the number; its entries in campaigns, leads and directories; and copies in webhook deliveries. Ledger entries stay without personal data. Fails while a call with the number is in progress. Finds only calls that still have their number: see `phones_days` of the retention. Erasure cannot be undone.',
    body: ErasureInput,
    answer: ErasureView,
    errors: ['invalid_transition'],
    handle: ({ ownerId, body, save }) => erasePerson(deps, ownerId, body, save),
  })
}
