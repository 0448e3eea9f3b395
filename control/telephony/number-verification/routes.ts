import type { FastifyInstance } from 'fastify'
import type { Deps } from '../../platform/deps.ts'
import { route } from '../../platform/http/route.ts'
import { NumberView } from '../numbers/schema.ts'
import { CodeInput, VerificationInput, VerificationPath, VerificationView } from './schema.ts'
import { confirmVerification, startVerification } from './service.ts'

const tag = 'Numbers'

export function numberVerificationRoutes(app: FastifyInstance, deps: Deps): void {
  route(app, deps, {
    id: 'verify_number',
    method: 'POST',
    path: '/numbers/:number/verification',
    scope: 'write',
    tag,
    summary: 'Verify a number by a call that speaks a code',
    description:
      'The installation calls the number and speaks six digits. Send them to `confirm_number_verification`. Verify a number if other customers of its carrier use this installation too: where only the number decides whose a call is, it goes to the account that verified it last. While calls to the number reach an agent here, forward it to a telephone for the verification.',
    params: VerificationPath,
    body: VerificationInput,
    status: 201,
    answer: VerificationView,
    errors: ['not_found', 'verification_unavailable'],
    handle: ({ ownerId, params }) => startVerification(deps, ownerId, params.number),
  })
  route(app, deps, {
    id: 'confirm_number_verification',
    method: 'POST',
    path: '/numbers/:number/verification/confirm',
    scope: 'write',
    tag,
    summary: 'Confirm a number with the code of its verification call',
    params: VerificationPath,
    body: CodeInput,
    answer: NumberView,
    errors: ['not_found'],
    handle: ({ ownerId, params, body }) => confirmVerification(deps, ownerId, params.number, body.code),
  })
}
