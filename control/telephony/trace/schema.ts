import { z } from 'zod'
import { Diagnosis as Found, SipSeen } from '../../../media/contract/sip-trace.ts'

export const Diagnosis = z
  .object({
    code: Found.shape.code.describe('From `busy` on nothing is wrong with the trunk'),
    words: z.string().describe('The cause, in plain words'),
    advice: z.string().nullable().describe('What to do about it'),
    evidence: z.array(z.int()).describe('Indexes of the messages that show it'),
  })
  .meta({ id: 'Diagnosis' })

export const SipMessage = z
  .object({
    at: z.string(),
    sent: z.boolean().describe('By us'),
    source: z.string().describe('`host:port`'),
    target: z.string().describe('`host:port`'),
    transport: SipSeen.shape.transport,
    made_up: z.boolean().describe('Never on the wire: our SIP server tells that no answer came, and why'),
    start_line: z.string(),
    text: z.string().describe('The whole message; proofs, passwords, keys of the sound and pressed keys are masked'),
  })
  .meta({ id: 'SipMessage' })

/** What a trace of calls and of checks have in common. */
export const traced = {
  messages: z
    .array(SipMessage)
    .describe(
      'In their order; without 100 Trying, repetitions and the ACK of failures, which servers do by themselves',
    ),
  left_out: z.int().describe('Messages of a long call that were not kept; they are missing in the middle'),
  diagnosis: Diagnosis.nullable().describe('Why the call or the check failed; null when nothing is wrong'),
}

export const CallTrace = z.object({ call_id: z.uuid(), ...traced }).meta({ id: 'SipTrace' })
export type CallTrace = z.input<typeof CallTrace>

export const TraceFormat = z.strictObject({
  format: z.enum(['json', 'text']).optional().describe('`text`: a ladder to read; so does `Accept: text/plain`'),
})
